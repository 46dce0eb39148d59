"""The nudge: once, in the loop after four fifths of them are done, to `update` and `write_query` and no other step."""

import pytest

from executionrag.program.loop import NUDGE_QUERY, NUDGE_UPDATE


def test_it_is_shown_once_after_twelve_of_fifteen_loops(play, endless):
    played = play(endless)
    queries = [inputs["advice"] for inputs in played.inputs("write_query")]
    assert queries == ["none"] * 12 + [NUDGE_QUERY] + ["none"] * 2
    nudged = [inputs for inputs in played.inputs("update") if inputs["advice"] == NUDGE_UPDATE]
    assert len(nudged) == 1
    assert "Loop 12 " in nudged[0]["progress"]
    assert "Loop 13 " not in nudged[0]["progress"]


@pytest.mark.parametrize(("max_loops", "loop"), [(16, 14), (14, 13), (10, 9), (5, 5)])
def test_it_moves_with_the_number_of_loops(play, endless, max_loops, loop):
    advice = [inputs["advice"] for inputs in play(endless, max_loops=max_loops).inputs("write_query")]
    assert [number for number, text in enumerate(advice, 1) if text == NUDGE_QUERY] == [loop]


@pytest.mark.parametrize("max_loops", [0, 1, 2, 3, 4])
def test_with_few_loops_there_is_no_loop_left_to_nudge(play, endless, max_loops):
    assert not any(NUDGE_QUERY in str(inputs) for _, inputs, _ in play(endless, max_loops=max_loops).engine.prompts)


def test_the_update_is_nudged_even_when_the_search_brought_nothing_to_read(play, endless, replies):
    queries = iter(["salt choir", "zzz", "zzzz", "zzzzz", "zzzzzz"])
    script = {**endless, "write_query": lambda _: replies.write_query(next(queries), "keyword_search")}
    updates = play(script, max_loops=5).inputs("update")
    assert updates[-1]["advice"] == NUDGE_UPDATE
    assert updates[-1]["new_passages"] == "none"


def test_no_other_step_hears_of_it(play, endless, replies):
    both = {
        **endless,
        "initialize": lambda _: replies.initialize("Who composed The Salt Choir?", "Where is the Vessel Sea?"),
    }
    played = play(both)
    for step in ("initialize", "select", "force_answer"):
        assert played.inputs(step)
        assert not any("search budget" in str(inputs) for inputs in played.inputs(step))
    assert "search budget" not in played.inputs("write_query")[-1]["progress"]
