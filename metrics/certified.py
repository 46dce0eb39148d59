"""Certified reachable: gold passages that one system missed and another's searches retrieved.

Two systems' records on the same questions; that both searched the same index at the same k is for the caller to see
to. A passage counts as missed where no tool returned it, and as certified where a semantic or keyword search of the
other returned it; where only another tool did (a read, or the graph search of `graph-rag`, which no agent could have
called), it is listed apart. One-sided: what neither found is not certified, never
"unreachable". A failed record has retrieved little or nothing, so an outage reads as misses; the caller says so.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from .record import QuestionRecord

SEARCHES = ("semantic_search", "keyword_search")


@dataclass(frozen=True, slots=True)
class CertifiedPassage:
    """A gold passage that was missed, and what first brought it to the other: query, tool, loop, rank from 1."""

    question_id: str
    passage_id: str
    title: str
    tool: str
    query: str
    loop: int
    rank: int


@dataclass(frozen=True, slots=True)
class Certified:
    """What one system missed and another retrieved.

    Attributes:
        by_search: Those that a search of the other returned, by its first such search.
        by_read: Those that only another tool of the other returned: a read, or a graph search.
    """

    by_search: tuple[CertifiedPassage, ...]
    by_read: tuple[CertifiedPassage, ...]

    def of_questions(self, question_ids: Collection[str]) -> "Certified":
        """Those of some questions only, such as the ones that the first system got wrong."""
        return Certified(
            tuple(one for one in self.by_search if one.question_id in question_ids),
            tuple(one for one in self.by_read if one.question_id in question_ids),
        )


def certified(missing: Iterable[QuestionRecord], finding: Iterable[QuestionRecord]) -> Certified:
    """The gold passages that `missing` did not retrieve and `finding` did, in the order of `missing` and of its gold.

    Questions that only one of the two has are left out.
    """
    others = {record.id: record for record in finding}
    by_search: list[CertifiedPassage] = []
    by_read: list[CertifiedPassage] = []
    for record in missing:
        other = others.get(record.id)
        if other is None:
            continue
        had = set(record.retrieved_ids)
        titles = {gold.passage_id: gold.title for gold in reversed(record.gold)}
        for passage_id in record.gold_ids:
            if passage_id in had:
                continue
            found = _first(other, passage_id, titles[passage_id])
            if found is not None:
                (by_search if found.tool in SEARCHES else by_read).append(found)
    return Certified(tuple(by_search), tuple(by_read))


def _first(record: QuestionRecord, passage_id: str, title: str) -> CertifiedPassage | None:
    """The first search that returned the passage, else what else did; None where nothing did."""
    # A read may have brought it first and a search later: the trajectory knows both, `retrieved` only the first.
    for step in record.searches:
        if step.tool in SEARCHES:
            for found in step.found:
                if found.passage_id == passage_id:
                    return CertifiedPassage(record.id, passage_id, title, step.tool, step.query, step.loop, found.rank)
    for one in record.retrieved:
        if one.passage_id == passage_id:
            return CertifiedPassage(record.id, passage_id, title, one.tool, one.query, one.loop, one.rank)
    return None
