"""Calls are accounted exactly: each one, by step, with what providers say of tokens and price."""

from concurrent.futures import ThreadPoolExecutor

import dspy
import pytest

from executionrag.program.asking import Ask, aask, ask, is_overflow
from executionrag.program.usage import LMCall, Usage


def totals(played):
    usages = [entry["usage"] for entry in played.lm.history]
    return (
        len(usages),
        sum(usage["prompt_tokens"] for usage in usages),
        sum(usage["completion_tokens"] for usage in usages),
    )


def test_usage_is_the_sum_of_the_calls_made(play, chain):
    played = play(chain)
    usage = played.prediction.usage
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == totals(played)
    assert {step: part.calls for step, part in usage.steps.items()} == {
        "initialize": 1,
        "write_query": 3,
        "update": 3,
        "answer": 1,
    }
    assert sum(part.prompt_tokens for part in usage.steps.values()) == usage.prompt_tokens
    assert (usage.loops, usage.repeated_queries, usage.cached_calls) == (3, 0, 0)
    assert usage.seconds > 0


def test_every_call_of_a_step_that_could_not_be_read_counts(play, chain):
    played = play({**chain, "answer": lambda _: "no field in sight"})
    usage = played.prediction.usage
    assert usage.steps["answer"].calls == 4  # two attempts, each by DSPy as chat and as JSON
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == totals(played)


def test_calls_before_a_failure_count(play, chain):
    from dspy import lm15

    replies = iter(["unreadable", lm15.ServerError("down", status=500)])
    usage = play({**chain, "update": lambda _: next(replies)}).prediction.usage
    assert usage.steps["update"].calls == 1


def test_an_unknown_price_is_unknown_and_not_nothing(play, chain):
    assert play(chain).prediction.usage.cost is None


class TestUsage:
    def call(self, **fields):
        return LMCall(**({"model": "m", "text": "t", "prompt_tokens": 5, "completion_tokens": 2, "cost": 0.5} | fields))

    def test_prices_add_up_while_all_are_known(self):
        usage = Usage()
        usage.add("update", [self.call(), self.call()])
        assert (usage.cost, usage.calls) == (1.0, 2)

    def test_one_call_without_a_price_makes_the_sum_unknown_for_good(self):
        usage = Usage()
        usage.add("update", [self.call(cost=None)])
        usage.add("answer", [self.call()])
        assert usage.cost is None

    def test_a_call_from_the_cache_costs_nothing_whatever_its_history_says(self):
        usage = Usage()
        usage.add("update", [self.call(cached=True, prompt_tokens=None, completion_tokens=None, cost=9.0)])
        assert (usage.calls, usage.cached_calls, usage.cost, usage.prompt_tokens) == (1, 1, 0.0, 0)
        usage.add("update", [self.call(cached=True, prompt_tokens=None, completion_tokens=None, cost=None)])
        assert usage.cost == 0.0

    def test_it_is_plain_json(self):
        usage = Usage()
        usage.add("update", [self.call()])
        assert Usage.model_validate_json(usage.model_dump_json()) == usage

    def test_two_usages_share_nothing(self):
        one, other = Usage(), Usage()
        one.add("update", [self.call()])
        assert other.steps == {}


def test_replies_from_dspys_cache_are_marked(chain, scripted, quick_index, tmp_path):
    from executionrag import ExecutionRAG

    before = dspy.cache
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=True)
    try:
        lm, engine = scripted(chain)
        lm.cache = True
        with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
            program = ExecutionRAG(quick_index)
            first = program(question="Where was she born?").usage
            second = program(question="Where was she born?").usage
    finally:
        dspy.cache = before
    assert len(engine.prompts) == first.calls == second.calls
    assert (first.cached_calls, second.cached_calls) == (0, second.calls)
    assert (second.prompt_tokens, second.completion_tokens, second.cost) == (0, 0, 0.0)
    assert second.context_tokens == first.context_tokens


class Small(dspy.Module):
    def __init__(self):
        super().__init__()
        self.answer = dspy.Predict("question -> answer")


class TestAsk:
    @pytest.fixture
    def lm(self, scripted):
        # The engine knows each step by a field of its own; the answer is the plainest.
        return scripted({"answer": lambda inputs: {"answer": f"to {inputs['question']}"}})[0]

    def test_a_reply_holds_the_prediction_and_its_calls(self, lm):
        with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
            reply = ask(Small(), Ask("answer", {"question": "q"}))
        assert reply.prediction.answer == "to q"
        assert reply.error is None
        assert [call.model for call in reply.calls] == ["scripted/model"]
        assert "to q" in reply.calls[0].text

    def test_asked_from_many_threads_each_reply_holds_its_own_calls(self, lm):
        program = Small()

        def one(number):
            with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
                return ask(program, Ask("answer", {"question": f"q{number}"}))

        with ThreadPoolExecutor(16) as pool:
            found = list(pool.map(one, range(64)))
        assert [reply.prediction.answer for reply in found] == [f"to q{number}" for number in range(64)]
        assert all(len(reply.calls) == 1 for reply in found)
        assert all(f"to q{number}\n" in reply.calls[0].text for number, reply in enumerate(found))

    def test_asynchronously_it_is_the_same(self, lm):
        import asyncio

        async def many():
            program = Small()
            return await asyncio.gather(*(aask(program, Ask("answer", {"question": f"q{n}"})) for n in range(8)))

        with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
            found = asyncio.run(many())
        assert [reply.prediction.answer for reply in found] == [f"to q{number}" for number in range(8)]
        assert all(len(reply.calls) == 1 for reply in found)

    def test_an_unreadable_reply_comes_back_as_such(self, scripted):
        lm, _ = scripted({"answer": lambda _: "nothing"})
        with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
            reply = ask(Small(), Ask("answer", {"question": "q"}))
        assert reply.unparsed
        assert reply.prediction is None
        assert len(reply.calls) == 2

    @pytest.mark.parametrize("where", ["configured", "set on the program"])
    def test_a_repeated_attempt_is_counted_from_the_lms_own_label(self, scripted, where):
        lm, _ = scripted({"answer": lambda _: {"answer": "x"}})
        lm.kwargs["rollout_id"] = 700
        program = Small()
        if where == "set on the program":
            program.set_lm(lm)
        with dspy.context(lm=lm if where == "configured" else None, adapter=dspy.ChatAdapter()):
            assert ask(program, Ask("answer", {"question": "q"}, attempt=2)).error is None
        assert (lm.history[-1]["kwargs"]["rollout_id"], lm.history[-1]["kwargs"]["temperature"]) == (702, 1.0)

    def test_a_bug_is_raised_and_not_taken_for_a_reply(self, lm):
        with dspy.context(lm=lm), pytest.raises(AttributeError):
            ask(Small(), Ask("no_such_step", {"question": "q"}))

    def test_usage_is_kept_for_a_caller_that_tracks_it(self, lm):
        with dspy.context(lm=lm, adapter=dspy.ChatAdapter()), dspy.track_usage() as tracker:
            ask(Small(), Ask("answer", {"question": "q"}))
        assert tracker.get_total_tokens()["scripted/model"]["prompt_tokens"] > 0


def test_no_error_and_other_errors_are_no_overflow():
    assert not is_overflow(None)
    assert not is_overflow(ValueError("context length exceeded"))
    assert is_overflow(dspy.ContextWindowExceededError(message="x"))


def test_with_dspys_history_off_a_question_is_still_answered_and_its_tokens_counted(play, chain):
    with dspy.context(disable_history=True):
        usage = play(chain).prediction.usage
    assert usage.calls == 0
    assert usage.context_tokens > 0
