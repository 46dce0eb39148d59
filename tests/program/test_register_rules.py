"""The register's rules, one by one, on literal cases. Passages P1, P2 and P3 were returned; no other was."""

import pytest

from executionrag.program.register import Register
from executionrag.signatures.values import ItemUpdate, NewRequirement, ProposedRequirement

KNOWN = {"P1": "salt", "P2": "ana", "P3": "bettina"}


def resolve(written):
    return KNOWN.get(written)


def started(*texts, **settings):
    proposals = [ProposedRequirement(text=text) for text in texts or ("Who composed it?", "Where was R1 born?")]
    return Register(**settings).initialize(proposals, resolve).register_after


def updated(register, *updates, new=()):
    return register.update([ItemUpdate(**update) for update in updates], new, resolve)


def resolved():
    return updated(
        started(), {"id": "R1", "status": "resolved", "answer": "Ana", "support": ["P1"], "note": "stated"}
    ).register_after


def retired():
    return updated(started(), {"id": "R1", "status": "retired", "reason": "not needed", "note": "gone"}).register_after


class TestInitialise:
    def test_items_are_numbered_in_order_and_the_first_ready_one_is_the_target(self):
        register = started("Who composed it?", "Where was R1 born?", "When?")
        assert [item.id for item in register.items] == ["R1", "R2", "R3"]
        assert [item.status for item in register.items] == ["active", "pending", "pending"]

    def test_it_never_resolves_and_keeps_a_value_that_a_real_passage_states_as_tentative(self):
        proposal = ProposedRequirement(text="Who?", support=["P2", "P9", "P2"], answer="Ana Kell")
        transition = Register().initialize([proposal], resolve)
        item = transition.register_after.items[0]
        assert (item.status, item.answer, item.support) == ("active", "Ana Kell", ("ana",))
        assert transition.refused == ("support of R1: P9 was never returned",)

    def test_a_value_that_no_real_passage_states_is_dropped(self):
        transition = Register().initialize([ProposedRequirement(text="Who?", support=["P9"], answer="Ana")], resolve)
        assert transition.register_after.items[0].answer == ""
        assert transition.refused == ("support of R1: P9 was never returned", "answer of R1: no supporting passage")

    def test_needs_are_the_earlier_items_that_are_named_in_needs_or_text(self):
        proposals = [
            ProposedRequirement(text="Who composed it?", needs=["R2"]),  # a later item cannot be needed
            ProposedRequirement(text="Where was R1 born?"),
            ProposedRequirement(text="When did it happen?", needs=["2", "[r1]", "R2", "R9", "R3"]),
        ]
        items = Register().initialize(proposals, resolve).register_after.items
        assert [item.needs for item in items] == [(), ("R1",), ("R2", "R1")]

    def test_blank_and_repeated_requirements_are_refused(self):
        transition = Register().initialize(
            [ProposedRequirement(text=text) for text in ("Who?", "  ", "WHO?", "When?")], resolve
        )
        assert [item.text for item in transition.register_after.items] == ["Who?", "When?"]
        assert transition.refused == ("new item: no text", "new item: R1 asks the same")

    def test_nothing_proposed_leaves_the_register_empty(self):
        assert Register().initialize([], resolve).register_after.items == ()

    def test_it_holds_at_most_twelve_items_or_what_the_setting_says(self):
        texts = [f"Fact {number}?" for number in range(20)]
        assert len(started(*texts).items) == 12
        assert len(started(*texts, max_items=3).items) == 3


class TestNothingDisappears:
    def test_an_update_that_leaves_an_item_out_changes_nothing_about_it(self):
        register = started()
        after = updated(register, {"id": "R1", "note": "half known", "answer": "Ana", "support": ["P1"]}).register_after
        assert after.get("R2") == register.get("R2")

    def test_an_empty_update_changes_nothing(self):
        register = resolved()
        assert updated(register).register_after == register
        assert updated(register).refused == ()

    def test_an_update_with_blank_fields_keeps_answer_and_note(self):
        register = updated(
            started(), {"id": "R1", "answer": "Ana", "note": "half known", "support": ["P1"]}
        ).register_after
        after = updated(register, {"id": "R1", "answer": "", "note": "", "status": "open"}).register_after
        assert (after.get("R1").answer, after.get("R1").note) == ("Ana", "half known")


