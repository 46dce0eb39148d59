"""The progress text, exactly: what stands in it, when, and that the replay differs in nothing else."""

import pytest

from executionrag.program.progress import Progress
from executionrag.program.register import Register, Requirement
from executionrag.retrievers.session import Hit, SearchResult

ALIASES = {"salt": "P1", "ana": "P2", "bettina": "P3"}


def found(query, *passages, tool="semantic_search", repeated=False, note=""):
    hits = tuple(
        Hit(ALIASES[passage], passage, "", "", 1.0, rank, True, True) for rank, passage in enumerate(passages, 1)
    )
    return SearchResult(tool, query, hits, repeated, note)


def register(*items):
    return Register(items=tuple(items))


R1 = Requirement(id="R1", text="Who composed it?", status="active")
R2 = Requirement(id="R2", text="Where was R1 born?", needs=("R1",))
START = register(R1, R2)


def progress(**settings):
    made = Progress(ALIASES.__getitem__, **settings)
    made.start(START, found("the question", "salt", "ana"))
    return made


def test_it_begins_with_the_whole_register_and_the_seed_search():
    assert progress().text == (
        "Register\n"
        "R1 [open] Who composed it?\n"
        "R2 [open] Where was R1 born? | needs R1\n"
        'Loop 0: semantic_search "the question" -> P1, P2'
    )


def test_without_a_seed_search_it_is_the_register_alone():
    made = Progress(ALIASES.__getitem__)
    assert made.start(register(R1), None) == "Register\nR1 [open] Who composed it?"


def test_tentative_values_and_support_from_the_seed_are_shown():
    made = Progress(ALIASES.__getitem__)
    shown = made.start(register(R1.model_copy(update={"answer": "Ana Kell", "support": ("salt",)})), None)
    assert shown == "Register\nR1 [open] Who composed it? | tentative answer: Ana Kell | support: P1"


def test_a_loop_adds_its_search_and_only_what_changed():
    made = progress()
    before = made.text
    after = register(R1.model_copy(update={"status": "resolved", "answer": "Ana Kell", "support": ("salt",)}), R2)
    shown = made.record(1, R1, found("composer", "salt"), after)
    assert shown == 'Loop 1 for R1: semantic_search "composer" -> P1\nR1 [resolved] answer: Ana Kell | support: P1'
    assert made.text == f"{before}\n{shown}"


def test_an_empty_delta_adds_only_the_search_line():
    made = progress()
    assert made.record(1, R1, found("x", tool="keyword_search", note="no passage matches"), START) == (
        'Loop 1 for R1: keyword_search "x" -> nothing (no passage matches)'
    )


def test_becoming_active_or_pending_is_no_change():
    made = progress()
    swapped = register(R1.model_copy(update={"status": "pending"}), R2.model_copy(update={"status": "active"}))
    assert made.record(1, R1, found("x", "salt"), swapped) == 'Loop 1 for R1: semantic_search "x" -> P1'


def test_a_repeat_is_said():
    made = progress()
    result = found("x", "salt", repeated=True, note="repeat of an earlier query: same passages")
    assert made.record(1, R1, result, START) == (
        'Loop 1 for R1: semantic_search "x" -> P1 (repeat of an earlier query: same passages)'
    )


def test_new_items_are_shown_whole_and_retired_ones_with_their_reason():
    made = progress()
    after = register(
        R1.model_copy(update={"status": "retired", "reason": "wrong work", "note": "an opera"}),
        R2,
        Requirement(id="R3", text="Who wrote R1?", needs=("R1",), replaces="R1"),
    )
    assert made.record(1, R1, found("x", "salt"), after) == (
        'Loop 1 for R1: semantic_search "x" -> P1\n'
        "R1 [retired] note: an opera | reason: wrong work\n"
        "R3 [open] Who wrote R1? | needs R1 | replaces R1"
    )


def test_what_was_shown_is_not_shown_again():
    made = progress()
    after = register(R1.model_copy(update={"note": "half known"}), R2)
    assert made.record(1, R1, found("x", "salt"), after).endswith("\nR1 [open] note: half known")
    assert made.record(2, R1, found("y", "salt"), after) == 'Loop 2 for R1: semantic_search "y" -> P1'


def test_replay_shows_the_whole_register_where_the_delta_stands_and_differs_in_nothing_else():
    delta, replay = progress(), progress(replay=True)
    assert delta.text == replay.text
    after = register(R1.model_copy(update={"note": "half known"}), R2)
    assert delta.record(1, R1, found("x", "salt"), after) == (
        'Loop 1 for R1: semantic_search "x" -> P1\nR1 [open] note: half known'
    )
    assert replay.record(1, R1, found("x", "salt"), after) == (
        'Loop 1 for R1: semantic_search "x" -> P1\n'
        "R1 [open] Who composed it? | note: half known\n"
        "R2 [open] Where was R1 born? | needs R1"
    )
    assert replay.record(2, R1, found("y", "salt"), after).splitlines()[1:] == [
        "R1 [open] Who composed it? | note: half known",
        "R2 [open] Where was R1 born? | needs R1",
    ]


STUCK = (
    "R1 is stuck: 3 searches brought no new support. Serve another item, resolve it with the best-supported value, or "
    "retire it with a reason such as 'not found'."
)


@pytest.mark.parametrize("replay", [False, True])
def test_three_loops_without_new_support_mark_an_item_stuck_once(replay):
    made = progress(replay=replay)
    shown = [made.record(loop, R1, found(f"q{loop}", "salt"), START) for loop in range(1, 6)]
    assert [STUCK in text for text in shown] == [False, False, True, False, False]
    assert made.is_stuck(R1)
    assert not made.is_stuck(R2)


def test_new_support_ends_being_stuck_and_the_count_begins_anew():
    made = progress()
    for loop in (1, 2, 3):
        made.record(loop, R1, found(f"q{loop}", "salt"), START)
    supported = R1.model_copy(update={"support": ("salt",)})
    made.record(4, R1, found("q4", "salt"), register(supported, R2))
    assert not made.is_stuck(supported)
    shown = [made.record(loop, supported, found(f"q{loop}"), register(supported, R2)) for loop in (5, 6, 7)]
    assert [STUCK in text for text in shown] == [False, False, True]


def test_loops_on_different_items_are_counted_apart():
    made = progress()
    for loop, item in enumerate((R1, R2, R1, R2), 1):
        made.record(loop, item, found(f"q{loop}"), START)
    assert not made.is_stuck(R1)
    assert not made.is_stuck(R2)


def test_an_item_closed_in_its_third_loop_is_not_stuck():
    made = progress()
    for loop in (1, 2):
        made.record(loop, R1, found(f"q{loop}", "salt"), START)
    closed = R1.model_copy(update={"status": "retired", "reason": "not needed"})
    assert STUCK not in made.record(3, R1, found("q3", "salt"), register(closed, R2))
    assert not made.is_stuck(closed)


def test_queries_stand_on_one_line_and_are_cut():
    made = progress()
    shown = made.record(1, R1, found("a\nb [[ ## query ## ]] " + "x" * 500), START)
    assert shown.startswith('Loop 1 for R1: semantic_search "a b ((## query ##)) xxx')
    assert len(shown) < 260
    assert "\n" not in shown
