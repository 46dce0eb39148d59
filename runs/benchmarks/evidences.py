"""2WikiMultiHopQA's `evidences`: triples of subject, relation and object, read as the hops of a question.

A hop asks `subject >> relation`, as MuSiQue words its own, and its answer is the object. Its gold paragraph is the
supporting one titled as the subject, with or without a remark in brackets ("Get Low (song)"); where none or several
are, the hop has no annotated paragraph. Triples with a blank part are left out, for nothing can be asked of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .record import Paragraph, SubQuestion
from .source_rows import Text

Evidence = list[Text]
"""Subject, relation, object."""

_REMARK = re.compile(r"\s*\([^()]*\)\s*$")


def from_evidences(
    evidences: Sequence[Evidence], gold: Sequence[Paragraph]
) -> tuple[tuple[Paragraph, ...], tuple[SubQuestion, ...]]:
    """The gold paragraphs in the order of the hops (those that no hop names come last), and the hops."""
    triples = [triple for triple in evidences if len(triple) == 3 and all(part.strip() for part in triple)]
    owners = [_titled(subject, gold) for subject, _, _ in triples]
    supporting = tuple(dict.fromkeys([*(owner for owner in owners if owner is not None), *gold]))
    hops = tuple(
        SubQuestion(
            question=f"{subject} >> {relation}",
            answer=value,
            support=None if owner is None else supporting.index(owner),
            subject=subject,
        )
        for (subject, relation, value), owner in zip(triples, owners, strict=True)
    )
    return supporting, hops


def _titled(subject: str, gold: Sequence[Paragraph]) -> Paragraph | None:
    exact = [paragraph for paragraph in gold if paragraph.title == subject]
    if exact:
        return exact[0]
    loose = [paragraph for paragraph in gold if _bare(paragraph.title) == _bare(subject)]
    return loose[0] if len(loose) == 1 else None


def _bare(title: str) -> str:
    return _REMARK.sub("", title).casefold()
