"""HotpotQA's official layout, and 2WikiMultiHopQA's, which adds `evidences` to it.

A row holds `_id` (`id` in the hub's dataset), `question`, `answer`, `type`, `context` (pairs of a title and a list of
sentences) and `supporting_facts` (pairs of a title and a sentence number). Gold are the paragraphs that a supporting
fact names; which sentence it was is not kept, so that a number past the paragraph's end, which real files have, does no
harm. HotpotQA's sentences begin with their own space and are joined as they are; 2WikiMultiHopQA's are joined by one.
A supporting title that the context lacks (the full-wiki setting) becomes a gold paragraph known by its title only.
"""

from __future__ import annotations

from typing import Any

from pydantic import AliasChoices, Field, field_validator

from .evidences import Evidence, from_evidences
from .record import BenchmarkQuestion, Paragraph
from .source_rows import Filled, RowModel, SourceRow, Text, fitted


class _Context(RowModel):
    title: Text
    sentences: list[Text]


class _Fact(RowModel):
    title: Text
    sentence: int


class _Question(RowModel):
    id: Filled = Field(validation_alias=AliasChoices("_id", "id"))
    question: Filled
    answer: Filled
    answer_aliases: list[Filled] = Field(default_factory=list)
    type: Filled | None = None
    context: list[_Context] = Field(min_length=1)
    supporting_facts: list[_Fact] = Field(min_length=1)
    evidences: list[Evidence] = Field(default_factory=list)

    @field_validator("context", mode="before")
    @classmethod
    def _titled(cls, value: Any) -> Any:
        return _named(value, "title", "sentences")

    @field_validator("supporting_facts", mode="before")
    @classmethod
    def _counted(cls, value: Any) -> Any:
        return _named(value, "title", "sentence")


def _named(value: Any, *names: str) -> Any:
    """Pairs as objects, so that a field in them can be named; anything else is left for the check to refuse."""
    if not isinstance(value, list):
        return value
    return [dict(zip(names, one, strict=True)) if _is_pair(one) else one for one in value]


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2


def hotpotqa_question(row: SourceRow) -> BenchmarkQuestion:
    """The record of a HotpotQA row; `hops` is the number of distinct supporting paragraphs.

    Raises:
        UserError: The row does not fit.
    """
    return _record(row, "HotpotQA's official", "")


def two_wiki_question(row: SourceRow) -> BenchmarkQuestion:
    """The record of a 2WikiMultiHopQA row; the decomposition comes from its `evidences`.

    Raises:
        UserError: The row does not fit.
    """
    return _record(row, "2WikiMultiHopQA's official", " ")


def _record(row: SourceRow, layout: str, joint: str) -> BenchmarkQuestion:
    fields = fitted(_Question, row, layout)
    context = [(Paragraph(one.title, joint.join(one.sentences)), len(one.sentences)) for one in fields.context]
    named: dict[str, int] = {}
    for fact in fields.supporting_facts:
        named[fact.title] = max(fact.sentence, named.get(fact.title, 0))
    gold = dict.fromkeys(_gold(title, sentence, context) for title, sentence in named.items())
    supporting, hops = from_evidences(fields.evidences, list(gold))
    return BenchmarkQuestion(
        id=fields.id,
        question=fields.question,
        answer=fields.answer,
        aliases=tuple(fields.answer_aliases),
        hops=len(supporting),
        type=fields.type or "",
        supporting=supporting,
        decomposition=hops,
        context=tuple(paragraph for paragraph, _ in context if paragraph.text.strip()),
    )


def _gold(title: str, sentence: int, context: list[tuple[Paragraph, int]]) -> Paragraph:
    """The paragraph of that title; of several, the first that has the sentence, else the first."""
    found = [(paragraph, length) for paragraph, length in context if paragraph.title == title]
    for paragraph, length in found:
        if sentence < length and paragraph.text.strip():
            return paragraph
    return next((paragraph for paragraph, _ in found if paragraph.text.strip()), Paragraph(title, ""))
