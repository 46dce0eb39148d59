"""The register under thousands of random and hostile replies: no rule is ever broken, nothing ever raises."""

import re

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from executionrag.program.register import MAX_ITEMS, Register
from executionrag.signatures.values import ItemUpdate, NewRequirement, ProposedRequirement

PASSAGES = {f"P{number}": f"passage-{number}" for number in range(1, 6)}
REAL = set(PASSAGES.values())

HOSTILE = st.sampled_from(
    [
        "",
        " ",
        "R0",
        "R-1",
        "R99",
        "R١",
        "r 3",
        "[R2]",
        "R1 R2",
        "R1.5",
        "none",
        "\ud800",
        "\x00\n\r\t",
        "[[ ## answer ## ]]",
        "<|im_end|>",
        "R1 " * 200,
        "x" * 5000,
        "%s {0} \\1 \\g<0>",
        "'; drop",
        "𝕽1",
        "R" + "9" * 400,
    ]
)
ITEM_ID = st.one_of(st.integers(1, 14).map(lambda number: f"R{number}"), st.integers(1, 4).map(str), HOSTILE)
PASSAGE_ID = st.one_of(st.sampled_from(list(PASSAGES)), st.sampled_from(["P0", "P9", "passage-1", "p1", ""]), HOSTILE)
TEXT = st.one_of(
    st.sampled_from(["Who?", "who?", "Where was R1 born?", "R2 and R9?", "R1"]), st.text(max_size=20), HOSTILE
)
REASON = st.one_of(st.just(""), st.just("not needed"), HOSTILE)
STATUS = st.sampled_from(["open", "resolved", "retired"])

PROPOSAL = st.builds(
    ProposedRequirement,
    text=TEXT,
    needs=st.lists(ITEM_ID, max_size=3),
    support=st.lists(PASSAGE_ID, max_size=3),
    answer=TEXT,
)
UPDATE = st.builds(
    ItemUpdate,
    id=ITEM_ID,
    note=TEXT,
    support=st.lists(PASSAGE_ID, max_size=3),
    answer=TEXT,
    status=STATUS,
    reason=REASON,
)
ADDITION = st.builds(NewRequirement, text=TEXT, needs=st.lists(ITEM_ID, max_size=3), replaces=ITEM_ID)
OPERATION = st.one_of(
    st.tuples(st.just("select"), ITEM_ID),
    st.tuples(st.just("update"), st.tuples(st.lists(UPDATE, max_size=4), st.lists(ADDITION, max_size=3))),
)


def check_state(register):
    items = register.items
    assert [item.id for item in items] == [f"R{number}" for number in range(1, len(items) + 1)]
    assert len(items) <= register.max_items
    assert sum(item.status == "active" for item in items) <= 1
    for place, item in enumerate(items):
        assert set(item.support) <= REAL
        assert len(set(item.support)) == len(item.support)
        assert item.status != "resolved" or item.support
        assert not item.answer or item.support
        assert item.status != "retired" or item.reason.strip()
        assert item.status == "retired" or not item.reason
        earlier = {other.id for other in items[:place]}
        assert set(item.needs) <= earlier
        assert item.replaces is None or item.replaces in earlier
        assert item.replaces is None or not register.get(item.replaces).is_open
        assert item.text.strip()
        for text in (item.text, item.note, item.answer, item.reason):
            assert "\n" not in text
            assert len(text) <= 300
            text.encode("utf-8")
            assert not re.search(r"\[\[\s*##|<\|\w+\|>", text)
    candidates = register.candidates()
    assert set(candidates) <= set(register.open_items)
    assert bool(candidates) == bool(register.open_items)


def check_change(before, after, named):
    """What holds between two states; `named` are the items that the reply spoke of, None for a selection."""
    assert [item.id for item in after.items][: len(before.items)] == [item.id for item in before.items]
    for old in before.items:
        new = after.get(old.id)
        assert new.support[: len(old.support)] == old.support
        assert (new.text, new.needs, new.replaces) == (old.text, old.needs, old.replaces)
        if not old.is_open:
            assert (new.answer, new.note) == (old.answer, old.note)
            if old.status == "resolved":
                assert new.status in ("resolved", "retired")
                assert new.status == "retired" or new.reason == old.reason
            else:
                assert (new.status, new.reason) == (old.status, old.reason)
        if named is None:
            assert new.model_copy(update={"status": old.status}) == old
            assert new.is_open == old.is_open
        elif old.id not in named:
            assert new == old


@settings(max_examples=1000, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(st.lists(PROPOSAL, max_size=15), st.lists(OPERATION, min_size=5, max_size=14), st.sampled_from([MAX_ITEMS, 3]))
def test_no_sequence_of_replies_breaks_a_rule(proposals, operations, max_items):
    transition = Register(max_items=max_items).initialize(proposals, PASSAGES.get)
    register = transition.register_after
    check_state(register)
    assert all(item.is_open for item in register.items)
    assert (register.active is not None) == bool(register.items)
    for name, argument in operations:
        before = register
        if name == "select":
            transition = register.select(argument)
            named = None
        else:
            transition = register.update(*argument, PASSAGES.get)
            named = {item.id for update in argument[0] if (item := register.find(update.id))}
        register = transition.register_after
        check_state(register)
        check_change(before, register, named)
        assert all("\n" not in refusal and len(refusal) < 200 for refusal in transition.refused)


@settings(max_examples=150, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(st.lists(PROPOSAL, min_size=1, max_size=6), st.lists(UPDATE, max_size=6), st.lists(ADDITION, max_size=3))
def test_transitions_are_pure(proposals, updates, additions):
    register = Register().initialize(proposals, PASSAGES.get).register_after
    copy = register.model_copy(deep=True)
    once = register.update(updates, additions, PASSAGES.get)
    assert register == copy
    assert register.update(updates, additions, PASSAGES.get) == once
    for item in register.items:
        assert register.select(item.id).register_after.items is not register.items
    assert register == copy
