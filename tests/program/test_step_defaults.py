"""What each step falls back to when its replies cannot be used, and that the trajectory says so."""

import dspy
import pytest

GIBBERISH = "I would rather talk about the weather."
STEPS = ["initialize", "select", "write_query", "update", "answer", "force_answer"]


def errors(played):
    return [(step.step, step.error, step.fatal) for step in played.steps("error")]


def first_bad(script, step, count, bad=GIBBERISH):
    """The script with the first `count` replies of a step unreadable."""
    left = [count]

    def reply(inputs):
        left[0] -= 1
        return bad if left[0] >= 0 else script[step](inputs)

    return {**script, step: reply}


def two_items(chain, replies):
    """Two independent items, so that selection is asked after the first loop."""
    return {
        **chain,
        "initialize": lambda _: replies.initialize("Who composed The Salt Choir?", "Who composed The Quiet Mill?"),
        "update": lambda _: replies.update(),
    }


class TestDefaults:
    def test_initialise_the_question_is_the_one_requirement(self, play, chain):
        played = play({**chain, "initialize": lambda _: GIBBERISH}, "What is the Brask Circuit?", max_loops=1)
        assert [(item.id, item.text) for item in played.prediction.requirements] == [
            ("R1", "What is the Brask Circuit?")
        ]
        assert errors(played) == [("initialize", "AdapterParseError", False)]
        assert played.prediction.usage.loops == 1

    def test_initialise_items_without_text_are_no_requirements_either(self, play, chain, replies):
        played = play({**chain, "initialize": lambda _: replies.initialize("", "  ")}, "What is it?", max_loops=0)
        assert [item.text for item in played.prediction.requirements] == ["What is it?"]
        assert errors(played) == [("initialize", "Unusable", False)]

    @pytest.mark.parametrize(("reply", "error"), [(GIBBERISH, "AdapterParseError"), ("R7", "Unusable")])
    def test_select_the_first_candidate(self, play, chain, replies, reply, error):
        script = two_items(chain, replies)
        script["select"] = lambda _: reply if reply == GIBBERISH else replies.select(reply)
        played = play(script, max_loops=2)
        assert [step.target for step in played.steps("search")] == [None, "R1", "R1"]
        assert errors(played) == [("select", error, False)]

    def test_select_reads_an_id_leniently_and_takes_it(self, play, chain, replies):
        script = two_items(chain, replies)
        played = play({**script, "select": lambda _: replies.select("[r2].")}, max_loops=2)
        assert [step.target for step in played.steps("search")] == [None, "R1", "R2"]
        assert errors(played) == []

    @pytest.mark.parametrize(("blank", "error"), [(False, "AdapterParseError"), (True, "Unusable")])
    def test_write_query_the_text_with_the_values_found_in_place_of_ids(self, play, chain, replies, blank, error):
        reply = replies.write_query("   ", "keyword_search") if blank else GIBBERISH
        played = play({**chain, "write_query": lambda _: reply})
        assert [(step.tool, step.query) for step in played.steps("search")[1:]] == [
            ("semantic_search", "Who composed The Salt Choir?"),
            ("semantic_search", "Who is the mother of Ana Kell?"),
            ("semantic_search", "Where was Bettina Moore born?"),
        ]
        assert errors(played) == [("write_query", error, False)] * 3
        assert played.prediction.stop_reason == "resolved"

    def test_update_nothing_changes_and_the_loop_counts(self, play, chain):
        played = play({**chain, "update": lambda _: GIBBERISH}, max_loops=1)
        assert [item.status for item in played.prediction.requirements] == ["active", "pending", "pending"]
        assert [item.support for item in played.prediction.requirements] == [(), (), ()]
        assert played.prediction.usage.loops == 1
        assert errors(played) == [("update", "AdapterParseError", False)]

    def test_answer_the_value_of_the_last_resolved_item(self, play, chain):
        played = play({**chain, "answer": lambda _: GIBBERISH})
        assert (played.prediction.answer, played.prediction.abstained) == ("Tarn Hollow", False)
        assert "R3" in played.prediction.explanation
        assert played.prediction.stop_reason == "resolved"
        assert errors(played) == [("answer", "AdapterParseError", False)]

    def test_forced_answer_the_value_of_the_last_resolved_item(self, play, chain):
        played = play({**chain, "force_answer": lambda _: GIBBERISH}, max_loops=2)
        assert (played.prediction.answer, played.prediction.abstained) == ("Bettina Moore", False)
        assert errors(played) == [("force_answer", "AdapterParseError", False)]

    def test_answer_an_honest_abstention_where_nothing_is_resolved(self, play, chain):
        played = play({**chain, "force_answer": lambda _: GIBBERISH}, max_loops=0)
        assert (played.prediction.answer, played.prediction.abstained) == ("", True)
        assert played.prediction.explanation

    def test_every_step_at_once(self, play, chain):
        played = play({step: lambda _: GIBBERISH for step in STEPS}, max_loops=2)
        assert played.prediction.stop_reason == "budget_loops"
        assert (played.prediction.answer, played.prediction.abstained) == ("", True)
        assert played.prediction.retrieved_ids[:2] == ["salt", "ana"]


