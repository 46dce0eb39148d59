"""The one record that every benchmark layout is read into.

An adapter (one a layout) turns a row into a `BenchmarkQuestion`; everything after it (evaluation, metrics, demo) knows
only this type. Records are frozen and hold no reference to the file that they came from.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import dspy


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A passage as the benchmark has it. Titles may repeat, so a passage is known by title and text together.

    `text` is blank where the layout names a gold passage by its title alone.
    """

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class SubQuestion:
    """One hop of a question's decomposition.

    Attributes:
        question: The sub-question; `#1` stands for the answer of the first hop, `#2` of the second, and so on.
        answer: Its gold answer.
        support: Position, in the question's `supporting`, of the paragraph that states it; None where not annotated.
        subject: The entity that it asks about, by name or as `#1`; None where the layout does not say.
    """

    question: str
    answer: str
    support: int | None
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class BenchmarkQuestion:
    """A question with its gold answer and evidence.

    Attributes:
        id: Unique within the benchmark.
        question: What is asked.
        answer: The gold answer; never blank.
        aliases: Other accepted forms of the answer.
        hops: How many hops the benchmark counts.
        type: The benchmark's own word for the kind of question ("bridge", "comparison", "3hop1", …).
        supporting: The gold paragraphs, each once; in the order of the hops where the layout gives one.
        decomposition: The gold sub-questions; empty where the layout has none.
        context: The paragraphs that the benchmark shows with the question, gold ones and distractors, in its order.
    """

    id: str
    question: str
    answer: str
    aliases: tuple[str, ...]
    hops: int
    type: str
    supporting: tuple[Paragraph, ...]
    decomposition: tuple[SubQuestion, ...]
    context: tuple[Paragraph, ...]

    @property
    def answers(self) -> list[str]:
        """The gold answer, then its aliases."""
        return [self.answer, *self.aliases]

    def example(self, benchmark: str = "") -> dspy.Example:
        """A new `dspy.Example` whose one input is `question`; the rest is what metrics read.

        It carries `benchmark` (the kind, whose official rules scores follow), `id`, `question`, `answer`, `answers`,
        `hops`, `type`, `supporting` (dicts of title and text) and `decomposition` (dicts of the fields of
        `SubQuestion`); the context is left out, for retrieval is the task.
        """
        import dspy

        return dspy.Example(
            benchmark=benchmark,
            id=self.id,
            question=self.question,
            answer=self.answer,
            answers=self.answers,
            hops=self.hops,
            type=self.type,
            supporting=[asdict(paragraph) for paragraph in self.supporting],
            decomposition=[asdict(hop) for hop in self.decomposition],
        ).with_inputs("question")
