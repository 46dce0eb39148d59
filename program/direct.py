"""`direct`: the LM alone, no retrieval. What a benchmark's questions are worth to a model that may know the answers."""

from collections.abc import Sequence
from typing import Any

import dspy

from ..retrievers.index import Index
from ..signatures.answer_directly import AnswerDirectly
from .baseline import Baseline, Gathering
from .question import QuestionState
from .transcript import Transcript


class Direct(Baseline):
    """Answers from what the LM knows. The index is taken so that all systems are made alike; it is never searched."""

    def __init__(self, index: Index, **settings: Any) -> None:
        super().__init__(index, **settings)
        self.answer = dspy.Predict(AnswerDirectly)

    def gather(self, state: QuestionState, question: str, transcript: Transcript) -> Gathering:
        """Gather nothing."""
        yield from ()
        return "answered"

    def answer_inputs(self, question: str, transcript: Transcript, shown: Sequence[str]) -> dict[str, str]:
        """The question alone."""
        return {"question": question}
