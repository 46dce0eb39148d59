"""Two systems on the same questions: what the comparison says, by hand, and what swapping the two must do."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executionrag.metrics.comparison import Figures, compare
from executionrag.metrics.record import Failure, GoldHop, GoldPassage, QuestionRecord, Retrieved
from executionrag.metrics.scoring import score
from executionrag.program.register import Requirement
from executionrag.program.usage import Usage

FALSE = Requirement(id="R1", text="Who?", status="resolved", answer="z", support=("other",))


def row(name, answer, found, *, failed=False, false=False, cost=0.0, stop="resolved"):
    """A question with gold g1 (hop 1) and g2 (hop 2), whose answer is `yes`."""
    record = QuestionRecord(
        id=name,
        question="Who?",
        benchmark="minihop",
        type="bridge",
        hops=2,
        answers=("yes",),
        gold=(GoldPassage(title="T1", passage_id="g1"), GoldPassage(title="T2", passage_id="g2")),
        chain=(GoldHop(question="a", answer="b", gold=0), GoldHop(question="c", answer="yes", gold=1)),
        answer=answer,
        stop_reason="lm_error" if failed else stop,
        failure=Failure(error="E", step="s", message="m") if failed else None,
        requirements=(FALSE,) if false else (),
        retrieved=tuple(
            Retrieved(passage_id=one, loop=0, tool=tool, query=f"q {one}", rank=rank, full=True)
            for rank, (one, tool) in enumerate(((each, "semantic_search") for each in found), start=1)
        ),
        usage=Usage(calls=2, prompt_tokens=100, cost=cost, seconds=1.0),
    )
    return record, score(record)


A = [
    row("q1", "yes", ["g1", "g2"]),
    row("q2", "no", ["g1"]),
    row("q3", "no", ["g1"], false=True),
    row("q4", "no", ["g1", "g2"]),
    row("q5", "no", [], stop="budget_loops"),
    row("q6", "", [], failed=True),
]
B = [
    row("q1", "no", ["g1"]),
    row("q2", "yes", ["g1", "g2"]),
    row("q3", "yes", ["x", "g2"], cost=None),
    row("q4", "no", ["g1", "g2"]),
    row("q5", "yes", ["g1", "g2"]),
    row("q6", "yes", ["g1", "g2"]),
]


@pytest.fixture(scope="module")
def figures():
    return compare(A, B)


def test_wins_losses_and_ties_of_right_answers(figures):
    found = figures.correct.paired
    assert (found.wins, found.losses, found.ties, found.both) == (1, 4, 1, 0)
    assert found.difference.value == pytest.approx(-3 / 6)
    assert found.p == pytest.approx(0.375)  # 1 of 5 under a fair coin: 2 * (1 + 5) / 32
    assert found.difference.few
    assert figures.correct.left_out == 0


def test_wrong_with_unretrieved_gold_leaves_failed_pairs_out(figures):
    found = figures.unretrieved.paired
    assert (found.wins, found.losses, found.ties) == (3, 1, 1)
    assert figures.unretrieved.left_out == 1
    assert (figures.a.wrong_with_unretrieved_gold, figures.b.wrong_with_unretrieved_gold) == (3, 1)


def test_questions_that_a_judge_could_not_judge_are_left_out_and_counted():
    unjudged = [(record, score(record, None, judged_run=True)) for record, _ in A[:1]]
    found = compare(unjudged, B[:1])
    assert (found.correct.paired, found.correct.left_out) == (None, 1)
    assert found.flow[0].a == "not judged"


def test_evidence_recall_in_all_and_by_hop(figures):
    assert figures.recall.a == pytest.approx((1 + 0.5 + 0.5 + 1 + 0 + 0) / 6)
    assert figures.recall.b == pytest.approx((0.5 + 1 + 0.5 + 1 + 1 + 1) / 6)
    (two,) = figures.recall_by_hop_count
    assert (two.hops, two.recall) == (2, figures.recall)
    first, second = figures.recall_by_hop
    assert (first.recall.a, first.recall.b) == pytest.approx((4 / 6, 5 / 6))
    assert (second.recall.a, second.recall.b) == pytest.approx((2 / 6, 5 / 6))
    assert second.recall.difference.value == pytest.approx(-3 / 6)


def test_evidence_recall_by_hop_count_needs_no_annotated_chain():
    def bare(rows):
        return [
            (one.model_copy(update={"chain": (), "hops": hops}), each)
            for hops, (one, each) in zip((3, 2, 3), rows[:3], strict=True)
        ]

    two, three = compare(bare(A), bare(B)).recall_by_hop_count
    assert (two.hops, two.recall.n, two.recall.a, two.recall.b) == (2, 1, 0.5, 1.0)
    assert (three.hops, three.recall.n, three.recall.difference.value) == (3, 2, pytest.approx(0.25))


def test_the_flow_with_and_without_the_false_resolution_clause(figures):
    def table(flow):
        return {(one.a, one.b): one.questions for one in flow}

    same = {
        ("right", "Missing Evidence"): 1,
        ("Missing Evidence", "right"): 1,
        ("Reasoning Error", "right"): 1,
        ("Reasoning Error", "Reasoning Error"): 1,
        ("Gave Up", "right"): 1,
        ("Not scored", "right"): 1,
    }
    assert table(figures.flow) == same
    plain = {key: number for key, number in same.items() if key != ("Reasoning Error", "right")}
    assert table(figures.flow_without_false_resolution) == plain | {("Missing Evidence", "right"): 2}


def test_certified_lists_both_ways_and_of_wrong_answers(figures):
    lists = figures.certified

    def pairs(found):
        return [(one.question_id, one.passage_id, one.query, one.rank) for one in found.by_search]

    wrong = [("q2", "g2", "q g2", 2), ("q3", "g2", "q g2", 2), ("q5", "g1", "q g1", 1), ("q5", "g2", "q g2", 2)]
    assert pairs(lists.missed_by_a_wrong) == wrong
    assert pairs(lists.missed_by_a) == [*wrong, ("q6", "g1", "q g1", 1), ("q6", "g2", "q g2", 2)]
    assert pairs(lists.missed_by_b_wrong) == [("q1", "g2", "q g2", 2)]
    assert pairs(lists.missed_by_b) == [("q1", "g2", "q g2", 2), ("q3", "g1", "q g1", 1)]


def test_failed_premature_and_an_unknown_cost(figures):
    assert (figures.a.failed, figures.b.failed) == (1, 0)
    assert (figures.a.premature, figures.b.premature) == (2, 2)
    assert figures.a.spent.cost.total == 0
    assert figures.b.spent.cost.total is None


def test_no_certified_lists_where_the_searches_differ():
    assert compare(A, B, certify=False).certified is None


def test_other_questions_are_refused():
    with pytest.raises(ValueError, match="same questions"):
        compare(A, B[1:])


def test_it_survives_json(figures):
    assert Figures.model_validate_json(figures.model_dump_json()) == figures


CELL = st.tuples(
    st.sampled_from(["yes", "no", ""]),
    st.lists(st.sampled_from(["g1", "g2", "x"]), unique=True),
    st.booleans(),
    st.booleans(),
)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(CELL, CELL), min_size=1, max_size=5))
def test_swapping_the_two_negates_differences_swaps_lists_and_transposes_flows(cells):
    a, b = (
        [
            row(f"q{place}", pair[side][0], pair[side][1], failed=pair[side][2], false=pair[side][3])
            for place, pair in enumerate(cells)
        ]
        for side in (0, 1)
    )
    there, back = compare(a, b), compare(b, a)
    for name in ("exact_match", "f1", "contain", "recall"):
        one, other = getattr(there, name), getattr(back, name)
        assert (one.a, one.b) == (other.b, other.a)
        assert one.difference.value == pytest.approx(-other.difference.value)
    for name in ("correct", "unretrieved"):
        one, other = getattr(there, name).paired, getattr(back, name).paired
        if one is not None:
            assert (one.wins, one.losses, one.ties, one.p) == (other.losses, other.wins, other.ties, other.p)
    assert (there.a, there.b) == (back.b, back.a)
    assert there.certified.missed_by_a == back.certified.missed_by_b
    assert there.certified.missed_by_b_wrong == back.certified.missed_by_a_wrong
    for name in ("flow", "flow_without_false_resolution"):
        turned = {(one.b, one.a, one.questions) for one in getattr(back, name)}
        assert {(one.a, one.b, one.questions) for one in getattr(there, name)} == turned
        assert sum(one.questions for one in getattr(there, name)) == len(cells)
