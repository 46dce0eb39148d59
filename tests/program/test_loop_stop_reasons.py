"""Each way in which a question ends, and what is answered then; provider failures arrive as lm15 errors, as in life."""

import dspy
import pytest
from dspy import lm15

STEPS = ("initialize", "write_query", "update", "answer")


def failing(script, step, error, times=None):
    """The script with one step that raises, always or the first `times` times."""
    left = [times]

    def reply(inputs):
        if left[0] is None:
            return error()
        left[0] -= 1
        return error() if left[0] >= 0 else script[step](inputs)

    return {**script, step: reply}


def overflow():
    return lm15.ContextLengthError("This model's maximum context length is 4096 tokens.")


class TestResolved:
    def test_a_chain_whose_every_item_is_resolved(self, play, chain):
        played = play(chain)
        prediction = played.prediction
        assert prediction.stop_reason == "resolved"
        assert (prediction.answer, prediction.abstained) == ("Tarn Hollow", False)
        assert [item.status for item in prediction.requirements] == ["resolved"] * 3
        assert [item.answer for item in prediction.requirements] == ["Ana Kell", "Bettina Moore", "Tarn Hollow"]
        assert [item.support for item in prediction.requirements] == [("salt",), ("ana",), ("bettina",)]
        assert prediction.usage.loops == 3
        assert played.steps("answer")[0].forced is False

    def test_no_selection_is_asked_where_the_order_is_forced(self, play, chain):
        assert play(chain).asked == ["initialize", *["write_query", "update"] * 3, "answer"]

    def test_all_retired_and_none_resolved_ends_in_the_answer_step_which_may_abstain(self, play, chain, replies, read):
        def retire(inputs):
            return replies.update(replies.change(read.target_id(inputs), "retired", reason="no passage speaks of it"))

        played = play({**chain, "update": retire, "answer": lambda _: replies.answer("", "Nothing found.", True)})
        assert played.prediction.stop_reason == "resolved"
        assert (played.prediction.answer, played.prediction.abstained) == ("", True)
        assert [item.status for item in played.prediction.requirements] == ["retired"] * 3
        assert "retired: no passage speaks of it" in played.inputs("answer")[0]["findings"]

    def test_without_seed_evidence_it_works_too(self, play, chain):
        played = play(chain, seed=False)
        assert played.prediction.stop_reason == "resolved"
        assert [step.loop for step in played.steps("search")] == [1, 2, 3]
        assert played.inputs("initialize")[0]["passages"] == "none"

    def test_an_item_found_to_be_needed_while_searching_is_served_too(self, play, chain, replies, read):
        def update(inputs):
            if read.target_id(inputs) != "R4":
                reply = chain["update"](inputs)
                new = [replies.addition("Which sea lies at R3?", ["R3"])] if read.target_id(inputs) == "R3" else []
                return reply | {"new_requirements": new}
            alias = read.alias_of("Vessel Sea", inputs["new_passages"])
            return replies.update(replies.change("R4", "resolved", answer="Vessel Sea", support=[alias]))

        played = play({**chain, "update": update})
        assert played.prediction.stop_reason == "resolved"
        assert (played.register["R4"].text, played.register["R4"].answer) == ("Which sea lies at R3?", "Vessel Sea")
        assert played.inputs("write_query")[3]["target"].startswith("R4: Which sea lies at Tarn Hollow?")


class TestBudgetAndNothingToFind:
    def test_spent_loops_force_the_answer(self, play, chain):
        played = play(chain, max_loops=1)
        assert played.prediction.stop_reason == "budget_loops"
        assert played.asked[-1] == "force_answer"
        assert played.steps("answer")[0].forced is True

    def test_spent_tokens_force_the_answer(self, play, chain):
        assert play(chain, max_tokens=1).prediction.stop_reason == "budget_tokens"

    def test_a_validly_empty_register_goes_straight_to_the_answer(self, play, chain, replies):
        played = play({**chain, "initialize": lambda _: replies.initialize()})
        assert played.prediction.stop_reason == "no_requirements"
        assert played.asked == ["initialize", "answer"]
        assert played.prediction.requirements == ()
        assert played.inputs("answer")[0]["findings"] == "none"


