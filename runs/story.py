"""The story of answered questions as one self-contained HTML page.

The page needs nothing but itself: no script, font or image from elsewhere, light or dark as the reader's system is.
"""

import contextlib
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..program.trajectory import ErrorStep, RegisterStep, SearchStep, Step, VerifyStep
from .answered import Answered, citations, cost_parts, stop_in_words, verified_lines
from .plain_text import clean
from .register_view import MARKS, WORDS, RegisterView


@dataclass
class _Passage:
    alias: str
    title: str
    text: str
    new: bool
    gold: str


@dataclass
class _Row:
    """One requirement of the register as a loop leaves it."""

    id: str
    text: str
    status: str
    word: str
    mark: str
    answer: str
    note: str
    support: str
    changed: bool


@dataclass
class _Loop:
    """One loop: its search, what came in, and the register after it."""

    number: int
    target: str = ""
    tool: str = ""
    query: str = ""
    note: str = ""
    passages: list[_Passage] = field(default_factory=list)
    rows: list[_Row] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    verified: list[str] = field(default_factory=list)


def render_story(answered: Sequence[Answered]) -> str:
    """The page for one or more questions."""
    import jinja2

    # No file-system loader: the template is package data, wherever the package is installed.
    source = (files("executionrag.runs") / "templates" / "story.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: clean(value) if type(value) is str else value,
    )
    page: str = environment.from_string(source).render(questions=[_question(one) for one in answered])
    return page


def write_story(path: Path, answered: Sequence[Answered]) -> None:
    """Write the page, whole or not at all.

    Raises:
        UserError: It cannot be written there.
    """
    write_page(path, render_story(answered))


def write_page(path: Path, content: str) -> None:
    """Write a page that is made already, whole or not at all.

    Raises:
        UserError: It cannot be written there.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("w", encoding="utf-8", errors="replace") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise UserError(
            f"{path}: the page cannot be written ({error.strerror or error}); give another place"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _question(one: Answered) -> dict[str, Any]:
    """What the template shows of one question."""
    prediction = one.prediction
    gold_of = _gold_marks(one)
    hops = []
    if one.gold is not None:
        hops = [
            {"question": hop.question, "answer": hop.answer, "found": found}
            for hop, found in zip(one.gold.hops, one.found, strict=True)
        ]
    shown: dict[str, Any] = {
        "question": one.question,
        "error": one.error,
        "gold": None if one.gold is None else one.gold.answers,
        "right": one.right,
        "hops": hops,
        "loops": [],
        "prediction": None,
    }
    if prediction is not None:
        shown["loops"] = _loops(prediction.trajectory, one, gold_of)
        shown["prediction"] = {
            "answer": prediction.answer,
            "explanation": prediction.explanation,
            "abstained": prediction.abstained,
            "stop_reason": prediction.stop_reason,
            "stopped": stop_in_words(prediction.stop_reason),
            "cost": cost_parts(prediction.usage),
            "citations": [{"alias": cited.alias, "title": cited.title} for cited in citations(prediction)],
        }
    return shown


def _gold_marks(one: Answered) -> dict[str, str]:
    """For each gold passage, which hops it is the evidence of."""
    marks: dict[str, list[str]] = {}
    for number, hop in enumerate(one.gold.hops if one.gold else (), start=1):
        if hop.passage_id is not None:
            marks.setdefault(hop.passage_id, []).append(str(number))
    return {passage_id: f"gold, hop {' and '.join(numbers)}" for passage_id, numbers in marks.items()}


def _loops(steps: Sequence[Step], one: Answered, gold_of: dict[str, str]) -> list[_Loop]:
    loops: dict[int, _Loop] = {}
    register = RegisterView()
    aliases: dict[str, str] = {}
    for step in steps:
        loop = loops.setdefault(step.loop, _Loop(step.loop))
        match step:
            case SearchStep():
                target = register.get(step.target)
                loop.target = f"{target.id}: {register.text(target)}" if target else ""
                loop.tool, loop.query, loop.note = step.tool.replace("_", " "), step.query, step.note
                for found in step.found:
                    aliases[found.passage_id] = found.alias
                    passage = one.passages.get(found.passage_id)
                    text = passage.text if passage else ""
                    gold = gold_of.get(found.passage_id, "")
                    loop.passages.append(_Passage(found.alias, found.title, text, found.new, gold))
            case RegisterStep():
                changed = {change.item.id for change in register.apply(step)}
                loop.refused += step.refused
                if step.cause != "select":
                    loop.rows = _rows(register, changed, aliases)
            case ErrorStep():
                what = "failed" if step.fatal else "could not be used, its default was taken"
                loop.errors.append(f"{step.step} {what}: {step.error}: {step.message}")
            case VerifyStep():
                loop.verified += verified_lines(step)
    return list(loops.values())


def _rows(register: RegisterView, changed: set[str], aliases: dict[str, str]) -> list[_Row]:
    return [
        _Row(
            id=item.id,
            text=register.text(item),
            status=item.status,
            word=WORDS[item.status],
            mark=MARKS[item.status],
            answer=item.answer + (" (tentative)" if item.answer and item.is_open else ""),
            note=item.reason if item.status == "retired" else item.note,
            support=" ".join(aliases.get(passage, passage) for passage in item.support),
            changed=item.id in changed,
        )
        for item in register.items
    ]
