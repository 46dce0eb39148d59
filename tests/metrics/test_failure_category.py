"""Every wrong answer gets one category, the first that fits; the counts beside it are exact."""

import pytest

from executionrag.metrics.failure_category import GAVE_UP_PHRASES, false_resolutions, gave_up
from executionrag.metrics.record import Failure, GoldPassage, QuestionRecord, Retrieved, Verdict
from executionrag.metrics.scoring import score
from executionrag.program.register import Requirement


def retrieved(*ids):
    return tuple(
        Retrieved(passage_id=key, loop=0, tool="semantic_search", query="q", rank=rank, full=True)
        for rank, key in enumerate(ids, start=1)
    )


def item(number, status, *support):
    return Requirement(id=f"R{number}", text="a fact", status=status, support=support)


def asked(**changes):
    """A two-hop question, wrongly answered, with one of its two gold passages retrieved."""
    fields = {
        "id": "q1",
        "question": "Who founded the town?",
        "benchmark": "musique",
        "type": "2hop",
        "hops": 2,
        "answers": ("Mary Kell",),
        "gold": (GoldPassage(title="Tarn", passage_id="g1"), GoldPassage(title="Kell", passage_id="g2")),
        "answer": "John Frost",
        "stop_reason": "resolved",
        "retrieved": retrieved("g1", "x"),
        "requirements": (item(1, "resolved", "g1"),),
    }
    return QuestionRecord(**{**fields, **changes})


def judged(record, verdict):
    return Verdict(id=record.id, judge="j", answer=record.answer, abstained=record.abstained, verdict=verdict)


BOTH = retrieved("x", "g2", "g1")
UNMAPPED = (GoldPassage(title="Tarn", passage_id=None), GoldPassage(title="Kell", passage_id=None))
HALF_MAPPED = (GoldPassage(title="Tarn", passage_id="g1"), GoldPassage(title="Kell", passage_id=None))
FALSE = (item(1, "resolved", "x"),)
FAILED = Failure(error="Timeout", step="update", message="m")


@pytest.mark.parametrize(
    ("changes", "category", "without"),
    [
        ({}, "Missing Evidence", "Missing Evidence"),
        ({"stop_reason": "no_requirements"}, "Missing Evidence", "Missing Evidence"),
        ({"stop_reason": "answered", "requirements": ()}, "Missing Evidence", "Missing Evidence"),
        ({"answer": ""}, "Missing Evidence", "Missing Evidence"),
        ({"retrieved": ()}, "Missing Evidence", "Missing Evidence"),
        # all mapped gold retrieved
        ({"retrieved": BOTH}, "Reasoning Error", "Reasoning Error"),
        ({"gold": HALF_MAPPED}, "Reasoning Error", "Reasoning Error"),  # the mapped one was retrieved
        ({"gold": HALF_MAPPED, "retrieved": ()}, "Missing Evidence", "Missing Evidence"),
        # a false resolution counts in one of the two variants only
        ({"requirements": FALSE}, "Reasoning Error", "Missing Evidence"),
        (
            {"requirements": (item(1, "resolved", "g1"), item(2, "resolved", "x"))},
            "Reasoning Error",
            "Missing Evidence",
        ),
        ({"requirements": FALSE, "retrieved": BOTH}, "Reasoning Error", "Reasoning Error"),
        ({"requirements": (item(1, "resolved", "x", "g2"),)}, "Missing Evidence", "Missing Evidence"),
        ({"requirements": (item(1, "retired", "x"),)}, "Missing Evidence", "Missing Evidence"),
        ({"requirements": (item(1, "pending", "x"),)}, "Missing Evidence", "Missing Evidence"),
        # giving up comes before all that is said of the evidence
        ({"stop_reason": "budget_loops"}, "Gave Up", "Gave Up"),
        ({"stop_reason": "budget_tokens", "retrieved": BOTH}, "Gave Up", "Gave Up"),
        ({"stop_reason": "context_overflow", "requirements": FALSE}, "Gave Up", "Gave Up"),
        ({"abstained": True, "answer": ""}, "Gave Up", "Gave Up"),
        ({"abstained": True, "answer": "Mary Kell"}, "Gave Up", "Gave Up"),
        ({"stop_reason": "budget_loops", "gold": UNMAPPED}, "Gave Up", "Gave Up"),
        # nothing mapped: nothing can be said of the evidence, and no resolution is false
        ({"gold": UNMAPPED}, "Unmapped", "Unmapped"),
        ({"gold": ()}, "Unmapped", "Unmapped"),
        ({"gold": UNMAPPED, "requirements": FALSE, "retrieved": BOTH}, "Unmapped", "Unmapped"),
        # a failed question is no wrong answer
        ({"failure": FAILED, "answer": "", "stop_reason": "lm_error"}, "Not scored", "Not scored"),
        ({"failure": FAILED, "answer": "", "stop_reason": ""}, "Not scored", "Not scored"),
        ({"failure": FAILED, "answer": "", "stop_reason": "context_overflow"}, "Not scored", "Not scored"),
        ({"failure": FAILED, "gold": (), "abstained": True}, "Not scored", "Not scored"),
        # right without a judge
        ({"answer": "Mary Kell"}, None, None),
        ({"answer": "it was Mary Kell", "stop_reason": "budget_loops"}, None, None),
    ],
)
def test_without_a_judge_the_first_that_fits(changes, category, without):
    scored = score(asked(**changes))
    assert (scored.category, scored.category_without_false_resolution) == (category, without)