# What servers say when a prompt does not fit; a message that reaches us empty is vLLM's.
OVERFLOWS = {
    "openai": overflow,
    "llama.cpp": lambda: lm15.InvalidRequestError(
        "request (9216 tokens) exceeds the available context size (8192 tokens), try increasing it",
        status=400,
        provider_code="exceed_context_size_error",
    ),
    "llama.cpp by its code": lambda: lm15.InvalidRequestError(
        "the server could not do what was asked", status=400, provider_code="exceed_context_size_error"
    ),
    "vllm": lambda: lm15.InvalidRequestError(
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4800 in the messages, "
        "200 in the completion). Please reduce the length of the messages or completion.",
        status=400,
    ),
    "vllm decoder": lambda: lm15.InvalidRequestError(
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096.", status=400
    ),
    "vllm emptied": lambda: lm15.InvalidRequestError("", status=400),
    "sglang": lambda: lm15.InvalidRequestError(
        "The input (5000 tokens) is longer than the model's context length (4096 tokens).", status=400
    ),
    "anthropic": lambda: lm15.InvalidRequestError("prompt is too long: 210000 tokens > 200000 maximum", status=400),
    "gemini": lambda: lm15.InvalidRequestError(
        "The input token count (1100000) exceeds the maximum number of tokens allowed (1048575).", status=400
    ),
    "lm studio": lambda: lm15.InvalidRequestError(
        "Trying to keep the first 5000 tokens when context overflows. However, the model is loaded with context length "
        "of only 4096 tokens, which is not enough.",
        status=400,
    ),
    "tgi": lambda: lm15.InvalidRequestError(
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and "
        "200 `max_new_tokens`",
        status=422,
    ),
}


class TestContextOverflow:
    @pytest.mark.parametrize("server", OVERFLOWS)
    def test_an_overflow_in_any_servers_wording_forces_the_answer(self, play, chain, server):
        played = play(failing(chain, "write_query", OVERFLOWS[server]))
        assert played.prediction.stop_reason == "context_overflow"
        assert played.asked == ["initialize", "write_query", "force_answer"]
        assert (played.prediction.answer, played.prediction.abstained) == ("Tarn Hollow", False)
        assert [(step.step, step.fatal) for step in played.steps("error")] == [("write_query", False)]

    @pytest.mark.parametrize(
        "error",
        [
            lambda: lm15.InvalidRequestError("Unsupported value: 'temperature' does not support 0 here", status=400),
            lambda: lm15.InvalidRequestError("tools are not supported by this model, see the manual", status=400),
            lambda: lm15.UnsupportedModelError("", status=404),
            lambda: lm15.AuthError("", status=401),
        ],
    )
    def test_another_refusal_is_not_taken_for_one(self, play, chain, error):
        assert play(failing(chain, "write_query", error)).prediction.stop_reason == "lm_error"

    @pytest.mark.parametrize("step", ["initialize", "update"])
    def test_a_step_that_reads_passages_is_asked_again_with_the_better_half(self, play, chain, step):
        played = play(failing(chain, step, overflow, times=1))
        assert played.prediction.stop_reason == "resolved"
        field = "passages" if step == "initialize" else "new_passages"
        first, second = (inputs[field] for inputs in played.inputs(step)[:2])
        assert first.startswith(second)
        assert (first.count("\n\n"), second.count("\n\n")) == (4, 1)

    def test_a_single_passage_cannot_be_halved(self, play, chain):
        played = play(failing(chain, "initialize", overflow), k=1)
        assert played.asked == ["initialize", "force_answer"]

    @pytest.mark.parametrize("step", ["initialize", "update"])
    def test_a_second_overflow_ends_the_search(self, play, chain, step):
        played = play(failing(chain, step, overflow))
        assert played.prediction.stop_reason == "context_overflow"
        assert played.asked[-3:] == [step, step, "force_answer"]

    def test_an_answer_that_does_not_fit_is_asked_again_without_the_older_half_of_the_other_passages(self, play, chain):
        played = play(failing(chain, "answer", overflow, times=1))
        assert played.prediction.stop_reason == "resolved"
        assert played.prediction.answer == "Tarn Hollow"
        assert played.steps("answer")[0].shown == ("salt", "ana", "bettina", "glass", "brask")

    def test_an_answer_that_never_fits_gives_the_best_resolved_value(self, play, chain):
        played = play(failing(chain, "answer", overflow))
        assert played.prediction.stop_reason == "context_overflow"
        assert (played.prediction.answer, played.prediction.abstained) == ("Tarn Hollow", False)
        assert played.asked.count("answer") == 2

    def test_where_nothing_fits_the_question_ends_in_an_abstention(self, play, chain):
        script = failing(failing(chain, "initialize", overflow), "force_answer", overflow)
        prediction = play(script).prediction
        assert (prediction.stop_reason, prediction.answer, prediction.abstained) == ("context_overflow", "", True)


