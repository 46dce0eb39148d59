"""The budget at its edges: what is counted, when a question is stopped, and what still happens then."""

import re

import pytest

from executionrag.program.budget import Budget, Limits
from executionrag.program.tokens import count_tokens
from executionrag.program.window import lm_window


class TestLimits:
    def test_the_defaults_are_the_papers(self):
        assert (Limits().max_loops, Limits().max_tokens, Limits().effective_tokens) == (15, 128_000, 128_000)

    @pytest.mark.parametrize(
        ("max_tokens", "window", "effective"),
        [
            (128_000, None, 128_000),
            (128_000, 1_000_000, 128_000),
            (128_000, 130_000, 128_000),
            (128_000, 129_000, 127_000),
            (128_000, 8_192, 6_192),
            (128_000, 4_000, 2_000),
            (128_000, 1_000, 500),  # of a tiny window half is kept
            (5_000, 8_192, 5_000),
        ],
    )
    def test_tokens_in_force_are_no_more_than_the_window_less_a_reserve(self, max_tokens, window, effective):
        assert Limits(15, max_tokens, window).effective_tokens == effective

    @pytest.mark.parametrize(
        ("loops", "after"), [(15, 12), (16, 13), (14, 12), (10, 8), (6, 5), (5, 4), (3, 3), (1, 1), (0, 0)]
    )
    def test_the_nudge_comes_after_four_fifths_of_the_loops_rounded_up(self, loops, after):
        assert Limits(max_loops=loops).nudge_after == after

    @pytest.mark.parametrize("limits", [{"max_loops": -1}, {"max_tokens": 0}, {"max_tokens": -5}])
    def test_impossible_limits_are_refused(self, limits, quick_index):
        from executionrag import ExecutionRAG

        with pytest.raises(ValueError, match="max_loops must be 0 or more"):
            Limits(**limits)
        with pytest.raises(ValueError, match="max_loops must be 0 or more"):
            ExecutionRAG(quick_index, **limits)


class TestSpending:
    def test_tokens_of_several_texts_add_up(self):
        budget = Budget(Limits())
        budget.spend("one two", "", "three")
        assert budget.tokens == count_tokens("one two") + count_tokens("three")

    def test_exactly_the_limit_is_within_it_and_one_more_is_not(self):
        budget = Budget(Limits(max_tokens=10), tokens=10)
        assert budget.exceeded is None
        budget.tokens = 11
        assert budget.exceeded == "budget_tokens"

    def test_loops_are_named_first_when_both_are_spent(self):
        assert Budget(Limits(max_loops=3, max_tokens=10), loops=3, tokens=99).exceeded == "budget_loops"

    def test_text_that_looks_like_a_special_token_is_counted_as_text(self):
        assert count_tokens("<|endoftext|>") > 1


class TestLoops:
    @pytest.mark.parametrize("max_loops", [14, 15, 16])
    def test_a_question_that_never_settles_uses_all_its_loops_and_no_more(self, play, endless, max_loops):
        played = play(endless, max_loops=max_loops)
        assert played.prediction.usage.loops == max_loops
        assert [step.loop for step in played.steps("search")] == list(range(max_loops + 1))
        assert played.prediction.stop_reason == "budget_loops"
        assert played.asked.count("force_answer") == 1
        assert "answer" not in played.asked

    def test_settling_in_the_last_loop_is_in_time(self, play, chain):
        assert play(chain, max_loops=3).prediction.stop_reason == "resolved"
        assert play(chain, max_loops=2).prediction.stop_reason == "budget_loops"

    def test_without_any_loop_the_answer_is_forced_from_the_seed(self, play, chain):
        played = play(chain, max_loops=0)
        assert played.asked == ["initialize", "force_answer"]
        assert played.prediction.stop_reason == "budget_loops"
        assert played.inputs("force_answer")[0]["passages"].startswith("[P")


def passages_in(inputs):
    shown = inputs.get("passages") or inputs.get("new_passages") or "none"
    return [] if shown == "none" else re.split(r"\n\n(?=\[P\d+\] )", shown)


def counted(played):
    """Context tokens as defined: progress as it was appended, passages each time shown, every model output."""
    texts = [step.shown for step in played.steps("register")]
    for _, inputs, _ in played.engine.prompts:
        texts += passages_in(inputs)
    texts += [text for entry in played.lm.history for text in entry["outputs"]]
    return sum(map(count_tokens, texts))


