"""The benchmark of prompts: what it counts as a shared prefix, and that recorded questions go again as they went."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import executionrag
from executionrag.program.systems import make_system
from executionrag.program.tokens import count_tokens
from executionrag.program.trajectory import LMStep, SearchStep
from executionrag.runs.bench.prefix_cache import cached_tokens, shared_prefix, shared_with_earlier
from executionrag.runs.bench.prompts import Asked, Prompt, _rows
from executionrag.runs.bench.recorded import Replies, recorded
from executionrag.runs.bench.workload import ReaderEngine

STUDY = Path(executionrag.__file__).parent / "docs" / "study"
texts = st.text(alphabet="ab \n", max_size=12)


def begins_alike(one, other):
    alike = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return "".join(letter for letter, _ in alike)


@given(texts, texts)
def test_a_shared_prefix_is_the_longest_that_both_begin_with(one, other):
    assert shared_prefix(one, other) == begins_alike(one, other)


@settings(deadline=None)  # the first count loads the tokenizer
@given(st.lists(texts, max_size=12))
def test_each_prompt_is_held_against_all_before_it(prompts):
    assert shared_with_earlier(prompts) == [
        count_tokens(max((begins_alike(prompt, earlier) for earlier in prompts[:at]), key=len, default=""))
        for at, prompt in enumerate(prompts)
    ]


@pytest.mark.parametrize(
    ("shared", "cached"), [(0, 0), (1_023, 0), (1_024, 1_024), (1_151, 1_024), (1_152, 1_152), (2_000, 1_920)]
)
def test_a_provider_counts_from_1024_tokens_on_in_steps_of_128(shared, cached):
    assert cached_tokens(shared) == cached


def test_the_rows_of_two_questions_counted_by_hand():
    def prompt(step, text):
        return Prompt(step, text, count_tokens(text))

    first = Asked(2, (prompt("write_query", "a b c d"), prompt("write_query", "a b c e")), 16, None)
    second = Asked(3, (prompt("write_query", "a b x y"), prompt("answer", "z")), 10, None)
    told = {row.name: row.value for row in _rows("set", [first, second])}
    assert (told["set, 2 hops: LM calls a question"], told["set, 2 hops: of these write_query"]) == (2, 2)
    assert (told["set, 3 hops: prompt tokens a question"], told["set, 3 hops: of these update"]) == (5, 0)
    assert told["set, 2 hops: full replay against deltas, whole prompts"] == 2
    same = 100 * count_tokens("a b c ") / 4
    assert told["set, write_query: stable prefix, to the same step before"] == same
    assert told["set, all steps: stable prefix, to the call before"] == (same + 0) / 2
    assert told["set, answer: shared with any prompt before"] == 0
    assert told["set, all steps: cached by a provider"] == 0


def test_passages_are_told_apart_by_whether_a_prompt_of_the_question_showed_them_before():
    old, new = "[P1] a\nb c", "[P2] d\ne f"
    first, second = count_tokens(old), count_tokens(new)

    def prompt(step, *passages):
        return Prompt(step, "", 100, 30, passages)

    prompts = (prompt("initialize", old), prompt("update", old, new), prompt("answer", new, old))
    told = {row.name: row.value for row in _rows("set", [Asked(2, prompts, 0, None), Asked(2, prompts[:1], 0, None)])}
    assert (told["set, initialize: instructions"], told["set, initialize: passages"]) == (30, first)
    assert "set, initialize: passages shown before" not in told
    assert (told["set, update: passages"], told["set, update: passages shown before"]) == (first + second, first)
    assert told["set, update: passages shown before to update"] == 0
    assert told["set, answer: passages shown before to update"] == first + second


@pytest.mark.skipif(not STUDY.is_dir(), reason="an installed package has no study")
def test_a_recorded_question_goes_again_as_it_went():
    import dspy

    again = next(recorded(STUDY / "minihop" / "all-MiniLM-L6-v2" / "executionrag"))
    engine = ReaderEngine(again.replies)
    lm = dspy.LM("scripted/reader", engine=engine, cache=False, num_retries=0)
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        prediction = make_system("executionrag", again.found, max_loops=again.max_loops)(question=again.record.question)
    assert prediction.answer == again.record.answer
    for kind in (LMStep, SearchStep):
        assert [step for step in prediction.trajectory if isinstance(step, kind)] == [
            step for step in again.record.trajectory if isinstance(step, kind)
        ]


def test_a_recorded_reply_for_a_step_that_is_no_longer_asked_is_passed_over():
    class Record:
        trajectory = tuple(
            LMStep(loop=1, step=step, outputs={"of": step}) for step in ("select", "write_query", "update", "answer")
        )

    replies = Replies(Record)
    assert [replies.outputs(step, {})["of"] for step in ("write_query", "answer")] == ["write_query", "answer"]
    with pytest.raises(LookupError, match="update"):
        replies.outputs("update", {})
