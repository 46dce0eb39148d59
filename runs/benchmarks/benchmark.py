"""A benchmark: two splits of questions and the corpus over which they are answered."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ...errors import UserError
from .record import BenchmarkQuestion, Paragraph

if TYPE_CHECKING:
    import dspy

    from ...retrievers.passage import Passage


@dataclass(frozen=True)
class Benchmark:
    """Questions and passages, read once and never changed.

    Attributes:
        name: What reports call it.
        train: Questions for optimising prompts; may be empty.
        dev: Questions for measuring.
        passages: Its own corpus, or the pooled contexts of its questions, in the benchmark's order.
        prefix: How its passage ids begin.
        kind: Whose official rules score it (`musique`, `hotpotqa`, `2wiki`, `minihop`, `arag`).
        digest: SHA-256 of the question files.
        split: What `dev` holds: "train" where the file's name says so.
        corpus_file: The passages of a corpus file that stands in for `passages`; empty where none was given.
    """

    name: str
    train: tuple[BenchmarkQuestion, ...]
    dev: tuple[BenchmarkQuestion, ...]
    passages: tuple[Paragraph, ...]
    prefix: str
    kind: str = ""
    digest: str = ""
    split: str = "dev"
    corpus_file: tuple[Passage, ...] = ()

    @property
    def trainset(self) -> list[dspy.Example]:
        """The train split as new `dspy.Example`s, in its order."""
        return [question.example(self.kind) for question in self.train]

    @property
    def devset(self) -> list[dspy.Example]:
        """The dev split as new `dspy.Example`s, in its order."""
        return [question.example(self.kind) for question in self.dev]

    @property
    def corpus(self) -> list[tuple[str, str, str]]:
        """The passages as (id, title, text), each once, in the benchmark's order; those of the corpus file if given."""
        if self.corpus_file:
            return [(passage.id, passage.title, passage.text) for passage in self.corpus_file]
        rows = {self.passage_id(passage): (passage.title, passage.text) for passage in self.passages}
        return [(passage_id, title, text) for passage_id, (title, text) in rows.items()]

    def passage_id(self, paragraph: Paragraph) -> str:
        """The id of a passage in `corpus`: the same on every machine, and telling nothing of order or content."""
        content = f"{paragraph.title}\n{paragraph.text}".encode("utf-8", "backslashreplace")
        return f"{self.prefix}-{hashlib.sha256(content).hexdigest()[:12]}"

    def question(self, question_id: str) -> BenchmarkQuestion:
        """The question of that id, from either split.

        Raises:
            UserError: The benchmark has no such question.
        """
        if question_id not in self._by_id:
            example = next(iter(self._by_id), "")
            raise UserError(f"{self.name} has no question {question_id!r}; its ids look like {example!r}")
        return self._by_id[question_id]

    @cached_property
    def _by_id(self) -> dict[str, BenchmarkQuestion]:
        return {question.id: question for question in (*self.dev, *self.train)}
