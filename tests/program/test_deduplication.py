"""A repeated query is a loop, is not searched again, and is told to the model."""

import pytest


@pytest.fixture
def repeating(endless, replies):
    """One item, and the same query in different dress each loop."""
    queries = iter(["Salt Choir composer", "salt choir, composer!", "SALT  CHOIR COMPOSER", "salt choir composer"])
    return {**endless, "write_query": lambda _: replies.write_query(next(queries), "keyword_search")}


def test_a_repeat_counts_as_a_loop_and_brings_the_same_passages(play, repeating):
    played = play(repeating, max_loops=4)
    searches = played.steps("search")[1:]
    assert [search.repeated for search in searches] == [False, True, True, True]
    assert len({tuple(found.passage_id for found in search.found) for search in searches}) == 1
    assert not any(found.new for search in searches[1:] for found in search.found)
    assert played.prediction.usage.loops == 4
    assert played.prediction.usage.repeated_queries == 3
    assert played.prediction.stop_reason == "budget_loops"


def test_the_model_is_told(play, repeating):
    played = play(repeating, max_loops=3)
    assert played.inputs("write_query")[2]["progress"].splitlines()[-1] == (
        'Loop 2 for R1: keyword_search "salt choir, composer!" -> P1, P2, P3 '
        "(repeat of an earlier query: same passages)"
    )
    assert played.inputs("write_query")[2]["tried_queries"] == (
        '"Salt Choir composer" (keyword_search)\n"salt choir, composer!" (keyword_search)'
    )


def test_no_update_is_asked_where_there_is_nothing_unread(play, repeating):
    assert play(repeating, max_loops=2).asked == ["initialize", "write_query", "update", "write_query", "force_answer"]


def test_a_stuck_item_is_put_to_the_model_even_so(play, repeating):
    played = play(repeating, max_loops=4)
    assert played.asked.count("update") == 2  # loop 1, which had passages, and loop 4, where R1 is stuck
    assert "R1 is stuck" in played.inputs("update")[1]["progress"]
    assert played.inputs("update")[1]["new_passages"] == "none"


def test_an_item_that_has_a_value_and_support_is_put_to_the_model_even_so(play, repeating, replies):
    tentative = replies.update(replies.change("R1", answer="Ana Kell", support=["P1"]))
    resolved = replies.update(replies.change("R1", "resolved"))
    updates = iter([tentative, resolved])
    played = play({**repeating, "update": lambda _: next(updates)}, max_loops=4)
    assert [inputs["new_passages"] == "none" for inputs in played.inputs("update")] == [False, True]
    assert played.inputs("update")[1]["target"] == "R1: Who composed The Salt Choir?\ntentative answer: Ana Kell"
    assert [search.repeated for search in played.steps("search")[1:]] == [False, True]
    assert (played.prediction.stop_reason, played.register["R1"].support) == ("resolved", ("salt",))


@pytest.mark.parametrize("half", [{"answer": "Ana Kell"}, {"support": ["P1"]}, {"note": "an opera"}])
def test_an_item_that_has_only_half_of_it_is_not(play, repeating, replies, half):
    script = {**repeating, "update": lambda _: replies.update(replies.change("R1", **half))}
    assert play(script, max_loops=3).asked.count("update") == 1


def test_the_question_asked_again_is_a_repeat_of_the_seed_but_new_to_the_target(play, chain, replies):
    script = {**chain, "write_query": lambda inputs: replies.write_query(inputs["question"])}
    played = play(script, max_loops=1)
    assert played.steps("search")[1].repeated is True
    assert played.inputs("update")[0]["new_passages"] == played.inputs("initialize")[0]["passages"]
    assert played.register["R1"].status == "resolved"


def test_another_item_reads_the_same_passages_for_itself(play, chain, replies):
    script = {
        **chain,
        "initialize": lambda _: replies.initialize("Who composed The Salt Choir?", "Who sang in The Salt Choir?"),
        "write_query": lambda _: replies.write_query("salt choir", "keyword_search"),
        "update": lambda _: replies.update(),
        "select": lambda _: replies.select("R2"),
    }
    updates = play(script, max_loops=2).inputs("update")
    assert [inputs["target"][:2] for inputs in updates] == ["R1", "R2"]
    assert updates[0]["new_passages"] == updates[1]["new_passages"]


def test_a_passage_that_is_read_by_its_id_is_shown_again(play, endless, replies):
    queries = iter([("salt choir", "keyword_search"), ("P1", "read_passages"), ("[p1]", "read_passages")])
    script = {**endless, "write_query": lambda _: replies.write_query(*next(queries))}
    played = play(script, max_loops=3)
    assert [inputs["new_passages"][:20] for inputs in played.inputs("update")] == ["[P1] The Salt Choir\n"] * 2
    assert [search.repeated for search in played.steps("search")[1:]] == [False, False, True]


def test_reading_what_was_never_returned_is_refused_and_told(play, endless, replies):
    script = {**endless, "write_query": lambda _: replies.write_query("P40, tarn", "read_passages")}
    played = play(script, max_loops=2)
    assert played.steps("search")[1].found == ()
    assert (
        played.inputs("write_query")[1]["progress"]
        .splitlines()[-1]
        .startswith('Loop 1 for R1: read_passages "P40, tarn" -> nothing (unknown ids refused: P40')
    )
