"""Where a step's outcome is forced it is not asked, and where there is a choice it is: the calls made, counted."""

from collections import Counter

import pytest

OPERAS = ("Who composed The Salt Choir?", "Who composed The Quiet Mill?", "Who won the Brask Circuit?")


@pytest.fixture
def retire(replies, read):
    """An update that retires its target."""
    return lambda inputs: replies.update(
        replies.change(read.target_id(inputs), "retired", reason="no passage speaks of it")
    )


class TestSelectionIsAskedOnlyAmongTwoOrMoreReadyItems:
    def test_one_open_requirement_is_the_target(self, play, endless):
        # Loop 1 shows all that there is to read; from loop 4 on R1 is stuck and may be given up.
        loops = [["update"], [], [], ["update"], ["update"]]
        assert play(endless, max_loops=5).asked == [
            "initialize",
            *(step for updates in loops for step in ("write_query", *updates)),
            "force_answer",
        ]

    def test_in_a_chain_needs_force_the_order(self, play, chain):
        asked = Counter(play(chain).asked)
        assert asked == {"initialize": 1, "write_query": 3, "update": 3, "answer": 1}
        assert sum(asked.values()) == 8

    def test_in_a_comparison_the_first_target_is_initialisations_and_the_last_is_the_only_one_left(
        self, play, chain, replies, retire
    ):
        script = {**chain, "initialize": lambda _: replies.initialize(*OPERAS[:2]), "update": retire}
        assert play(script).asked == ["initialize", "write_query", "update", "write_query", "update", "answer"]

    def test_among_three_it_is_asked_once_and_a_needing_item_is_no_choice(self, play, chain, replies, retire):
        both = replies.requirement("Is R1 or R2 the older?", needs=["R1", "R2", "R3"])
        script = {
            **chain,
            "initialize": lambda _: replies.initialize(*OPERAS, both),
            "select": lambda inputs: replies.select(inputs["open_ids"].split(", ")[-1]),
            "update": retire,
        }
        played = play(script)
        assert [inputs["open_ids"] for inputs in played.inputs("select")] == ["R2, R3"]
        targets = [inputs["target"][:2] for inputs in played.inputs("write_query")]
        assert targets == ["R1", "R3", "R2", "R4"]

    def test_where_none_is_ready_it_is_asked_among_all_open_ones(self, play, chain, replies, read):
        # R3 takes over from R1 and needs R2, which needs R1: each of the two waits for the other.
        first = replies.update(
            replies.change("R1", "retired", reason="wrong"),
            new=[replies.addition("Who wrote what R2 sang?", needs=["R2"], replaces="R1")],
        )
        script = {
            **chain,
            "initialize": lambda _: replies.initialize(OPERAS[0], replies.requirement("Who sang for R1?", ["R1"])),
            "update": lambda inputs: first if read.target_id(inputs) == "R1" else replies.update(),
            "select": lambda _: replies.select("R3"),
        }
        assert play(script, max_loops=2).inputs("select")[0]["open_ids"] == "R2, R3"


class TestAnUpdateIsAskedOnlyWhereSomethingCanChange:
    def test_a_search_that_brings_nothing_is_not_read(self, play, endless, replies):
        script = {**endless, "write_query": lambda _: replies.write_query("zzyzx", "keyword_search")}
        played = play(script, max_loops=2)
        assert [search.found for search in played.steps("search")[1:]] == [(), ()]
        assert Counter(played.asked) == {"initialize": 1, "write_query": 2, "force_answer": 1}

    def test_a_system_without_updates_asks_for_none_and_selects_nothing(self, play, chain, replies):
        script = {**chain, "initialize": lambda _: replies.initialize(*OPERAS)}
        assert Counter(play(script, update=False).asked) == {"initialize": 1, "write_query": 3, "answer": 1}


class TestTheVerifierIsAskedOnlyWhereItCouldReopen:
    def test_a_register_with_nothing_resolved_is_not_read_in_search_mode(self, play, chain, retire):
        played = play({**chain, "update": retire}, verifier="search")
        assert Counter(played.asked) == {"initialize": 1, "write_query": 3, "update": 3, "answer": 1}
        assert played.steps("verify") == []
        assert played.prediction.stop_reason == "resolved"

    def test_one_resolved_item_is_enough(self, play, chain, read, retire):
        script = {
            **chain,
            "update": lambda inputs: (chain["update"] if read.target_id(inputs) == "R1" else retire)(inputs),
            "verify": lambda _: {"checks": []},
        }
        assert Counter(play(script, verifier="search").asked)["verify"] == 1

    def test_an_audit_reads_a_draft_whatever_the_register_came_to(self, play, chain, retire):
        script = {
            **chain,
            "update": retire,
            "verify": lambda _: {"checks": [], "decision": "keep", "corrected_answer": ""},
        }
        assert Counter(play(script, verifier="audit").asked)["verify"] == 1


def test_the_answer_is_asked_even_of_one_resolved_requirement(play, chain, replies):
    # Its value need not be what the question asks for.
    played = play({**chain, "initialize": lambda _: replies.initialize(OPERAS[0])})
    assert played.asked == ["initialize", "write_query", "update", "answer"]