@pytest.mark.parametrize(
    ("changes", "verdict", "category"),
    [
        ({}, "wrong", "Missing Evidence"),
        ({}, "right", None),
        ({}, None, None),
        ({"answer": "Mary Kell"}, "right", None),
        ({"answer": "Mary Kell"}, None, None),
        ({"answer": "Mary Kell"}, "wrong", "Judge Error"),
        ({"answer": "the founder Mary Kell"}, "wrong", "Judge Error"),  # contain-match alone
        ({"answers": ("A",), "answer": "the"}, "wrong", "Judge Error"),  # exact match alone
        ({"answer": "Mary Kelly"}, "wrong", "Missing Evidence"),  # the looser substring match is no evidence
        ({"answer": "Kell Mary"}, "wrong", "Missing Evidence"),
        # first in order
        ({"answer": "Mary Kell", "stop_reason": "budget_loops"}, "wrong", "Judge Error"),
        ({"answer": "Mary Kell", "gold": UNMAPPED}, "wrong", "Judge Error"),
        ({"answer": "Mary Kell", "retrieved": BOTH}, "wrong", "Judge Error"),
        # no answer: the judge was not asked
        ({"answer": "Mary Kell", "abstained": True}, "wrong", "Gave Up"),
        ({"answers": ("A",), "answer": ""}, "wrong", "Missing Evidence"),
        ({"failure": FAILED, "answer": ""}, "wrong", "Not scored"),
        ({"failure": FAILED, "answer": ""}, None, "Not scored"),
    ],
)
def test_with_a_judge_it_decides_what_is_wrong(changes, verdict, category):
    record = asked(**changes)
    assert score(record, judged(record, verdict), judged_run=True).category == category


class TestCountsBesideTheCategory:
    def test_false_resolutions_are_counted_on_right_answers_too(self):
        record = asked(
            answer="Mary Kell",
            requirements=(
                item(1, "resolved", "x"),
                item(2, "resolved", "g2", "x"),
                item(3, "retired", "x"),
                item(4, "active", "x"),
                item(5, "resolved", "x", "y"),
            ),
        )
        assert [one.id for one in false_resolutions(record)] == ["R1", "R5"]
        assert score(record).false_resolutions == 2
        assert score(record).category is None

    @pytest.mark.parametrize(
        ("changes", "unretrieved", "premature"),
        [
            ({}, True, True),
            ({"answer": "Mary Kell"}, True, True),  # right answers too
            ({"retrieved": BOTH}, False, False),
            ({"stop_reason": "budget_loops"}, True, False),
            ({"stop_reason": "no_requirements"}, True, False),
            ({"gold": HALF_MAPPED}, False, False),  # an unmapped paragraph is no fault of retrieval
            ({"gold": UNMAPPED}, False, False),
            ({"requirements": FALSE}, True, True),  # blind to false resolutions
        ],
    )
    def test_unretrieved_gold_and_premature_resolution(self, changes, unretrieved, premature):
        scored = score(asked(**changes))
        assert (scored.unretrieved_gold, scored.premature) == (unretrieved, premature)


class TestImportedPredictions:
    @pytest.mark.parametrize(
        "answer",
        [
            "I don't know.",
            "I don’t know",
            "The answer cannot be determined from the given passages.",
            "Unable to find the founder.",
            "There is not enough information",
            "Unknown",
            "N/A",
            "",
            "  ",
        ],
    )
    def test_words_that_give_up_count_as_giving_up(self, answer):
        record = asked(answer=answer)
        assert score(record, imported=True).category == "Gave Up"
        assert score(record).category == "Missing Evidence"

    @pytest.mark.parametrize("answer", ["Jane Unknown", "None but John", "The Unable Finder", "can find", "Nana"])
    def test_other_answers_do_not(self, answer):
        assert not gave_up(asked(answer=answer), imported=True)
        assert score(asked(answer=answer), imported=True).category == "Missing Evidence"

    def test_a_right_answer_is_right_whatever_it_says_beside_it(self):
        assert score(asked(answer="I could not find more than Mary Kell"), imported=True).category is None

    def test_phrases_are_written_as_normalised_text_so_that_each_can_be_found(self):
        assert list(GAVE_UP_PHRASES) == sorted(set(GAVE_UP_PHRASES))
        for phrase in GAVE_UP_PHRASES:
            assert gave_up(asked(answer=f"Sorry, {phrase} it."), imported=True)