class TestNothingIsForgotten:
    def test_support_grows_in_order_of_arrival_without_duplicates(self):
        register = updated(started(), {"id": "R1", "support": ["P2", "P1", "P2"]}).register_after
        assert register.get("R1").support == ("ana", "salt")
        register = updated(register, {"id": "R1", "support": ["P1", "P3"]}).register_after
        assert register.get("R1").support == ("ana", "salt", "bettina")
        assert updated(register, {"id": "R1", "support": []}).register_after == register

    @pytest.mark.parametrize("closed", [resolved, retired])
    def test_a_closed_item_takes_new_support_too(self, closed):
        before = closed().get("R1")
        after = updated(closed(), {"id": "R1", "support": ["P3"]}).register_after.get("R1")
        assert after == before.model_copy(update={"support": (*before.support, "bettina")})


class TestProvenanceIsReal:
    def test_a_passage_that_was_not_returned_is_refused_and_recorded(self):
        transition = updated(started(), {"id": "R1", "support": ["P1", "P9", "salt"]})
        assert transition.register_after.get("R1").support == ("salt",)
        assert transition.refused == (
            "support of R1: P9 was never returned",
            "support of R1: salt was never returned",  # ids of the corpus are not the LM's to use
        )


class TestResolvedNeedsEvidence:
    @pytest.mark.parametrize("support", [[], ["P9"]])
    def test_without_a_real_passage_the_item_stays_open_with_its_note_and_without_a_value(self, support):
        transition = updated(
            started(), {"id": "R1", "status": "resolved", "answer": "Ana", "note": "as I recall", "support": support}
        )
        item = transition.register_after.get("R1")
        assert (item.status, item.answer, item.note, item.support) == ("active", "", "as I recall", ())
        assert transition.refused[-2:] == (
            "answer of R1: no supporting passage",
            "resolving R1: no supporting passage",
        )

    @pytest.mark.parametrize("status", ["open", "resolved"])
    def test_a_value_without_support_is_not_kept_and_makes_no_other_item_ready(self, status):
        transition = updated(started(), {"id": "R1", "status": status, "answer": "Ana", "support": ["P9"]})
        assert transition.register_after == started()
        assert [item.id for item in transition.register_after.candidates()] == ["R1"]

    def test_a_tentative_value_stands_on_new_support_and_on_support_recorded_earlier(self):
        new = updated(started(), {"id": "R1", "answer": "Ana", "support": ["P1"]})
        assert (new.register_after.get("R1").answer, new.refused) == ("Ana", ())
        old = updated(new.register_after, {"id": "R1", "answer": "Ana Kell"})
        assert (old.register_after.get("R1").answer, old.refused) == ("Ana Kell", ())

    def test_an_item_that_is_retired_keeps_no_value_without_support(self):
        transition = updated(started(), {"id": "R1", "status": "retired", "reason": "not found", "answer": "Ana"})
        item = transition.register_after.get("R1")
        assert (item.status, item.reason, item.answer) == ("retired", "not found", "")
        assert transition.refused == ("answer of R1: no supporting passage",)

    def test_support_recorded_earlier_suffices(self):
        register = updated(started(), {"id": "R1", "support": ["P1"]}).register_after
        item = updated(register, {"id": "R1", "status": "resolved", "answer": "Ana"}).register_after.get("R1")
        assert (item.status, item.answer, item.support) == ("resolved", "Ana", ("salt",))

    def test_support_of_another_item_does_not(self):
        register = updated(started(), {"id": "R1", "support": ["P1"]}).register_after
        assert updated(register, {"id": "R2", "status": "resolved"}).register_after.get("R2").is_open


class TestRetiredNeedsAReason:
    @pytest.mark.parametrize("reason", ["", "   ", "\n\t", "none", "N/A"])
    def test_without_one_the_item_stays_exactly_as_it_was(self, reason):
        register = started()
        transition = updated(
            register, {"id": "R1", "status": "retired", "reason": reason, "answer": "x", "support": ["P1"]}
        )
        assert transition.register_after == register
        assert transition.refused == ("retiring R1: no reason given",)

    @pytest.mark.parametrize(
        "reason",
        [
            "not needed",
            "P3 contradicts it",
            "not found",
        ],
    )
    def test_with_one_it_is_retired(self, reason):
        item = updated(started(), {"id": "R1", "status": "retired", "reason": reason}).register_after.get("R1")
        assert (item.status, item.reason) == ("retired", reason)


