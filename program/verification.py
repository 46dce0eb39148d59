"""The verifier: a second reading of the register against its supporting passages, before an answer is given.

The paper predicts, and does not test, that such a check raises accuracy with the evidence unchanged. Two modes:

- `audit`: the answer is drafted exactly as without a verifier; the verifier reads it with the register and may keep,
  correct or withhold it. Nothing is searched for, so the retrieved evidence is that of the baseline. A forced answer is
  read too: an unsupported guess is what an audit is for.
- `search`: once nothing is open and budget remains, the verifier may reopen resolved requirements, each with what is
  missing, and the loop goes on; at most `MAX_ROUNDS` times a question, so that it ends.

What an LM may decide is bounded by rules. Withholding needs a requirement that lacks support; a corrected answer has to
stand in a passage that was shown, or be yes or no; reopening needs a resolved item and what is missing of it. What the
rules refuse is recorded, and the draft is kept. A reply that cannot be read, or a prompt that does not fit even with
half of the passages, keeps the draft, or the register closed. Where the register holds no requirement there is nothing
to read, and where none is resolved nothing could be reopened: the verifier is then not asked.
"""

import re
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Literal

from ..signatures.values import RequirementCheck
from .evidence import NONE, AnswerText, findings, show_passage
from .neutralize import one_line
from .question import ContextOverflow
from .trajectory import Check, VerifyStep

if TYPE_CHECKING:
    from .loop import RegisterLoop

Verifier = Literal["audit", "search"]

#: Times that a question's register may be reopened.
MAX_ROUNDS = 2
_NOTE, _ANSWER = 300, 400


def audited(loop: "RegisterLoop", draft: AnswerText) -> Generator[Any, Any, AnswerText]:
    """What becomes of a drafted answer.

    Raises:
        LMFailure: the provider failed past its retries.
    """
    outputs = yield from _read(loop, draft=draft.answer or NONE)
    if outputs is None:
        return draft
    checks, refused = _checks(loop, outputs["checks"])
    decision, answer = str(outputs["decision"]), draft
    if decision == "withhold" and not draft.abstained:
        if all(check.supported for check in checks):
            refused.append("withholding the answer: no requirement lacks support")
        else:
            answer = AnswerText("", _objections("Withheld", checks), True)
    elif decision == "correct":
        corrected = one_line(str(outputs["corrected_answer"] or ""), _ANSWER)
        if not corrected:
            refused.append("correcting the answer: no other answer given")
        elif _folded(corrected) == _folded(draft.answer):
            pass  # the same in other words: the draft stands
        elif not _stands(corrected, loop):
            refused.append(f"correcting the answer to {one_line(corrected, 40)}: no passage shown states it")
        else:
            answer = AnswerText(corrected, _objections("Corrected", checks), False)
    done: Any = "keep" if answer is draft else "withhold" if answer.abstained else "correct"
    loop.state.record(
        VerifyStep(
            loop=loop.state.loop,
            mode="audit",
            checks=tuple(checks),
            decision=done,
            draft=draft.answer,
            answer=answer.answer,
            refused=tuple(refused),
        )
    )
    return answer


def reopened(loop: "RegisterLoop") -> Generator[Any, Any, bool]:
    """Read a register with nothing open; whether some of it was opened again.

    Raises:
        LMFailure: the provider failed past its retries.
    """
    if all(item.status != "resolved" for item in loop.register.items):
        return False
    outputs = yield from _read(loop)
    if outputs is None:
        return False
    checks, refused = _checks(loop, outputs["checks"])
    transition = loop.register.reopen((check.id, check.missing) for check in checks if not check.supported)
    opened = tuple(item.id for item in transition.register_after.open_items)
    loop.state.record(
        VerifyStep(
            loop=loop.state.loop,
            mode="search",
            checks=tuple(checks),
            decision="reopen" if opened else "sufficient",
            reopened=opened,
            refused=(*refused, *transition.refused),
        )
    )
    if opened:
        loop.apply("verify", transition, loop.progress.reopen(transition.register_after))
    return bool(opened)


def _read(loop: "RegisterLoop", **inputs: str) -> Generator[Any, Any, Any]:
    """The verifier's reply; None where it was not asked or its reply could not be read."""
    if not loop.register.items:
        return None
    try:
        outputs, _ = yield from loop.ask_with_passages(
            "verify",
            _shown(loop),
            "passages",
            question=loop.question,
            findings=findings(loop.register, loop.state.session),
            **inputs,
        )
    except ContextOverflow:
        return None
    return outputs


def _shown(loop: "RegisterLoop") -> list[str]:
    """The supporting passages in full, in the order of their items."""
    session = loop.state.session
    passages = [(session.alias(passage_id), session.passage(passage_id)) for passage_id in loop.register.supporting]
    return [show_passage(alias, passage.title, passage.text) for alias, passage in passages]


def _checks(loop: "RegisterLoop", written: list[RequirementCheck]) -> tuple[list[Check], list[str]]:
    """The checks by our ids, each item once; those of no item are refused."""
    checks: dict[str, Check] = {}
    refused = []
    for one in written:
        item = loop.register.find(one.id)
        if item is None:
            refused.append(f"check of {one_line(one.id, 40)}: no such item")
        elif item.status == "retired":
            refused.append(f"check of {item.id}: it is retired and claims nothing")
        else:
            evidence, missing = one_line(one.evidence, _NOTE), one_line(one.missing, _NOTE)
            checks.setdefault(item.id, Check(id=item.id, supported=one.supported, evidence=evidence, missing=missing))
    return list(checks.values()), refused


def _objections(done: str, checks: list[Check]) -> str:
    said = "; ".join(
        f"{check.id}: {check.missing or check.evidence or 'not supported'}" for check in checks if not check.supported
    )
    return f"{done} by the verifier{': ' + said if said else ''}."


def _folded(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _stands(answer: str, loop: "RegisterLoop") -> bool:
    """Whether a supporting passage holds the answer word by word, in its title or text; yes and no need none."""
    wanted = _folded(answer)
    passages = [loop.state.session.passage(passage_id) for passage_id in loop.register.supporting]
    texts = [part for passage in passages for part in (passage.title, passage.text)]
    return wanted in ("yes", "no") or (bool(wanted) and any(f" {wanted} " in f" {_folded(text)} " for text in texts))
