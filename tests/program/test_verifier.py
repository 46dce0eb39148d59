"""The verifier: what it may do in each mode, what the rules refuse it, and that the baseline never notices it."""

import re

import dspy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executionrag.program.prompts import render_prompts
from executionrag.program.register import Register, Requirement
from executionrag.program.systems import SYSTEMS, make_system
from executionrag.program.trajectory import VerifyStep, dump_trajectory, load_trajectory
from executionrag.program.verification import MAX_ROUNDS


def check(item, supported=True, missing=""):
    return {"requirement": item, "evidence": "as read", "supported": supported, "missing": missing}


def audit(decision, *checks, corrected=""):
    return lambda _: {"checks": list(checks), "decision": decision, "corrected_answer": corrected}


def verify(*checks):
    return lambda _: {"checks": list(checks)}


@pytest.fixture
def audited(play, chain):
    return lambda reply, **changes: play({**chain, **changes, "verify": reply}, verifier="audit")


def the_step(played):
    (step,) = played.steps("verify")
    return step


def test_a_kept_draft_is_the_answer_and_the_step_says_what_was_checked(audited):
    played = audited(audit("keep", check("R1"), check("R2"), check("R3")))
    assert (played.prediction.answer, played.prediction.abstained) == ("Tarn Hollow", False)
    step = the_step(played)
    assert (step.mode, step.decision, step.draft, step.answer) == ("audit", "keep", "Tarn Hollow", "Tarn Hollow")
    assert [one.id for one in step.checks] == ["R1", "R2", "R3"]
    assert not step.insufficient
    assert played.prediction.usage.steps["verify"].calls == 1


def test_a_withheld_draft_is_an_abstention_that_says_what_is_missing(audited):
    played = audited(audit("withhold", check("R1"), check("R3", False, "her birthplace")))
    assert (played.prediction.answer, played.prediction.abstained) == ("", True)
    assert "R3: her birthplace" in played.prediction.explanation
    assert played.prediction.stop_reason == "resolved"
    assert (the_step(played).decision, the_step(played).draft) == ("withhold", "Tarn Hollow")


def test_withholding_without_an_unsupported_requirement_is_refused(audited):
    played = audited(audit("withhold", check("R1")))
    assert played.prediction.answer == "Tarn Hollow"
    assert the_step(played).refused == ("withholding the answer: no requirement lacks support",)


def test_a_correction_must_stand_in_a_passage_that_was_shown(audited):
    taken = audited(audit("correct", check("R3", False, "the place"), corrected="Ana Kell"))
    assert (taken.prediction.answer, the_step(taken).decision) == ("Ana Kell", "correct")
    refused = audited(audit("correct", check("R3", False, "the place"), corrected="Atlantis"))
    assert refused.prediction.answer == "Tarn Hollow"
    assert "no passage shown states it" in the_step(refused).refused[0]
    blank = audited(audit("correct", check("R3", False, "the place")))
    assert (blank.prediction.answer, the_step(blank).refused) == (
        "Tarn Hollow",
        ("correcting the answer: no other answer given",),
    )


def test_an_alias_is_no_answer_and_a_phrase_across_title_and_text_stands_nowhere(audited):
    for written in ("P3", "Bettina Moore Bettina"):
        played = audited(audit("correct", check("R3", False, "the place"), corrected=written))
        assert "no passage shown states it" in the_step(played).refused[0]


def test_a_retired_requirement_is_not_judged(play, chain):
    def update(inputs):
        done = chain["update"](inputs)
        if not inputs["target"].startswith("R3"):
            return done
        retired = {
            "requirement": "R3",
            "status": "retired",
            "reason": "not found",
            "note": "",
            "support": [],
            "answer": "",
        }
        return done | {"updates": [retired]}

    script = {**chain, "update": update, "verify": audit("withhold", check("R3", False, "all of it"))}
    played = play(script, verifier="audit")
    assert played.register["R3"].status == "retired"
    step = the_step(played)
    assert (step.decision, step.checks, step.insufficient) == ("keep", (), False)
    assert step.refused[0] == "check of R3: it is retired and claims nothing"


def test_checks_of_unknown_requirements_are_refused(audited):
    step = the_step(audited(audit("withhold", check("R9", False, "all"))))
    assert step.checks == ()
    assert step.refused[0] == "check of R9: no such item"
    assert step.decision == "keep"


def test_a_reply_that_cannot_be_read_keeps_the_draft_and_is_a_step_error(audited):
    played = audited(lambda _: "no such form")
    assert played.prediction.answer == "Tarn Hollow"
    assert [step.step for step in played.steps("error")] == ["verify"]
    assert played.steps("verify") == []


def test_the_auditor_reads_findings_supporting_passages_and_the_draft(audited):
    played = audited(audit("keep"))
    (inputs,) = played.inputs("verify")
    assert inputs["draft"] == "Tarn Hollow"
    assert "R3" in inputs["findings"]
    assert set(re.findall(r"(?m)^\[(P\d+)\]", inputs["passages"])) == {
        alias for item in played.prediction.requirements for alias in _aliases(played, item.support)
    }


