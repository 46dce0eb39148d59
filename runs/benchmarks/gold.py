"""Gold mapping: which passage of a corpus is each supporting paragraph of a benchmark (`gold_finder` has the rules).

What cannot be mapped is listed, never dropped in silence, and so is what more than one passage fits equally; the first
of these by id is then taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...metrics.record import GoldPassage
from .gold_finder import GoldFinder
from .record import BenchmarkQuestion

if TYPE_CHECKING:
    import dspy

    from ...retrievers.index import Index
    from ...retrievers.passage import Passage


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
    finder = GoldFinder(passages, questions, where or str(getattr(corpus, "path", "the corpus")))
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