class TestOneTarget:
    def test_selecting_an_item_sets_the_other_open_ones_to_pending(self):
        register = started("Who?", "When?", "Where?").select("R3").register_after
        assert [item.status for item in register.items] == ["pending", "pending", "active"]

    @pytest.mark.parametrize("written", ["R2", "[r2]", "2", " R2. ", "item 2", "Requirement 02"])
    def test_the_id_is_read_leniently(self, written):
        assert started().select(written).register_after.active.id == "R2"

    @pytest.mark.parametrize("written", ["R9", "", "R", "both", "R1 or R2", "R1.5", "-", "\ud800", "R" * 5000])
    def test_an_unknown_id_is_refused_and_nothing_changes(self, written):
        register = started()
        transition = register.select(written)
        assert transition.register_after == register
        assert len(transition.refused) == 1

    def test_a_closed_item_cannot_be_selected(self):
        register = resolved()
        assert register.select("R1").register_after == register

    def test_closing_the_target_leaves_no_target(self):
        assert resolved().active is None


class TestClosedStaysClosed:
    @pytest.mark.parametrize("closed", [resolved, retired])
    @pytest.mark.parametrize("status", ["open", "resolved"])
    def test_status_answer_note_and_reason_are_frozen(self, closed, status):
        register = closed()
        after = updated(
            register, {"id": "R1", "status": status, "answer": "Joren", "note": "changed", "reason": "because"}
        )
        assert after.register_after == register

    def test_a_resolved_item_may_be_retired_with_a_reason(self):
        after = updated(resolved(), {"id": "R1", "status": "retired", "reason": "P3 contradicts it", "answer": "Joren"})
        item = after.register_after.get("R1")
        assert (item.status, item.reason, item.answer, item.note) == ("retired", "P3 contradicts it", "Ana", "stated")
        assert item.support == ("salt",)

    def test_a_resolved_item_is_not_retired_without_one(self):
        assert updated(resolved(), {"id": "R1", "status": "retired"}).register_after == resolved()

    def test_a_retired_item_cannot_be_retired_again_for_another_reason(self):
        assert updated(retired(), {"id": "R1", "status": "retired", "reason": "other"}).register_after == retired()

    def test_a_new_item_may_replace_a_closed_one(self):
        transition = updated(resolved(), new=[NewRequirement(text="Who wrote the score?", replaces="r1")])
        after = transition.register_after
        assert transition.refused == ()
        assert (after.items[-1].id, after.items[-1].replaces) == ("R3", "R1")
        assert after.get("R1") == resolved().get("R1")

    @pytest.mark.parametrize("replaces", ["R1", "R2"])
    def test_an_open_item_is_not_replaced_and_the_new_one_is_an_item_of_its_own(self, replaces):
        transition = updated(started(), new=[NewRequirement(text="Who wrote the score?", replaces=replaces)])
        after = transition.register_after
        assert transition.refused == (f"replacing {replaces}: it is still open",)
        assert (after.items[-1].id, after.items[-1].replaces, after.items[-1].status) == ("R3", None, "pending")
        assert after.items[:2] == started().items

    def test_an_item_that_the_same_reply_retires_may_be_replaced_in_it(self):
        transition = updated(
            started(),
            {"id": "R1", "status": "retired", "reason": "it is a novel"},
            new=[NewRequirement(text="Who wrote it?", replaces="R1"), NewRequirement(text="When?", replaces="R3")],
        )
        assert [item.replaces for item in transition.register_after.items[2:]] == ["R1", None]
        assert transition.refused == ("replacing R3: it is still open",)

    def test_one_reply_that_resolves_and_then_reopens_leaves_it_resolved(self):
        after = updated(
            started(),
            {"id": "R1", "status": "resolved", "support": ["P1"], "answer": "Ana"},
            {"id": "R1", "status": "open", "answer": "Joren"},
        )
        assert (after.register_after.get("R1").status, after.register_after.get("R1").answer) == ("resolved", "Ana")


