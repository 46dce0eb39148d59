"""Gold mapping: which passage of a corpus is each supporting paragraph of a benchmark.

- By title and text, white space aside, where the corpus holds whole paragraphs. Titles alone may repeat.
- By title, where the layout gives only titles; refused where such a title repeats in the corpus.
- By fingerprint, the first 40 characters with white space folded (a shorter text whole), where the corpus is in chunks:
  of several chunks that hold it those whose title agrees, of these the one that goes on with most of the paragraph.

What cannot be mapped is listed, never dropped in silence, and so is what more than one passage fits equally; the first
of these by id is then taken.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import UserError
from ...metrics.record import GoldPassage
from .record import BenchmarkQuestion, Paragraph

if TYPE_CHECKING:
    import dspy

    from ...retrievers.index import Index
    from ...retrievers.passage import Passage

#: Characters by which a paragraph is found in chunks.
FINGERPRINT = 40

_BEGINNING = re.compile(r"(?<!\w)(?=\S)")


@dataclass(frozen=True, slots=True)
class GoldDoubt:
    """A supporting paragraph that no passage fits, or several.

    Attributes:
        question_id: Whose.
        title: The paragraph's.
        passage_ids: What fits: none, or several, of which the first is taken.
    """

    question_id: str
    title: str
    passage_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class GoldMapping:
    """The gold of a benchmark's questions in one corpus.

    Attributes:
        by_question: For each question id, its supporting paragraphs in their order.
        unmapped: Those that no passage fits.
        ambiguous: Those that several fit.
    """

    by_question: Mapping[str, tuple[GoldPassage, ...]]
    unmapped: tuple[GoldDoubt, ...]
    ambiguous: tuple[GoldDoubt, ...]

    @property
    def total(self) -> int:
        """How many supporting paragraphs the questions have, counted a question."""
        return sum(len(gold) for gold in self.by_question.values())

    @property
    def mapped(self) -> int:
        """How many of them have a passage."""
        return self.total - len(self.unmapped)

    @property
    def coverage(self) -> float:
        """The share that has a passage, 0 to 1; 1 where the benchmark has no gold paragraphs at all."""
        return self.mapped / self.total if self.total else 1.0

    @property
    def without_gold(self) -> int:
        """How many questions the benchmark gives no supporting paragraph for."""
        return sum(not gold for gold in self.by_question.values())

    def passages_of(self, question: BenchmarkQuestion) -> tuple[GoldPassage, ...]:
        """The question's supporting paragraphs in their order, each with its passage or None.

        Raises:
            KeyError: The question was not mapped.
        """
        return self.by_question[question.id]

    def gold_ids(self, question_id: str) -> tuple[str, ...]:
        """The mapped passages of a question, each once, in the order of the paragraphs."""
        gold = self.by_question[question_id]
        return tuple(dict.fromkeys(one.passage_id for one in gold if one.passage_id is not None))

    def with_gold_ids(self, examples: Iterable[dspy.Example]) -> list[dspy.Example]:
        """The examples with their `gold_ids`, which the evidence metrics read."""
        return [example.copy(gold_ids=list(self.gold_ids(example.id))) for example in examples]


def map_gold(questions: Iterable[BenchmarkQuestion], corpus: Index | Iterable[Passage], where: str = "") -> GoldMapping:
    """Map the supporting paragraphs of questions.

    Args:
        questions: Whose gold.
        corpus: An index, or its passages.
        where: What to call the corpus in an error; default: the index's folder.

    Raises:
        UserError: The layout gives only titles, and one that is wanted repeats in the corpus.
    """
    questions = list(questions)
    passages: Any = getattr(corpus, "passages", corpus)
    finder = _Finder(passages, questions, where or str(getattr(corpus, "path", "the corpus")))
    found = {gold: finder.find(gold) for gold in dict.fromkeys(one for each in questions for one in each.supporting)}
    by_question: dict[str, tuple[GoldPassage, ...]] = {}
    unmapped: list[GoldDoubt] = []
    ambiguous: list[GoldDoubt] = []
    for question in questions:
        mapped = []
        for gold in question.supporting:
            ids = found[gold]
            mapped.append(GoldPassage(title=gold.title, passage_id=ids[0] if ids else None))
            if len(ids) != 1:
                (ambiguous if ids else unmapped).append(GoldDoubt(question.id, gold.title, ids))
        by_question[question.id] = tuple(mapped)
    return GoldMapping(by_question, tuple(unmapped), tuple(ambiguous))


class _Finder:
    """Passages by what a gold paragraph is looked up with; only what the questions can ask for is kept."""

    def __init__(self, passages: Iterable[Passage], questions: Sequence[BenchmarkQuestion], where: str) -> None:
        gold = {one for question in questions for one in question.supporting}
        wanted, titles = {_key(one.title, one.text) for one in gold if one.text}, {one.title.strip() for one in gold}
        self._where = where
        self._exact: dict[tuple[str, str], list[str]] = defaultdict(list)
        self._titled: dict[str, list[str]] = defaultdict(list)
        chunks: list[Passage] = []
        for passage in passages:
            key = _key(passage.title, passage.text)
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
        """The ids of the passages that fit best, in order: none, one, or several that fit equally."""
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