def _aliases(played, support):
    found = {one.passage_id: one.alias for step in played.steps("search") for one in step.found}
    return [found[passage] for passage in support]


@pytest.mark.parametrize("decision", ["keep", "withhold", "correct"])
def test_an_audit_leaves_the_evidence_and_all_earlier_prompts_as_they_are(play, chain, audited, decision):
    plain = play(chain)
    played = audited(audit(decision, check("R1", False, "all of it"), corrected="Ana Kell"))
    assert played.prediction.retrieved_ids == plain.prediction.retrieved_ids
    assert played.steps("search") == plain.steps("search")
    assert played.engine.prompts[:-1] == plain.engine.prompts


def test_without_a_verifier_there_is_no_predictor_and_no_other_prompt(quick_index):
    plain, verified = (make_system(name, quick_index) for name in ("executionrag", "executionrag+verifier"))
    assert "verify" not in dict(plain.named_predictors())
    prompts = render_prompts(verified)
    assert prompts.pop("verify")
    assert prompts == render_prompts(plain)
    assert {"executionrag+verifier", "executionrag+verifier-search"} <= set(SYSTEMS)


def test_search_mode_reopens_what_lacks_support_searches_on_and_then_answers(play, chain):
    replies = iter([verify(check("R1"), check("R3", False, "the town itself")), verify(check("R3"))])
    queried = []

    def write_query(inputs):
        queried.append(inputs["target"])
        anew = {"query": "the town of Bettina Moore"} if "reopened" in inputs["target"] else {}
        return chain["write_query"](inputs) | anew

    script = {**chain, "verify": lambda inputs: next(replies)(inputs), "write_query": write_query}
    played = play(script, verifier="search")
    first, second = played.steps("verify")
    assert (first.decision, first.reopened, second.decision) == ("reopen", ("R3",), "sufficient")
    assert first.loop < second.loop
    assert len(queried) == 4
    assert "reopened: the town itself" in queried[-1]
    assert "tentative answer: Tarn Hollow" in queried[-1]
    assert "Verified:\nR3 [open]" in played.inputs("write_query")[-1]["progress"]
    assert (played.prediction.answer, played.prediction.stop_reason) == ("Tarn Hollow", "resolved")
    assert played.register["R3"].status == "resolved"


def test_a_verifier_that_is_never_content_ends_all_the_same(play, chain):
    script = {**chain, "verify": verify(check("R3", False, "more"))}
    played = play(script, verifier="search")
    assert len(played.steps("verify")) == MAX_ROUNDS
    assert played.prediction.stop_reason == "resolved"
    spent = play(script, verifier="search", max_loops=3)
    assert len(spent.steps("verify")) == 0, "nothing could be searched for"
    assert spent.prediction.stop_reason == "resolved"
    last = play(script, verifier="search", max_loops=4)
    assert last.prediction.stop_reason == "resolved"


def test_an_objection_without_what_is_missing_reopens_nothing(play, chain):
    played = play({**chain, "verify": verify(check("R3", False))}, verifier="search")
    step = the_step(played)
    assert (step.decision, step.refused) == ("sufficient", ("reopening R3: no reason given",))


def test_the_step_survives_a_json_round_trip(audited):
    steps = audited(audit("withhold", check("R3", False, "it"))).prediction.trajectory
    assert load_trajectory(dump_trajectory(steps)) == steps
    assert isinstance(steps[-1], VerifyStep)


def test_an_async_call_verifies_alike(scripted, quick_index, chain):
    import asyncio

    lm, _ = scripted({**chain, "verify": audit("withhold", check("R3", False, "it"))})
    program = make_system("executionrag+verifier", quick_index)
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        prediction = asyncio.run(program.acall(question="Where was the mother of the composer of The Salt Choir born?"))
    assert prediction.abstained


ITEMS = st.lists(
    st.builds(
        lambda status, support: (status, support if status != "resolved" else (support or ("p1",))),
        st.sampled_from(["pending", "resolved", "retired"]),
        st.lists(st.sampled_from(["p1", "p2"]), unique=True).map(tuple),
    ),
    max_size=5,
)
WRITTEN = st.tuples(st.sampled_from(["R1", "2", "[R3]", "R99", "", "P1", "\ud800"]), st.sampled_from(["", " ", "it"]))


@settings(deadline=None)
@given(ITEMS, st.lists(WRITTEN, max_size=6))
def test_reopening_touches_resolved_items_only_and_forgets_nothing(made, written):
    items = tuple(
        Requirement(id=f"R{number}", text=f"Fact {number}?", status=status, support=support, answer="x", reason="why")
        for number, (status, support) in enumerate(made, start=1)
    )
    register = Register(items=items)
    transition = register.reopen(written)
    after = transition.register_after.items
    assert [item.id for item in after] == [item.id for item in items]
    for old, new in zip(items, after, strict=True):
        assert (new.support, new.answer, new.text) == (old.support, old.answer, old.text)
        if new.status != old.status:
            assert (old.status, new.status) == ("resolved", "pending")
            assert new.note.startswith("reopened: ")
        else:
            assert new == old
    opened = sum(new.status != old.status for old, new in zip(items, after, strict=True))
    assert opened + len(transition.refused) == len(written)
