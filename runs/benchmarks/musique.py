"""MuSiQue's official layout, which MiniHop shares.

A row holds `id`, `question`, `answer`, `answer_aliases`, `paragraphs` (`idx`, `title`, `paragraph_text`,
`is_supporting`) and `question_decomposition` (`question`, `answer`, `paragraph_support_idx`). Two optional additions
are read: `type` of a question and `subject` of a hop. Other fields are ignored. A row that does not fit stops the load:
nothing is skipped, for a benchmark with rows missing would give wrong totals.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from ...errors import UserError
from .record import BenchmarkQuestion, Paragraph, SubQuestion
from .source_rows import Filled, RowModel, SourceRow, Text, fitted, read_rows
from .unique import with_unique_ids


class _Paragraph(RowModel):
    idx: int
    title: Text
    paragraph_text: Filled
    is_supporting: bool


class _Hop(RowModel):
    question: Filled
    answer: Filled
    paragraph_support_idx: int | None = None
    subject: Filled | None = None


class _Question(RowModel):
    id: Filled
    question: Filled
    answer: Filled
    answer_aliases: list[Filled] = Field(default_factory=list)
    answerable: bool = True
    paragraphs: list[_Paragraph] = Field(min_length=1)
    question_decomposition: list[_Hop] = Field(min_length=1)
    type: Filled | None = None


def load_musique(path: Path | str) -> list[BenchmarkQuestion]:
    """Read a MuSiQue file, in its own order.

    Args:
        path: A JSONL file (blank lines are passed over) or a JSON array.

    Returns:
        One record a row, at least one.

    Raises:
        UserError: The file cannot be read or is empty, or a row does not fit; the message names file, line and field.
    """
    rows, _ = read_rows(Path(path), "a MuSiQue JSONL file")
    return with_unique_ids((row.where, musique_question(row)) for row in rows)


def musique_question(row: SourceRow) -> BenchmarkQuestion:
    """The record of a row.

    `hops` is the number of decomposition steps, `supporting` follows their order, and `type` is the row's own `type` or
    else the prefix of its id ("2hop", "3hop1").

    Raises:
        UserError: The row does not fit.
    """
    fields = fitted(_Question, row, "MuSiQue's official")
    if not fields.answerable:
        raise UserError(
            f"{row.where}: field `answerable`: is false, so this is MuSiQue-Full, whose unanswerable questions have no "
            "gold; give a MuSiQue-Ans file"
        )
    by_idx: dict[int, Paragraph] = {}
    for position, paragraph in enumerate(fields.paragraphs):
        if paragraph.idx in by_idx:
            raise UserError(f"{row.where}: field `paragraphs.{position}.idx`: {paragraph.idx} is used twice")
        by_idx[paragraph.idx] = Paragraph(paragraph.title, paragraph.paragraph_text)

    supporting: list[Paragraph] = []
    hops: list[SubQuestion] = []
    for position, hop in enumerate(fields.question_decomposition):
        support = None
        if hop.paragraph_support_idx is not None:
            if hop.paragraph_support_idx not in by_idx:
                raise UserError(
                    f"{row.where}: field `question_decomposition.{position}.paragraph_support_idx`: no paragraph has "
                    f"idx {hop.paragraph_support_idx}"
                )
            gold = by_idx[hop.paragraph_support_idx]
            if gold not in supporting:
                supporting.append(gold)
            support = supporting.index(gold)
        hops.append(SubQuestion(hop.question, hop.answer, support, hop.subject))
    # Paragraphs marked as supporting that no hop points to come last, in the row's order.
    for paragraph in fields.paragraphs:
        if paragraph.is_supporting and by_idx[paragraph.idx] not in supporting:
            supporting.append(by_idx[paragraph.idx])

    return BenchmarkQuestion(
        id=fields.id,
        question=fields.question,
        answer=fields.answer,
        aliases=tuple(fields.answer_aliases),
        hops=len(hops),
        type=fields.type or fields.id.split("_", 1)[0],
        supporting=tuple(supporting),
        decomposition=tuple(hops),
        context=tuple(by_idx.values()),
    )
