"""MuSiQue's official JSONL layout, which MiniHop shares.

A row holds `id`, `question`, `answer`, `answer_aliases`, `paragraphs` (`idx`, `title`, `paragraph_text`,
`is_supporting`) and `question_decomposition` (`question`, `answer`, `paragraph_support_idx`). Two optional additions
are read: `type` of a question and `subject` of a hop. Other fields are ignored. A row that does not fit stops the load:
nothing is skipped, for a benchmark with rows missing would give wrong totals.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictStr, ValidationError

from ...errors import UserError
from ...retrievers.text import replace_surrogates
from .record import BenchmarkQuestion, Paragraph, SubQuestion


def _text(value: str) -> str:
    # The corpus loader replaces lone surrogates too, so that gold paragraphs still equal their passages.
    return replace_surrogates(value)[0]


def _filled(value: str) -> str:
    if not value.strip():
        raise ValueError("is blank")
    return _text(value)


_Text = Annotated[StrictStr, AfterValidator(_text)]
_Filled = Annotated[StrictStr, AfterValidator(_filled)]


class _Row(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class _Paragraph(_Row):
    idx: int
    title: _Text
    paragraph_text: _Filled
    is_supporting: bool


class _Hop(_Row):
    question: _Filled
    answer: _Filled
    paragraph_support_idx: int | None = None
    subject: _Filled | None = None


class _Question(_Row):
    id: _Filled
    question: _Filled
    answer: _Filled
    answer_aliases: list[_Filled] = Field(default_factory=list)
    paragraphs: list[_Paragraph] = Field(min_length=1)
    question_decomposition: list[_Hop] = Field(min_length=1)
    type: _Filled | None = None


def load_musique(path: Path | str) -> list[BenchmarkQuestion]:
    """Read a MuSiQue file, in its own order.

    `hops` is the number of decomposition steps, `supporting` follows their order, and `type` is the row's own `type` or
    else the prefix of its id ("2hop", "3hop1").

    Args:
        path: A JSONL file; blank lines are passed over.

    Returns:
        One record a row, at least one.

    Raises:
        UserError: The file cannot be read or is empty, or a row does not fit; the message names file, line and field.
    """
    path = Path(path)
    questions: list[BenchmarkQuestion] = []
    lines: dict[str, int] = {}
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error}); give a MuSiQue JSONL file") from error
    # Split on line feeds only: str.splitlines would also break a row at U+2028 inside a paragraph.
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        question = _record(_parse(line, where), where)
        if question.id in lines:
            raise UserError(f"{where}: field `id`: {question.id!r} is used before, in line {lines[question.id]}")
        lines[question.id] = number
        questions.append(question)
    if not questions:
        raise UserError(f"{path}: the file has no questions; give a MuSiQue JSONL file, one question a line")
    return questions


def _parse(line: bytes, where: str) -> _Question:
    try:
        row: Any = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: no valid JSON in UTF-8 ({error}); each line holds one question") from error
    if not isinstance(row, dict):
        raise UserError(f"{where}: the line is no JSON object; each line holds one question")
    try:
        return _Question.model_validate(row)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        said = first["msg"].removeprefix("Value error, ")
        said = said[:1].lower() + said[1:]
        raise UserError(f"{where}: field `{field}`: {said}; MuSiQue's official layout is expected") from error


def _record(row: _Question, where: str) -> BenchmarkQuestion:
    by_idx: dict[int, Paragraph] = {}
    for position, paragraph in enumerate(row.paragraphs):
        if paragraph.idx in by_idx:
            raise UserError(f"{where}: field `paragraphs.{position}.idx`: {paragraph.idx} is used twice")
        by_idx[paragraph.idx] = Paragraph(paragraph.title, paragraph.paragraph_text)

    supporting: list[Paragraph] = []
    hops: list[SubQuestion] = []
    for position, hop in enumerate(row.question_decomposition):
        support = None
        if hop.paragraph_support_idx is not None:
            if hop.paragraph_support_idx not in by_idx:
                raise UserError(
                    f"{where}: field `question_decomposition.{position}.paragraph_support_idx`: no paragraph has idx "
                    f"{hop.paragraph_support_idx}"
                )
            gold = by_idx[hop.paragraph_support_idx]
            if gold not in supporting:
                supporting.append(gold)
            support = supporting.index(gold)
        hops.append(SubQuestion(hop.question, hop.answer, support, hop.subject))
    # Paragraphs marked as supporting that no hop points to come last, in the row's order.
    for paragraph in row.paragraphs:
        if paragraph.is_supporting and by_idx[paragraph.idx] not in supporting:
            supporting.append(by_idx[paragraph.idx])

    return BenchmarkQuestion(
        id=row.id,
        question=row.question,
        answer=row.answer,
        aliases=tuple(row.answer_aliases),
        hops=len(hops),
        type=row.type or row.id.split("_", 1)[0],
        supporting=tuple(supporting),
        decomposition=tuple(hops),
        context=tuple(by_idx.values()),
    )
