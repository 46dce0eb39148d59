"""What systems are asked: a benchmark's questions over an index, with their gold passages in it.

Loaded once, however many systems answer it, so that all of them are asked the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UserError
from ..metrics.record import GoldPassage
from .benchmarks.benchmark import Benchmark
from .benchmarks.gold import GoldMapping, map_gold
from .benchmarks.load import load_benchmark
from .benchmarks.record import BenchmarkQuestion

if TYPE_CHECKING:
    from ..retrievers.index import Index


@dataclass(frozen=True)
class Asked:
    """Questions, what is searched for them, and their gold.

    Attributes:
        benchmark: Whose questions.
        questions: Those that are asked, in the benchmark's order.
        index: What is searched.
        mapping: The gold passages of all the benchmark's questions in that index.
    """

    benchmark: Benchmark
    questions: tuple[BenchmarkQuestion, ...]
    index: Index
    mapping: GoldMapping

    @classmethod
    def load(
        cls,
        benchmark: str,
        index: Path,
        *,
        limit: int | None = None,
        per_hops: int | None = None,
        allow_missing_gold: bool = False,
    ) -> Asked:
        """Read benchmark and index.

        Args:
            benchmark: What a person types: `minihop`, `musique:FILE` and so on.
            index: The index's folder.
            limit: The first so many questions.
            per_hops: The first so many questions of each hop count; before `limit`.
            allow_missing_gold: Go on where gold passages are missing from the index.

        Raises:
            UserError: One of them cannot be read, or the index lacks gold passages and that is not allowed.
        """
        from ..retrievers.index import Index

        read = load_benchmark(benchmark)
        opened = Index.load(index)
        mapping = map_gold(read.dev, opened)
        if mapping.unmapped and not allow_missing_gold:
            first = mapping.unmapped[0]
            raise UserError(
                f"{index}: {len(mapping.unmapped):,} of the {mapping.total:,} gold passages of {benchmark} are "
                f"not in it (the first: {first.title!r} of question {first.question_id}); index the benchmark's own "
                "corpus, or go on with --allow-missing-gold"
            )
        return cls(read, tuple(choose(read.dev, limit, per_hops)), opened, mapping)

    @property
    def encoder(self) -> str:
        """The index's encoder by name; of one in a folder the folder's name, for a path is a machine's."""
        name = self.index.encoder_name
        return Path(name).name if Path(name).is_absolute() else name

    def gold_of(self, questions: Iterable[BenchmarkQuestion]) -> Mapping[str, Sequence[GoldPassage]]:
        """The gold passages of questions, by question id."""
        return {question.id: self.mapping.passages_of(question) for question in questions}


def choose(questions: Iterable[BenchmarkQuestion], limit: int | None, per_hops: int | None) -> list[BenchmarkQuestion]:
    """The first `per_hops` questions of each hop count, of these the first `limit`, in the benchmark's order."""
    chosen, of_hops = [], dict[int, int]()
    for question in questions:
        of_hops[question.hops] = of_hops.get(question.hops, 0) + 1
        if per_hops is None or of_hops[question.hops] <= per_hops:
            chosen.append(question)
    return chosen if limit is None else chosen[:limit]
