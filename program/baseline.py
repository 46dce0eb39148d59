"""What the systems without a register share: settings, session, budget, the answering step, the prediction.

A system says in `gather` how it comes by its evidence, and nothing else. A prompt that outgrows the LM's window ends
the gathering and forces the answer; a provider that fails past its retries ends the question as `lm_error`.
"""

from collections.abc import Generator, Sequence
from typing import Any

import dspy

from ..retrievers.index import Index
from ..retrievers.session import SearchSession
from ..signatures.answer_question import AnswerQuestion
from .budget import MAX_LOOPS, MAX_TOKENS, Limits
from .driver import Answering, adrive, drive
from .evidence import AnswerText, default_answer, read_answer, show_passages
from .neutralize import neutralize
from .question import ContextOverflow, LMFailure, QuestionState, StopReason, checked_question
from .register import Register
from .trajectory import AnswerStep
from .transcript import Transcript
from .window import lm_window

Gathering = Generator[Any, Any, StopReason]
"""The evidence of one question being gathered; ends with why it ended: `answered`, or a limit of the budget."""


class Baseline(dspy.Module):
    """A system that gathers evidence and then answers from it, with the answer signature that all systems share.

    One that a budget can stop also declares `force_answer`. As with ExecutionRAG, one instance answers many questions
    at once, and the LM is whatever DSPy is configured with.

    Args:
        index: what is searched; shared, never copied.
        k: passages that a search returns.
        max_loops: loops a question may use.
        max_tokens: cumulative context tokens a question may use.
        context_window: the LM's window in tokens; read off the LM where it tells, else unlimited.
        deduplicate: whether a repeated query is answered from memory.
        parse_retries: how often a step is asked again after a reply that could not be read.
    """

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
        self.answer = dspy.Predict(AnswerQuestion)

    def gather(self, state: QuestionState, question: str, transcript: Transcript) -> Gathering:
        """Gather the evidence of a question into its transcript; `question` is as prompts show it."""
        raise NotImplementedError

    def answer_inputs(self, question: str, transcript: Transcript, shown: Sequence[str]) -> dict[str, str]:
        """What the answering step is given, for the passages that fit."""
        return {"question": question, "findings": transcript.findings, "passages": show_passages(shown)}

    def forward(self, question: str) -> dspy.Prediction:
        """Answer one question.

        Returns:
            The prediction that all systems give; `requirements` is empty, and `stop_reason` is `answered` where neither
            budget, window nor provider ended the question.

        Raises:
            UsageError: the question is blank.
            dspy.LMConfigurationError: no usable LM is configured. Other failures end the question as `lm_error`.
        """
        return drive(self, self._answering(question))

    async def aforward(self, question: str) -> dspy.Prediction:
        """`forward`, asynchronously; the same steps in the same order."""
        return await adrive(self, self._answering(question))

    def _answering(self, question: Any) -> Answering:
        asked = checked_question(question)
        session = SearchSession(self.index, k=self.k, deduplicate=self.deduplicate)
        window = self.context_window or lm_window(self.answer.lm or dspy.settings.lm)
        limits = Limits(self.max_loops, self.max_tokens, window)
        return self._run(QuestionState(asked, session, limits, parse_retries=self.parse_retries))

    def _run(self, state: QuestionState) -> Answering:
        question, transcript = neutralize(state.question).strip(), Transcript(state)
        try:
            try:
                stop_reason = yield from self.gather(state, question, transcript)
            except ContextOverflow:
                stop_reason = "context_overflow"
            answer, overflowed = yield from self._answer(state, question, transcript, stop_reason != "answered")
        except LMFailure:
            return state.prediction(AnswerText("", "", True), Register(), "lm_error")
        return state.prediction(answer, Register(), "context_overflow" if overflowed else stop_reason)

    def _answer(
        self, state: QuestionState, question: str, transcript: Transcript, forced: bool
    ) -> Generator[Any, Any, tuple[AnswerText, bool]]:
        """Answer, tools off; where the passages do not fit, once more with the first half of them.

        The flag says that the prompt did not fit even then.
        """
        chosen = transcript.passages(state.budget.limits.effective_tokens)
        outputs, overflowed, passages = None, False, chosen
        for passages in (chosen, chosen[: len(chosen) // 2]) if chosen else (chosen,):
            texts = tuple(text for _, text in passages)
            inputs = self.answer_inputs(question, transcript, texts)
            try:
                outputs = yield from state.ask("force_answer" if forced else "answer", texts, **inputs)
                overflowed = False
                break
            except ContextOverflow:
                overflowed = True
        answer = read_answer(outputs) if outputs is not None else default_answer(Register())
        state.record(
            AnswerStep(
                loop=state.loop,
                forced=forced,
                answer=answer.answer,
                explanation=answer.explanation,
                abstained=answer.abstained,
                shown=tuple(passage_id for passage_id, _ in passages),
            )
        )
        return answer, overflowed
