"""A-RAG's layout: `questions.json` beside `chunks.json`.

A question holds `id`, `question`, `answer` (a text, or a list of accepted ones) and optionally `question_type`,
`source` and `evidence`. Evidence is a text, a list of texts, a list of [title, text] pairs or of objects with `title`
and `text`, or the title-less first line of one; it may be missing or empty, and the question then has no gold. The
chunks have no titles, so evidence is mapped to them by its first characters.
"""

from __future__ import annotations

from typing import Any

from pydantic import AliasChoices, Field, field_validator

from .record import BenchmarkQuestion, Paragraph
from .source_rows import Answers, Filled, RowModel, SourceRow, Text, fitted


class _Evidence(RowModel):
    title: Text = ""
    text: Text


class _Question(RowModel):
    id: Filled = Field(validation_alias=AliasChoices("id", "_id"))
    question: Filled
    answer: Answers = Field(min_length=1)
    answer_aliases: list[Filled] = Field(default_factory=list)
    question_type: Text | None = None
    source: Text | None = None
    evidence: list[_Evidence] = Field(default_factory=list)

    @field_validator("evidence", mode="before")
    @classmethod
    def _evidence(cls, value: Any) -> Any:
        if value is None:
            return []
        return [_paragraph(one) for one in (value if isinstance(value, list) else [value])]


def _paragraph(one: Any) -> Any:
    if isinstance(one, str):
        return {"text": one}
    if isinstance(one, list) and len(one) == 2 and all(isinstance(part, str) for part in one):
        return {"title": one[0], "text": one[1]}
    return one


def arag_question(row: SourceRow) -> BenchmarkQuestion:
    """The record of a row; `hops` is the number of distinct pieces of evidence, 0 where it gives none.

    Raises:
        UserError: The row does not fit.
    """
    fields = fitted(_Question, row, "A-RAG's questions.json")
    evidence = [Paragraph(one.title, one.text) for one in fields.evidence if one.text.strip() or one.title.strip()]
    supporting = tuple(dict.fromkeys(evidence))
    return BenchmarkQuestion(
        id=fields.id,
        question=fields.question,
        answer=fields.answer[0],
        aliases=(*fields.answer[1:], *fields.answer_aliases),
        hops=len(supporting),
        type=fields.question_type or fields.source or "",
        supporting=supporting,
        decomposition=(),
        context=(),
    )
