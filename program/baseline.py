"""What the systems without a register share: the evidence is gathered, then answered from.

A system says in `gather` how it comes by its evidence, and nothing else. A prompt that outgrows the LM's window ends
the gathering and forces the answer; a provider that fails past its retries ends the question as `lm_error`.
"""

from collections.abc import Generator, Sequence
from typing import Any

import dspy

from ..retrievers.index import Index
from ..signatures.answer_question import AnswerQuestion
from .driver import Answering
from .evidence import AnswerText, show_passages
from .neutralize import neutralize
from .question import ContextOverflow, LMFailure, QuestionState, StopReason
from .register import Register
from .system import System
from .transcript import Transcript

Gathering = Generator[Any, Any, StopReason]
"""The evidence of one question being gathered; ends with why it ended: `answered`, or a limit of the budget."""


class Baseline(System):
    """A system that gathers evidence and then answers from it, with the answer signature that all systems share.

    One that a budget can stop also declares `force_answer`. Its `stop_reason` is `answered` where neither budget,
    window nor provider ended the question. The arguments are those of every `System`.
    """

    def __init__(self, index: Index, **settings: Any) -> None:
        super().__init__(index, **settings)
        self.answer = dspy.Predict(AnswerQuestion)

    def gather(self, state: QuestionState, question: str, transcript: Transcript) -> Gathering:
        """Gather the evidence of a question into its transcript; `question` is as prompts show it."""
        raise NotImplementedError

    def answer_inputs(self, question: str, transcript: Transcript, shown: Sequence[str]) -> dict[str, str]:
        """What the answering step is given, for the passages that fit."""
        return {"question": question, "findings": transcript.findings, "passages": show_passages(shown)}

    def answering(self, state: QuestionState) -> Answering:
        """Gather, then answer; where the passages do not fit, once more with the first half of them."""
        question, transcript, register = neutralize(state.question).strip(), Transcript(state), Register()
        try:
            try:
                stop_reason = yield from self.gather(state, question, transcript)
            except ContextOverflow:
                stop_reason = "context_overflow"
            chosen = transcript.passages(state.budget.limits.effective_tokens)
            answer, overflowed = yield from state.answer(
                [chosen, chosen[: len(chosen) // 2]] if chosen else [chosen],
                lambda shown: self.answer_inputs(question, transcript, shown),
                register,
                forced=stop_reason != "answered",
            )
        except LMFailure:
            return state.prediction(AnswerText("", "", True), register, "lm_error")
        return state.prediction(answer, register, "context_overflow" if overflowed else stop_reason)