class TestRetries:
    @pytest.mark.parametrize("step", ["initialize", "write_query", "update", "answer"])
    def test_an_unreadable_reply_is_asked_once_more_at_temperature_one(self, play, chain, step):
        # A chat reply that cannot be read is asked again as JSON by DSPy itself: two calls an attempt.
        played = play(first_bad(chain, step, 2))
        assert errors(played) == []
        assert played.prediction.answer == "Tarn Hollow"
        places = [place for place, (name, _, _) in enumerate(played.engine.prompts) if name == step][:3]
        kwargs = [played.lm.history[place]["kwargs"] for place in places]
        assert [call.get("temperature") for call in kwargs] == [None, None, 1.0]
        assert next(record for record in played.steps("lm") if record.step == step).attempts == 2

    def test_the_retry_has_a_cache_key_of_its_own_beside_the_lms(self, play, chain):
        played = play(first_bad(chain, "initialize", 2))
        rollouts = [entry["kwargs"].get("rollout_id") for entry in played.lm.history[:3]]
        assert rollouts[2] not in rollouts[:2]

    @pytest.mark.parametrize(("retries", "calls"), [(0, 1), (1, 2), (3, 4)])
    def test_how_often_is_a_setting(self, play, chain, retries, calls):
        adapter = dspy.ChatAdapter(use_json_adapter_fallback=False)
        played = play({**chain, "initialize": lambda _: GIBBERISH}, adapter=adapter, parse_retries=retries, max_loops=0)
        assert played.asked.count("initialize") == calls

    def test_dspys_own_second_try_as_json_is_no_failure(self, play, chain):
        played = play(first_bad(chain, "update", 1))
        assert errors(played) == []
        assert next(step for step in played.steps("lm") if step.step == "update").attempts == 1

    @pytest.mark.parametrize("reply", ["", "   ", "{}", "null", "[[ ## completed ## ]]"])
    def test_an_empty_reply_is_an_unreadable_one(self, play, chain, reply):
        played = play({**chain, "update": lambda _: reply}, max_loops=1)
        assert errors(played) == [("update", "AdapterParseError", False)]


class TestAnswers:
    @pytest.mark.parametrize("said", ["", "None", "unknown", "N/A", "I don't know", "Not found.", "null"])
    def test_an_answer_that_says_there_is_none_is_an_abstention(self, play, chain, replies, said):
        prediction = play({**chain, "answer": lambda _: replies.answer(said)}).prediction
        assert (prediction.answer, prediction.abstained) == ("", True)

    def test_abstaining_leaves_the_answer_empty_whatever_it_says(self, play, chain, replies):
        prediction = play({**chain, "answer": lambda _: replies.answer("Tarn Hollow", abstained=True)}).prediction
        assert (prediction.answer, prediction.abstained) == ("", True)

    @pytest.mark.parametrize("said", ["no", "No.", "0", "None of them", "Unknown Pleasures"])
    def test_a_short_answer_that_only_looks_like_one_is_kept(self, play, chain, replies, said):
        prediction = play({**chain, "answer": lambda _: replies.answer(said)}).prediction
        assert (prediction.answer, prediction.abstained) == (said, False)

    def test_the_end_marker_of_the_chat_format_is_taken_off(self, play, chain):
        reply = (
            "[[ ## explanation ## ]]\nAs [P1] says.\n\n[[ ## abstained ## ]]\nfalse\n\n"
            "[[ ## answer ## ]]\nTarn Hollow [[ ## completed ## ]]"
        )
        assert play({**chain, "answer": lambda _: reply}).prediction.answer == "Tarn Hollow"

    def test_citations_are_the_retrieved_passages_that_the_explanation_names(self, play, chain, replies):
        script = {**chain, "answer": lambda _: replies.answer("x", "By [P2], [P1] and P2, not [P99] or [salt].")}
        assert play(script).prediction.citations == ["ana", "salt"]