PROVIDER_ERRORS = {
    "LMAuthError": lambda: lm15.AuthError("Incorrect API key provided", status=401),
    "LMBillingError": lambda: lm15.BillingError("You exceeded your current quota", status=402),
    "LMRateLimitError": lambda: lm15.RateLimitError("Rate limit reached", status=429),
    "LMServerError": lambda: lm15.ServerError("internal error", status=500),
    "LMTimeoutError": lambda: lm15.TimeoutError("the request timed out", status=504),
    "LMTransportError": lambda: lm15.TransportError("Connection refused"),
    "LMUnsupportedModelError": lambda: lm15.UnsupportedModelError("model 'x' not found", status=404),
    "LMUnsupportedFeatureError": lambda: lm15.UnsupportedFeatureError("no such feature"),
    "LMProviderError": lambda: lm15.ProviderError("it went wrong"),
    "LMUnexpectedError": lambda: RuntimeError("a bug in the engine"),
}


class TestLMError:
    @pytest.mark.parametrize("name", PROVIDER_ERRORS)
    def test_a_provider_failure_ends_the_question_and_is_named(self, play, chain, name):
        played = play(failing(chain, "write_query", PROVIDER_ERRORS[name]))
        prediction = played.prediction
        assert prediction.stop_reason == "lm_error"
        assert (prediction.answer, prediction.abstained) == ("", True)
        assert [(step.step, step.error, step.fatal) for step in played.steps("error")] == [("write_query", name, True)]
        assert played.asked == ["initialize", "write_query"]

    @pytest.mark.parametrize("step", STEPS)
    def test_it_may_happen_at_any_step_and_nothing_found_is_lost(self, play, chain, step):
        played = play(failing(chain, step, PROVIDER_ERRORS["LMServerError"]))
        prediction = played.prediction
        assert prediction.stop_reason == "lm_error"
        assert played.asked[-1] == step
        assert prediction.retrieved_ids[:2] == ["salt", "ana"]
        assert len(prediction.requirements) == (0 if step == "initialize" else 3)
        assert prediction.usage.calls == len(played.lm.history)

    def test_it_may_happen_at_selection(self, play, chain, replies):
        script = {
            **chain,
            "initialize": lambda _: replies.initialize("Who composed The Salt Choir?", "Where is Orrim?"),
        }
        script["update"] = lambda _: replies.update()
        script = failing(script, "select", PROVIDER_ERRORS["LMServerError"])
        assert play(script).prediction.stop_reason == "lm_error"

    def test_of_a_long_message_the_first_line_is_kept(self, play, chain):
        played = play(failing(chain, "update", lambda: lm15.ServerError("first line\nsecond line " * 200, status=500)))
        assert played.steps("error")[0].message == "[scripted/model] first line"

    def test_an_lm_that_is_not_configured_is_raised_for_it_fails_every_question(self, play, chain):
        with pytest.raises(dspy.LMConfigurationError):
            play(failing(chain, "initialize", lambda: lm15.NotConfiguredError("no API key")))

    def test_without_any_lm_the_call_itself_fails_with_dspys_message(self, quick_index):
        from executionrag import ExecutionRAG

        with dspy.context(lm=None), pytest.raises(Exception, match="No LM"):
            ExecutionRAG(quick_index)(question="Who?")


@pytest.mark.parametrize("question", ["", "   ", "\n", None, 7])
def test_a_blank_question_is_a_usage_error(play, chain, question):
    from executionrag.errors import UsageError

    with pytest.raises(UsageError, match="question is blank"):
        play(chain, question)
