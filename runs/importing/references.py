"""Which passages of the index predictions name: by id, or by text under the rules of gold mapping.

A text is found as a gold paragraph is (`benchmarks.gold_finder`): whole, white space aside, under its title where it
has one; where the corpus is in chunks by its first 40 characters. A text whose first line is the title is tried so too.
Of several passages that fit equally the first by id is taken. What fits nothing is counted, never guessed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import UserError
from ..benchmarks.gold_finder import GoldFinder
from ..benchmarks.record import BenchmarkQuestion, Paragraph
from .prediction import Prediction, Reference

if TYPE_CHECKING:
    from ...retrievers.index import Index


@dataclass(frozen=True)
class References:
    """The passages that a file's predictions name.

    Attributes:
        passage_ids: By reference, each that has a passage.
        unmapped: Those that have none, in the order of the file.
        ambiguous: How many fit several passages equally.
    """

    passage_ids: dict[Reference, str]
    unmapped: tuple[Reference, ...]
    ambiguous: int

    @property
    def total(self) -> int:
        """How many different references there are."""
        return len(self.passage_ids) + len(self.unmapped)


def map_references(predictions: Iterable[Prediction], index: Index, where: str) -> References:
    """Map what predictions retrieved.

    Args:
        predictions: Whose.
        index: The passages.
        where: What to call the file.

    Raises:
        UserError: There are references, and the index has not one of them.
    """
    wanted = dict.fromkeys(
        reference
        for one in predictions
        for reference in (*(each for search in one.searches for each in search.found), *one.retrieved)
    )
    texts = [one for one in wanted if not one.id]
    finder = _finder(texts, index)
    found: dict[Reference, str] = {}
    unmapped, ambiguous = [], 0
    for one in wanted:
        ids = ((one.id,) if one.id in index else ()) if one.id else _find(one, finder)
        if ids:
            found[one] = ids[0]
            ambiguous += len(ids) > 1
        else:
            unmapped.append(one)
    if wanted and not found:
        kind, remedy = ("texts", "") if texts else ("ids", "; if they are texts, say --retrieved-are texts")
        raise UserError(
            f"{where}: none of the {len(wanted):,} retrieved passage {kind} (such as {shown(unmapped[0])}) is in index "
            f"{index.path}; give the index of the corpus that was searched{remedy}"
        )
    return References(found, tuple(unmapped), ambiguous)


def shown(reference: Reference) -> str:
    """A reference in a message."""
    return repr((reference.id or reference.title or reference.text)[:40])


def _paragraphs(one: Reference) -> list[Paragraph]:
    """What a text may be: itself under its title, or, without one, its first line the title of the rest."""
    if not one.text.strip():
        return []
    readings = [Paragraph(one.title, one.text)]
    head, _, rest = one.text.partition("\n")
    if not one.title.strip() and head.strip() and rest.strip():
        readings.append(Paragraph(head.strip(), rest))
    return readings


def _finder(texts: list[Reference], index: Index) -> GoldFinder:
    supporting = tuple(paragraph for one in texts for paragraph in _paragraphs(one))
    asked = BenchmarkQuestion("", "", "", (), 0, "", supporting, (), ())
    return GoldFinder(index.passages if texts else (), [asked], str(index.path))


def _find(one: Reference, finder: GoldFinder) -> tuple[str, ...]:
    return next((ids for paragraph in _paragraphs(one) if (ids := finder.find(paragraph))), ())
