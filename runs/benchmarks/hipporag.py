"""The layouts of HippoRAG's question files.

Its MuSiQue, HotpotQA and 2WikiMultiHopQA files keep the official rows, in one JSON array. Two more are its own:
`paragraphs` with `title`, `text` (or `paragraph_text`) and `is_supporting`, without a decomposition; and
`supporting_titles`, where gold is known by title only and the passages stand in a `*_corpus.json`. `answer` may be a
list: the first is the answer, the others its aliases.
"""

from __future__ import annotations

from pydantic import AliasChoices, Field

from .evidences import Evidence, from_evidences
from .record import BenchmarkQuestion, Paragraph
from .source_rows import Answers, Filled, RowModel, SourceRow, Text, fitted


class _Asked(RowModel):
    id: Filled = Field(validation_alias=AliasChoices("_id", "id"))
    question: Filled
    answer: Answers = Field(min_length=1)
    answer_aliases: list[Filled] = Field(default_factory=list)
    type: Filled | None = None
    evidences: list[Evidence] = Field(default_factory=list)


class _Paragraph(RowModel):
    title: Text
    text: Filled = Field(validation_alias=AliasChoices("text", "paragraph_text"))
    is_supporting: bool


class _WithParagraphs(_Asked):
    paragraphs: list[_Paragraph] = Field(min_length=1)


class _WithTitles(_Asked):
    supporting_titles: list[Filled] = Field(min_length=1)


def paragraphs_question(row: SourceRow) -> BenchmarkQuestion:
    """The record of a row that marks its supporting paragraphs; `hops` is the number of distinct ones.

    Raises:
        UserError: The row does not fit.
    """
    fields = fitted(_WithParagraphs, row, "HippoRAG's `paragraphs`")
    context = [(Paragraph(one.title, one.text), one.is_supporting) for one in fields.paragraphs]
    gold = list(dict.fromkeys(paragraph for paragraph, supports in context if supports))
    return _record(fields, gold, tuple(paragraph for paragraph, _ in context))


def titles_question(row: SourceRow) -> BenchmarkQuestion:
    """The record of a row that names its supporting titles; `hops` is the number of distinct ones.

    Raises:
        UserError: The row does not fit.
    """
    fields = fitted(_WithTitles, row, "the `supporting_titles`")
    return _record(fields, [Paragraph(title, "") for title in dict.fromkeys(fields.supporting_titles)], ())


def _record(fields: _Asked, gold: list[Paragraph], context: tuple[Paragraph, ...]) -> BenchmarkQuestion:
    supporting, hops = from_evidences(fields.evidences, gold)
    return BenchmarkQuestion(
        id=fields.id,
        question=fields.question,
        answer=fields.answer[0],
        aliases=(*fields.answer[1:], *fields.answer_aliases),
        hops=len(supporting),
        type=fields.type or "",
        supporting=supporting,
        decomposition=hops,
        context=context,
    )
