"""Register text priced both ways on one trajectory: literal cases, and that a delta never costs more."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executionrag.metrics.record import GoldPassage, QuestionRecord
from executionrag.metrics.register_tokens import by_hops, register_price, register_tokens
from executionrag.program.progress import Progress
from executionrag.program.register import Register, Requirement
from executionrag.program.tokens import count_tokens
from executionrag.program.trajectory import Found, LMStep, RegisterStep, SearchStep
from executionrag.retrievers.session import SearchResult

R1 = Requirement(id="R1", text="Who wrote the Night Post?", status="active")
R2 = Requirement(id="R2", text="Where was that person born?", needs=("R1",))
R1_FOUND = R1.model_copy(update={"status": "resolved", "answer": "Corisande Mell", "support": ("mh-1",)})
R2_NOTED = R2.model_copy(update={"status": "active", "note": "not in the first two"})
R2_FOUND = R2.model_copy(update={"status": "resolved", "answer": "Thistlebourne", "support": ("mh-2",)})

INITIAL = ["R1 [open] Who wrote the Night Post?", "R2 [open] Where was that person born? | needs R1"]
LOOP_1 = ["R1 [resolved] answer: Corisande Mell | support: P1"]
LOOP_2 = ["R2 [open] note: not in the first two"]
LOOP_3 = ["R2 [resolved] answer: Thistlebourne | note: none | support: P2"]
R1_WHOLE = "R1 [resolved] Who wrote the Night Post? | answer: Corisande Mell | support: P1"
R2_WHOLE = "R2 [open] Where was that person born? | needs R1"


def search(loop, target, passage="mh-1", alias="P1"):
    found = (Found(alias=alias, passage_id=passage, title="t", rank=1),)
    return SearchStep(loop=loop, target=target, tool="semantic_search", query=f"query {loop}", found=found)


def lm(loop, step):
    return LMStep(loop=loop, step=step, outputs={})


def record(trajectory, hops=2):
    gold = (GoldPassage(title="t", passage_id="mh-1"),)
    return QuestionRecord(
        id="q", question="?", benchmark="minihop", type="bridge", hops=hops, answers=("x",), gold=gold,
        trajectory=tuple(trajectory),
    )  # fmt: skip


def three_loops(shown=("", "", "", "")):
    """Loop 1 resolves R1, loop 2 notes something on R2, loop 3 changes nothing."""
    select = RegisterStep(loop=2, cause="select", changed=(R2.model_copy(update={"status": "active"}),))
    return [
        search(0, None),
        lm(0, "initialize"),
        RegisterStep(loop=0, cause="initialize", changed=(R1, R2), shown=shown[0]),
        lm(1, "write_query"),
        search(1, "R1"),
        lm(1, "update"),
        RegisterStep(loop=1, cause="update", changed=(R1_FOUND,), shown=shown[1]),
        select,
        lm(2, "write_query"),
        search(2, "R2", "mh-2", "P2"),
        RegisterStep(loop=2, cause="update", changed=(R2_NOTED,), shown=shown[2]),
        lm(3, "write_query"),
        search(3, "R2", "mh-2", "P2"),
        RegisterStep(loop=3, cause="update", changed=(), shown=shown[3]),
    ]


def tokens(*lines):
    return sum(count_tokens(line) for line in lines)


def test_three_loops_are_priced_line_by_line():
    told = register_tokens(record(three_loops()))
    first, second = tokens(*INITIAL), tokens(*LOOP_1)
    third = tokens(*LOOP_2)
    whole_1 = tokens(R1_WHOLE, R2_WHOLE)
    whole_2 = tokens(R1_WHOLE, f"{R2_WHOLE} | note: not in the first two")
    assert (told.loops, told.initial) == (3, first)
    assert told.delta == first + second + third  # the third loop changed nothing: nothing is shown
    assert told.replay == first + whole_1 + 2 * whole_2
    # shown in the query and update of loop 1, then in one query a loop; what the last loop appends no prompt shows
    assert told.delta_in_prompts == 4 * first + 2 * second + third
    assert told.replay_in_prompts == 4 * first + 2 * whole_1 + whole_2
    assert told.saved == pytest.approx(1 - told.delta / told.replay)


def test_what_the_steps_recorded_says_which_rendering_ran():
    head = 'Loop {} for {}: semantic_search "query {}" -> {}'
    start = "\n".join(["Register", *INITIAL, 'Loop 0: semantic_search "query 0" -> P1'])
    first, second = head.format(1, "R1", 1, "P1"), head.format(2, "R2", 2, "P2")
    third = head.format(3, "R2", 3, "P2")
    noted = f"{R2_WHOLE} | note: not in the first two"
    deltas = (start, f"{first}\n{LOOP_1[0]}", f"{second}\n{LOOP_2[0]}", third)
    whole = (
        start,
        f"{first}\n{R1_WHOLE}\n{R2_WHOLE}",
        f"{second}\n{R1_WHOLE}\n{noted}",
        f"{third}\n{R1_WHOLE}\n{noted}",
    )
    assert register_tokens(record(three_loops(deltas))).as_recorded == "delta"
    assert register_tokens(record(three_loops(whole))).as_recorded == "replay"
    assert register_tokens(record(three_loops((*deltas[:3], "else")))).as_recorded == "neither"


def test_without_a_register_there_is_no_price():
    assert register_tokens(record([search(1, None)])) is None
    empty = register_price([])
    assert (empty.n, empty.delta, empty.saved) == (0, 0, None)


def test_hop_counts_are_told_apart_and_add_up():
    counted = [register_tokens(record(three_loops(), hops)) for hops in (4, 2, 4)]
    apart = by_hops(counted)
    assert [(hops, price.n) for hops, price in apart.items()] == [(2, 1), (4, 2)]
    assert apart[2].delta + apart[4].delta == register_price(counted).delta == 3 * counted[0].delta


WORDS = st.text("abcdefgh ,.:|[]éß漢", min_size=1, max_size=30).map(str.strip).filter(bool)
CHANGES = st.lists(st.tuples(st.integers(0, 3), WORDS, st.booleans()), max_size=6)


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(WORDS, min_size=4, max_size=4), changes=CHANGES)
def test_a_delta_never_costs_more_and_either_run_is_recognised(texts, changes):
    items = {f"R{n}": Requirement(id=f"R{n}", text=text) for n, text in enumerate(texts, 1)}
    shown = {replay: Progress({"mh-1": "P1"}.get, replay=replay) for replay in (False, True)}
    result = SearchResult("semantic_search", "query", (), False, "")
    trajectories = {
        replay: [
            RegisterStep(
                loop=0,
                cause="initialize",
                changed=tuple(items.values()),
                shown=progress.start(Register(items=tuple(items.values())), None),
            )
        ]
        for replay, progress in shown.items()
    }
    for loop, (place, note, resolves) in enumerate(changes, 1):
        target = list(items.values())[place]
        after = target.model_copy(update={"note": note, "status": "resolved" if resolves else target.status})
        items[target.id] = after
        step = SearchStep(loop=loop, target=target.id, tool="semantic_search", query="query", found=())
        for replay, progress in shown.items():
            text = progress.record(loop, target, result, Register(items=tuple(items.values())))
            update = RegisterStep(loop=loop, cause="update", changed=(after,), shown=text)
            trajectories[replay] += [lm(loop, "write_query"), step, update]
    by_delta, by_replay = (register_tokens(record(trajectories[replay])) for replay in (False, True))
    assert by_delta.delta <= by_delta.replay
    assert by_delta.delta_in_prompts <= by_delta.replay_in_prompts
    assert (by_delta.delta, by_delta.replay) == (by_replay.delta, by_replay.replay)
    assert by_delta.as_recorded == "delta"
    assert by_replay.as_recorded == ("replay" if changes else "delta")