class TestIdsAreOurs:
    def test_an_update_of_an_unknown_id_is_refused_and_recorded(self):
        register = started()
        transition = updated(register, {"id": "R9", "answer": "x"}, {"id": "", "answer": "x"})
        assert transition.register_after == register
        assert transition.refused == ("update of R9: no such item", "update of : no such item")

    def test_a_new_item_gets_the_next_id_and_retired_ids_are_not_used_again(self):
        after = updated(retired(), new=[NewRequirement(text="New?"), NewRequirement(text="Newer than R3?")])
        assert [item.id for item in after.register_after.items] == ["R1", "R2", "R3", "R4"]
        assert after.register_after.get("R4").needs == ("R3",)
        assert [item.status for item in after.register_after.items[2:]] == ["pending", "pending"]

    def test_an_item_that_repeats_an_open_one_is_refused_and_one_that_repeats_a_closed_one_is_not(self):
        transition = updated(
            retired(), new=[NewRequirement(text="where was r1 born?"), NewRequirement(text="Who composed it?")]
        )
        assert [item.text for item in transition.register_after.items[2:]] == ["Who composed it?"]
        assert transition.refused == ("new item: R2 asks the same",)

    def test_no_item_is_added_past_the_limit(self):
        register = started(*(f"Fact {number}?" for number in range(12)))
        transition = updated(register, new=[NewRequirement(text="One more?")])
        assert transition.register_after == register
        assert transition.refused == ("new item: the register holds at most 12",)


class TestReadiness:
    def test_an_item_is_ready_when_what_it_needs_is_closed_or_has_a_tentative_value(self):
        register = started("Who?", "Where was R1 born?", "How far is R2?")
        assert [item.id for item in register.candidates()] == ["R1"]
        tentative = updated(register, {"id": "R1", "answer": "Ana", "support": ["P1"]}).register_after
        assert [item.id for item in tentative.candidates()] == ["R1", "R2"]
        closed = updated(register, {"id": "R1", "status": "retired", "reason": "not needed"}).register_after
        assert [item.id for item in closed.candidates()] == ["R2"]

    def test_where_nothing_is_open_nothing_can_be_chosen(self):
        register = updated(retired(), {"id": "R2", "status": "retired", "reason": "not needed"}).register_after
        assert register.candidates() == ()
        assert register.open_items == ()


def test_text_of_an_lm_is_kept_on_one_line_and_cut():
    after = updated(
        started(), {"id": "R1", "note": "a\nb\t c " + "x" * 1000, "answer": "y" * 1000, "support": ["P1"]}
    ).register_after
    item = after.get("R1")
    assert item.note.startswith("a b c xxx")
    assert (len(item.note), len(item.answer)) == (300, 160)
    assert item.note.endswith("…")
    assert item.answer.endswith("…")


class TestNumbering:
    """The LM numbers its own list; what its references mean does not shift when an item of it is refused."""

    @staticmethod
    def plan(*texts):
        return Register().initialize([ProposedRequirement(text=text) for text in texts], lambda written: None)

    def test_a_duplicate_stands_for_its_twin(self):
        register = self.plan("Who painted X?", "who painted x?", "Where did R2 live?").register_after
        assert [(item.id, item.text, item.needs) for item in register.items] == [
            ("R1", "Who painted X?", ()),
            ("R2", "Where did R1 live?", ("R1",)),
        ]

    def test_a_blank_item_shifts_nothing(self):
        register = self.plan("Who painted X?", " ", "Who was the aunt of R1?", "Where did R3 live?").register_after
        assert [item.text for item in register.items][1:] == ["Who was the aunt of R1?", "Where did R2 live?"]
        assert register.items[2].needs == ("R2",)

    def test_an_id_with_its_text_behind_it_is_the_id(self):
        register = self.plan("Who painted X?").register_after
        assert register.find("R1: Who painted X?") == register.items[0]

    def test_what_waits_for_a_retired_item_waits_for_its_replacement(self):
        register = self.plan("Who painted X?", "Where did R1 live?").register_after
        updates = [ItemUpdate(id="R1", status="retired", reason="X is a novel")]
        register = register.update(
            updates, [NewRequirement(text="Who wrote X?", replaces="R1")], lambda written: None
        ).register_after
        assert not register.ready(register.items[1])
        assert [item.id for item in register.candidates()] == ["R3"]

    def test_replacing_an_unknown_item_is_refused_and_recorded(self):
        transition = self.plan("Who painted X?").register_after.update(
            [], [NewRequirement(text="Who wrote X?", replaces="R9")], lambda written: None
        )
        assert transition.refused == ("replacing R9: no such item",)
        assert transition.register_after.items[-1].replaces is None
