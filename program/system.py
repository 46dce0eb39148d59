"""What every system is: settings, one question's state made from them, and the two ways to call it."""

from typing import Any

import dspy

from ..retrievers.index import Index
from ..retrievers.session import SearchSession
from .budget import MAX_LOOPS, MAX_TOKENS, Limits
from .driver import Answering, adrive, drive
from .question import QuestionState, checked_question
from .window import lm_window


class System(dspy.Module):
    """A question-answering system over an index; it declares `answer` and says in `answering` how a question goes.

    One instance answers many questions at once, from many threads or tasks: all state of a question lives in objects
    made inside `forward`. The LM is whatever DSPy is configured with.

    Args:
        index: what is searched; shared, never copied.
        k: passages that a search returns.
        max_loops: loops a question may use.
        max_tokens: cumulative context tokens a question may use.
        context_window: the LM's window in tokens; read off the LM where it tells, else unlimited.
        deduplicate: whether a repeated query is answered from memory.
        parse_retries: how often a step is asked again after a reply that could not be read.
    """

    answer: dspy.Predict

    def __init__(
        self,
        index: Index,
        *,
        k: int = 5,
        max_loops: int = MAX_LOOPS,
        max_tokens: int = MAX_TOKENS,
        context_window: int | None = None,
        deduplicate: bool = True,
        parse_retries: int = 1,
    ) -> None:
        super().__init__()
        Limits(max_loops, max_tokens, context_window)  # refuses impossible limits now, not at the first question
        self.index = index
        self.k = k
        self.max_loops = max_loops
        self.max_tokens = max_tokens
        self.context_window = context_window
        self.deduplicate = deduplicate
        self.parse_retries = parse_retries

    def answering(self, state: QuestionState) -> Answering:
        """Answer one question: a generator that yields what it wants done and returns the prediction."""
        raise NotImplementedError

    def forward(self, question: str) -> dspy.Prediction:
        """Answer one question.

        Returns:
            A prediction with `answer`, `explanation`, `abstained`, `requirements` (empty without a register),
            `trajectory`, `retrieved_ids`, `citations`, `stop_reason` and `usage`.

        Raises:
            UsageError: the question is blank.
            dspy.LMConfigurationError: no usable LM is configured. Other failures end the question as `lm_error`.
        """
        return drive(self, self.answering(self._state(question)))

    async def aforward(self, question: str) -> dspy.Prediction:
        """`forward`, asynchronously; the same steps in the same order."""
        return await adrive(self, self.answering(self._state(question)))

    def _state(self, question: Any) -> QuestionState:
        asked = checked_question(question)
        session = SearchSession(self.index, k=self.k, deduplicate=self.deduplicate)
        window = self.context_window or lm_window(self.answer.lm or dspy.settings.lm)
        limits = Limits(self.max_loops, self.max_tokens, window)
        return QuestionState(asked, session, limits, parse_retries=self.parse_retries)
