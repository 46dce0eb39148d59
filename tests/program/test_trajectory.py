"""The trajectory survives JSON and replays the register's whole history; a prediction is complete and plain."""

import json

import pytest
from pydantic import ValidationError

from executionrag.program.trajectory import dump_trajectory, load_trajectory, replay


@pytest.fixture
def eventful(play, chain, replies, read):
    """A run with every kind of step: an error, refused updates, a retirement, a new item, a forced answer."""
    attempts = iter(["nothing readable"] * 4)

    def update(inputs):
        if read.target_id(inputs) == "R1":
            return replies.update(
                replies.change("R1", "resolved", answer="Ana Kell", support=["P1", "P77"]),
                replies.change("R9", note="no such item"),
                replies.change("R3", "retired", reason="the wrong question"),
                new=[replies.addition("In which town was R2 born?", ["R2"], "R3")],
            )
        return next(attempts, replies.update())

    return play({**chain, "update": update}, max_loops=3)


def test_it_is_plain_json_and_comes_back_equal(eventful):
    steps = eventful.prediction.trajectory
    dumped = json.loads(json.dumps(dump_trajectory(steps)))
    assert load_trajectory(dumped) == steps
    assert {step.kind for step in steps} == {"search", "lm", "register", "error", "answer"}


def test_replay_ends_in_the_final_requirements(eventful):
    dumped = json.loads(json.dumps(dump_trajectory(eventful.prediction.trajectory)))
    states = replay(load_trajectory(dumped))
    assert states[-1] == tuple(eventful.prediction.requirements)
    assert len(states) == len(eventful.steps("register"))


def test_replay_gives_the_register_after_each_change(eventful):
    states = replay(eventful.prediction.trajectory)
    causes = [step.cause for step in eventful.steps("register")]
    assert causes[:3] == ["initialize", "update", "select"]
    assert [[item.status for item in state] for state in states[:3]] == [
        ["active", "pending", "pending"],
        ["resolved", "pending", "retired", "pending"],
        ["resolved", "active", "retired", "pending"],
    ]
    assert states[1][3].replaces == "R3"


def test_what_was_refused_is_recorded(eventful):
    assert eventful.steps("register")[1].refused == (
        "support of R1: P77 was never returned",
        "update of R9: no such item",
    )


def test_each_step_names_its_loop_in_order(eventful):
    loops = [step.loop for step in eventful.prediction.trajectory]
    assert loops == sorted(loops)
    assert [step.loop for step in eventful.steps("search")] == [0, 1, 2, 3]
    assert [step.target for step in eventful.steps("search")] == [None, "R1", "R2", "R2"]


def test_searches_hold_what_came_back_and_whether_it_was_new(play, chain):
    seed, first = play(chain).steps("search")[:2]
    assert [found.alias for found in seed.found] == ["P1", "P2", "P3", "P4", "P5"]
    assert [found.rank for found in seed.found] == [1, 2, 3, 4, 5]
    assert all(found.new for found in seed.found)
    assert (first.found[0].passage_id, first.found[0].title, first.found[0].new) == ("salt", "The Salt Choir", False)
    assert 0 < first.found[0].score <= 1


def test_replies_are_kept_field_by_field(play, chain):
    record = next(step for step in play(chain).steps("lm") if step.step == "update")
    assert record.outputs["updates"] == [
        {"id": "R1", "note": "", "support": ["P1"], "answer": "Ana Kell", "status": "resolved", "reason": ""}
    ]


def test_what_is_no_trajectory_is_refused():
    for dumped in ([{"kind": "dance", "loop": 0}], [{"kind": "search"}], [{}]):
        with pytest.raises(ValidationError):
            load_trajectory(dumped)
    assert load_trajectory([]) == []
    assert replay([]) == []


def test_a_prediction_holds_what_the_contract_names(play, chain):
    prediction = play(chain).prediction
    assert set(prediction.keys()) == {
        *("answer", "explanation", "abstained", "requirements", "trajectory"),
        *("retrieved_ids", "citations", "stop_reason", "usage"),
    }
    assert prediction.abstained is False
    assert isinstance(prediction.answer, str)
    assert len(set(prediction.retrieved_ids)) == len(prediction.retrieved_ids)


def test_the_same_run_twice_is_the_same_trajectory(play, chain):
    one, other = play(chain), play(chain)
    assert dump_trajectory(one.prediction.trajectory) == dump_trajectory(other.prediction.trajectory)
