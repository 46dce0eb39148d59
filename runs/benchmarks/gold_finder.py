"""How a supporting paragraph is found among the passages of a corpus.

- By title and text, white space aside, where the corpus holds whole paragraphs. Titles alone may repeat.
- By title, where the layout gives only titles; refused where such a title repeats in the corpus.
- By fingerprint, the first 40 characters with white space folded (a shorter text whole), where the corpus is in chunks:
  of several chunks that hold it those whose title agrees, of these the one that goes on with most of the paragraph.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...errors import UserError
from .record import BenchmarkQuestion, Paragraph

if TYPE_CHECKING:
    from ...retrievers.passage import Passage

#: Characters by which a paragraph is found in chunks.
FINGERPRINT = 40

_BEGINNING = re.compile(r"(?<!\w)(?=\S)")


class GoldFinder:
    """Passages by what a gold paragraph is looked up with; only what the questions can ask for is kept."""

    def __init__(self, passages: Iterable[Passage], questions: Sequence[BenchmarkQuestion], where: str) -> None:
        """Read the passages once; `where` is what errors call them."""
        gold = {one for question in questions for one in question.supporting}
        wanted, titles = {_key(one.title, one.text) for one in gold if one.text}, {one.title.strip() for one in gold}
        self._where = where
        self._exact: dict[tuple[str, str], list[str]] = defaultdict(list)
        self._titled: dict[str, list[str]] = defaultdict(list)
        chunks: list[Passage] = []
        for passage in passages:
            # A gold text without a title is itself under any title.
            for key in dict.fromkeys((_key(passage.title, passage.text), _key("", passage.text))):
                if key in wanted:
                    self._exact[key].append(passage.id)
            if passage.title.strip() in titles:
                self._titled[passage.title.strip()].append(passage.id)
            # In chunks: a piece of a longer document, or a text whose title was lost when it was cut.
            if passage.document != passage.id or not passage.title.strip():
                chunks.append(passage)
        left = {one for one in gold if one.text.strip() and _key(one.title, one.text) not in self._exact}
        self._hits = _find_prints({_fold(one.text)[:FINGERPRINT] for one in left}, chunks)

    def find(self, gold: Paragraph) -> tuple[str, ...]:
        """The ids of the passages that fit best, in order: none, one, or several that fit equally.

        Raises:
            UserError: The paragraph is known by title only, and several passages have that title.
        """
        if not gold.text.strip():
            ids = self._titled[gold.title.strip()]
            if len(ids) > 1:
                raise UserError(
                    f"{self._where}: {len(ids)} passages are titled {gold.title!r}, and the benchmark names its gold "
                    "by title alone; give a corpus whose titles are unique, in whole passages"
                )
            return tuple(ids)
        exact = self._exact.get(_key(gold.title, gold.text))
        if exact:
            return tuple(sorted(exact))
        return self._by_fingerprint(gold)

    def _by_fingerprint(self, gold: Paragraph) -> tuple[str, ...]:
        text = _fold(gold.text)
        hits = self._hits.get(text[:FINGERPRINT], [])
        agreeing = [hit for hit in hits if _title_agrees(gold.title, hit)] or hits
        overlaps: dict[str, int] = defaultdict(int)
        for hit in agreeing:
            overlaps[hit.passage.id] = max(overlaps[hit.passage.id], _shared(text, hit.text[hit.start :]))
        best = max(overlaps.values(), default=0)
        return tuple(sorted(passage_id for passage_id, overlap in overlaps.items() if overlap == best))


class _Hit(NamedTuple):
    """A chunk that holds a fingerprint: its folded text, and where in it the fingerprint begins."""

    passage: Passage
    text: str
    start: int


def _find_prints(prints: set[str], chunks: Sequence[Passage]) -> dict[str, list[_Hit]]:
    """For each fingerprint, where chunks hold it."""
    hits: dict[str, list[_Hit]] = defaultdict(list)
    if not prints:
        return hits
    # Looked up by its first letters where a word can begin, not each in every chunk: that would take minutes.
    short = min(map(len, prints))
    starts: dict[str, list[str]] = defaultdict(list)
    for one in sorted(prints):
        starts[one[:short]].append(one)
    for passage in chunks:
        text = _fold(passage.text)
        for place in _BEGINNING.finditer(text):
            at = place.start()
            for one in starts.get(text[at : at + short], ()):
                if text.startswith(one, at):
                    hits[one].append(_Hit(passage, text, at))
    return hits


def _title_agrees(title: str, hit: _Hit) -> bool:
    """The chunk has that title; or it has none, and the words just before the text are it."""
    if hit.passage.title.strip():
        return hit.passage.title.strip() == title.strip()
    return bool(title.strip()) and hit.text[: hit.start].rstrip(" :.-").endswith(_fold(title))


def _shared(text: str, other: str) -> int:
    """How many characters two texts have in common from their beginning."""
    return next(
        (at for at, (one, two) in enumerate(zip(text, other, strict=False)) if one != two), min(len(text), len(other))
    )


def _key(title: str, text: str) -> tuple[str, str]:
    # White space goes altogether: exports of one paragraph differ in how its sentences are joined.
    return title.strip(), "".join(text.split())


def _fold(text: str) -> str:
    return " ".join(text.split())
