"""Which layout a question file has: told from the fields of its first row, among those of its kind of benchmark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...errors import UserError
from .arag import arag_question
from .hipporag import paragraphs_question, titles_question
from .hotpotqa import hotpotqa_question, two_wiki_question
from .musique import musique_question
from .record import BenchmarkQuestion
from .source_rows import SourceRow


@dataclass(frozen=True, slots=True)
class Layout:
    """A way to write a question down.

    Attributes:
        name: Whose.
        fields: The fields that tell it from the others.
        read: Its adapter.
    """

    name: str
    fields: tuple[str, ...]
    read: Callable[[SourceRow], BenchmarkQuestion]


_MUSIQUE = Layout("MuSiQue's official", ("paragraphs", "question_decomposition"), musique_question)
_HOTPOTQA = Layout("HotpotQA's official", ("context", "supporting_facts"), hotpotqa_question)
_2WIKI = Layout("2WikiMultiHopQA's official", ("context", "supporting_facts"), two_wiki_question)
_PARAGRAPHS = Layout("HippoRAG's", ("paragraphs",), paragraphs_question)
_TITLES = Layout("supporting titles", ("supporting_titles",), titles_question)
_ARAG = Layout("A-RAG's", ("question", "answer"), arag_question)

LAYOUTS: dict[str, tuple[Layout, ...]] = {
    "musique": (_MUSIQUE, _PARAGRAPHS, _TITLES, _ARAG),
    "hotpotqa": (_HOTPOTQA, _PARAGRAPHS, _TITLES, _ARAG),
    "2wiki": (_2WIKI, _PARAGRAPHS, _TITLES, _ARAG),
    "arag": (_ARAG,),
}
#: Fields that only another layout has, by kind: with them a row is never taken for A-RAG's, which has few of its own.
_SIGNS = ("context", "paragraphs", "supporting_facts", "supporting_titles", "question_decomposition", "text")


def layout_of(kind: str, row: SourceRow) -> Layout:
    """The layout of a row.

    Raises:
        UserError: It has none of its kind's (the message names the fields that each expects), is of another kind, or
            has no gold answer.
    """
    _refuse_other_kind(kind, row)
    if "question" in row.fields and row.fields.get("answer") is None:
        raise UserError(
            f"{row.where}: field `answer`: is missing; test splits are published without gold answers, so give the dev "
            "split"
        )
    for layout in LAYOUTS[kind]:
        if all(field in row.fields for field in layout.fields) and not (layout is _ARAG and _foreign(row)):
            return layout
    expected = "; ".join(f"{layout.name}: {', '.join(layout.fields)}" for layout in LAYOUTS[kind])
    has = ", ".join(sorted(row.fields)[:12]) or "none"
    raise UserError(f"{row.where}: the row fits no layout of {kind} ({expected}); its fields are: {has}")


def _foreign(row: SourceRow) -> bool:
    return any(sign in row.fields for sign in _SIGNS)


def _refuse_other_kind(kind: str, row: SourceRow) -> None:
    """The layouts of HotpotQA and 2WikiMultiHopQA differ in what they add, and MuSiQue's in everything."""
    fields = row.fields
    other = ""
    if kind == "hotpotqa" and "evidences" in fields:
        other = "2wiki"
    elif kind == "2wiki" and "level" in fields and "evidences" not in fields:
        other = "hotpotqa"
    elif kind in {"hotpotqa", "2wiki"} and "question_decomposition" in fields:
        other = "musique"
    elif kind == "musique" and "context" in fields and "supporting_facts" in fields:
        other = "2wiki" if "evidences" in fields else "hotpotqa"
    if other:
        raise UserError(f"{row.where}: these are questions of {other}, not of {kind}; give the file as {other}:FILE")


def read_questions(kind: str, rows: Sequence[SourceRow]) -> list[tuple[str, BenchmarkQuestion]]:
    """The records of all rows with their places; every row must have the layout of the first."""
    layout = layout_of(kind, rows[0])
    return [(row.where, layout.read(row)) for row in rows]