class TestTokens:
    def test_context_tokens_are_progress_passages_per_showing_and_outputs(self, play, chain):
        played = play(chain)
        assert played.prediction.usage.context_tokens == counted(played)
        assert played.prediction.usage.tokenizer == "o200k_base"

    def test_a_reply_that_could_not_be_read_is_counted_too(self, play, chain):
        played = play({**chain, "answer": lambda _: "no idea " * 50})
        assert played.prediction.usage.context_tokens == counted(played)

    def test_the_loop_that_crosses_the_limit_completes_its_update_and_then_no_tool_runs(self, play, chain):
        before = play(chain, max_loops=0)
        start = before.prediction.usage.context_tokens  # what initialising and one answer cost: loop 1 costs less
        start -= sum(
            map(count_tokens, [*before.lm.history[-1]["outputs"], *passages_in(before.inputs("force_answer")[0])])
        )

        at_limit = play(chain, max_tokens=start)
        assert at_limit.prediction.usage.loops == 1
        assert at_limit.asked == ["initialize", "write_query", "update", "force_answer"]
        assert at_limit.prediction.stop_reason == "budget_tokens"
        assert at_limit.register["R1"].status == "resolved"

        below = play(chain, max_tokens=start - 1)
        assert below.asked == ["initialize", "force_answer"]
        assert below.prediction.usage.loops == 0
        assert below.prediction.stop_reason == "budget_tokens"

    def test_a_question_settled_by_the_loop_that_crosses_is_resolved(self, play, chain):
        one = {
            **chain,
            "initialize": lambda _: (
                chain["initialize"](_) | {"requirements": chain["initialize"](_)["requirements"][:1]}
            ),
        }
        assert play(one, max_tokens=1, max_loops=5).prediction.stop_reason == "budget_tokens"
        # Large enough to begin loop 1, too small to begin loop 2, which is not needed.
        used = play(one, max_loops=0).prediction.usage.context_tokens
        assert play(one, max_tokens=used).prediction.stop_reason == "resolved"

    def test_the_answer_gets_the_best_passages_of_the_newest_loop_that_fit(self, play, chain):
        played = play(chain, max_tokens=60)
        shown = played.inputs("force_answer")[0]["passages"]
        assert 0 < count_tokens(shown) <= 60
        count = len(played.steps("answer")[0].shown)
        assert played.steps("answer")[0].shown == tuple(played.prediction.retrieved_ids[:count])

    def test_supporting_passages_are_shown_to_the_answer_whatever_they_cost(self, play, chain, replies):
        supported = replies.requirement("Who composed The Salt Choir?", support=["P4", "P1", "P2"], answer="Ana Kell")
        played = play({**chain, "initialize": lambda _: replies.initialize(supported)}, context_window=40)
        assert played.prediction.usage.effective_tokens == 20
        assert played.register["R1"].support == played.steps("answer")[0].shown
        assert len(passages_in(played.inputs("force_answer")[0])) == 3


class TestWindow:
    def test_the_windows_of_lm_and_setting_bound_the_tokens_in_force(self, play, chain, scripted, quick_index):
        import dspy

        from executionrag import ExecutionRAG

        assert play(chain, context_window=8_192).prediction.usage.effective_tokens == 6_192
        lm, _ = scripted(chain)
        lm.context_window = 4_096
        with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
            assert ExecutionRAG(quick_index)(question="Who?").usage.effective_tokens == 2_096
            assert ExecutionRAG(quick_index, context_window=9_000)(question="Who?").usage.effective_tokens == 7_000

    def test_the_window_of_an_lm_that_was_set_on_the_program_counts(self, chain, scripted, quick_index):
        import dspy

        from executionrag import ExecutionRAG

        lm, _ = scripted(chain)
        lm.context_window = 4_096
        program = ExecutionRAG(quick_index)
        program.set_lm(lm)
        with dspy.context(lm=None, adapter=dspy.ChatAdapter()):
            assert program(question="Who?").usage.effective_tokens == 2_096

    def test_an_unknown_lm_has_no_known_window(self):
        class LM:
            model = "scripted/model"

        assert lm_window(LM()) is None
        assert lm_window(None) is None
        assert lm_window(object()) is None

    def test_a_listed_lm_has_its_catalogues_window(self):
        class LM:
            model = "openai/gpt-4o-mini"

        assert lm_window(LM()) == 128_000
