"""The state of one question: its session, budget, usage and trajectory, made inside `forward` and never shared.

Every system of the comparison answers through one of these, so that searching, asking, counting and the prediction are
the same for all. `ask` and `search` are generators: they yield what is to be done and return what came of it.
"""

import json
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any, Literal

import dspy

from ..errors import UsageError
from ..retrievers.session import AnyTool, SearchResult, SearchSession
from .asking import Ask, Reply, is_overflow
from .budget import Budget, Limits
from .driver import Answering, Search
from .evidence import AnswerText, cited, default_answer, read_answer
from .neutralize import neutralize
from .register import Register
from .secrets import mask_keys
from .tokens import TOKENIZER, count_tokens
from .trajectory import AnswerStep, ErrorStep, Found, LMStep, SearchStep, Step, StepName
from .usage import Usage
from .watching import notify

StopReason = Literal[
    "resolved", "budget_loops", "budget_tokens", "no_requirements", "context_overflow", "lm_error", "answered"
]
Passages = Sequence[tuple[str, str]]
"""Passages as an answering step shows them: id and shown text."""
__all__ = ["Answering", "ContextOverflow", "LMFailure", "QuestionState", "StopReason", "checked_question"]


class ContextOverflow(Exception):
    """A step's prompt did not fit the LM's window."""


class LMFailure(Exception):
    """The provider failed past its retries; the question ends as `lm_error`."""


def checked_question(question: Any) -> str:
    """The question, stripped.

    Raises:
        UsageError: It is blank, or no text.
    """
    if not isinstance(question, str) or not neutralize(question).strip():
        raise UsageError("the question is blank: give a question in words")
    return question.strip()


class QuestionState:
    """What is known and spent while one question is answered."""

    def __init__(self, question: str, session: SearchSession, limits: Limits, *, parse_retries: int = 1) -> None:
        self.question = question
        self.session = session
        self.budget = Budget(limits)
        self.usage = Usage()
        self.trajectory: list[Step] = []
        self.loop = 0
        self._parse_retries = parse_retries
        self._shown: set[tuple[str, str]] = set()
        self._read_in_full: set[str] = set()
        self._started = time.perf_counter()

    def record(self, step: Step) -> None:
        """Append a step to the trajectory and show it to who is watching."""
        self.trajectory.append(step)
        notify(step)

    def ask(
        self, step: StepName, shown: tuple[str, ...] = (), /, **inputs: Any
    ) -> Generator[Ask, Reply, dspy.Prediction | None]:
        """Ask one step; None where its replies could not be read, which the trajectory records.

        `shown` are the passages among the inputs: the budget counts them each time that they are shown.

        Raises:
            ContextOverflow: the prompt does not fit the LM's window.
            LMFailure: the provider failed past its retries.
        """
        for attempt in range(self._parse_retries + 1):
            reply = yield Ask(step, inputs, attempt)
            self.usage.add(step, reply.calls)
            # An adapter that falls back to another format has shown the prompt twice.
            self.budget.spend(*shown * max(1, len(reply.calls)))
            self.budget.spend(*(call.text for call in reply.calls))
            if reply.prediction is not None:
                outputs = {name: _plain(value) for name, value in reply.prediction.items()}
                if not reply.calls:  # DSPy's history is off: the fields are all that is known of the output.
                    self.budget.spend(json.dumps(outputs, ensure_ascii=False))
                cut = bool(reply.calls) and reply.calls[-1].truncated
                self.record(LMStep(loop=self.loop, step=step, outputs=outputs, attempts=attempt + 1, truncated=cut))
                return reply.prediction
            if not reply.unparsed:
                overflow = is_overflow(reply.error)
                self.fail(step, reply.error, fatal=not overflow)
                raise (ContextOverflow if overflow else LMFailure)(step) from reply.error
        self.fail(step, reply.error)
        return None

    def fail(self, step: StepName, error: Exception | str | None, *, fatal: bool = False) -> None:
        """Record that a step fell back to its default, or that a failure ended the question."""
        name, message = ("Unusable", error) if isinstance(error, str) else (type(error).__name__, _first_line(error))
        self.record(ErrorStep(loop=self.loop, step=step, error=name, message=message, fatal=fatal))

    def search(self, tool: AnyTool, query: str, target: str | None) -> Generator[Search, SearchResult, SearchResult]:
        """Run one tool call in this question's session."""
        result = yield Search(self.session, tool, query, self.loop)
        self._count_retrieved(result)
        found = tuple(
            Found(
                alias=hit.alias,
                passage_id=hit.passage_id,
                title=hit.title,
                rank=hit.rank,
                score=hit.score,
                new=hit.new,
                full=hit.full,
            )
            for hit in result.hits
        )
        self.record(
            SearchStep(
                loop=self.loop,
                target=target,
                tool=result.tool,
                query=result.query,
                found=found,
                repeated=result.repeated,
                note=result.note,
            )
        )
        return result

    def _count_retrieved(self, result: SearchResult) -> None:
        """Count the retrieved tokens, both ways."""
        for hit in result.hits:
            size = count_tokens(hit.text)
            if (hit.passage_id, hit.text) not in self._shown:
                self._shown.add((hit.passage_id, hit.text))
                self.usage.retrieved_tokens += size
            if result.tool != "read_passages":
                self.usage.retrieved_tokens_arag += size
            elif hit.passage_id not in self._read_in_full:
                self._read_in_full.add(hit.passage_id)
                self.usage.retrieved_tokens_arag += size

    def answer(
        self,
        choices: Sequence[Passages],
        inputs_of: Callable[[Sequence[str]], dict[str, str]],
        register: Register,
        *,
        forced: bool,
    ) -> Generator[Ask, Reply, tuple[AnswerText, bool]]:
        """Answer, tools off, from the first choice of passages that fits the LM's window.

        Args:
            choices: What to show, as pairs of passage id and shown text; each fewer than the one before.
            inputs_of: Gives the answering step's inputs for the shown texts.
            register: What an answer that could not be read is replaced from.
            forced: The search was cut short, so that the answer is forced.

        Returns:
            The answer, and whether the prompt did not fit even with the last choice.

        Raises:
            LMFailure: the provider failed past its retries.
        """
        outputs, overflowed, passages = None, False, choices[0]
        for passages in choices:
            texts = tuple(text for _, text in passages)
            try:
                outputs = yield from self.ask("force_answer" if forced else "answer", texts, **inputs_of(texts))
                overflowed = False
                break
            except ContextOverflow:
                overflowed = True
        answer = read_answer(outputs) if outputs is not None else default_answer(register)
        self.record(
            AnswerStep(
                loop=self.loop,
                forced=forced,
                answer=answer.answer,
                explanation=answer.explanation,
                abstained=answer.abstained,
                shown=tuple(passage_id for passage_id, _ in passages),
            )
        )
        return answer, overflowed

    def prediction(self, answer: AnswerText, register: Register, stop_reason: StopReason) -> dspy.Prediction:
        """The prediction contract that every system shares."""
        self.usage.context_tokens = self.budget.tokens
        self.usage.effective_tokens = self.budget.limits.effective_tokens
        self.usage.tokenizer = TOKENIZER
        self.usage.loops = self.budget.loops
        self.usage.repeated_queries = self.session.repeats
        self.usage.seconds = time.perf_counter() - self._started
        return dspy.Prediction(
            answer=answer.answer,
            explanation=answer.explanation,
            abstained=answer.abstained,
            requirements=register.items,
            trajectory=self.trajectory,
            retrieved_ids=[arrival.passage_id for arrival in self.session.retrieved],
            citations=cited(answer.explanation, self.session),
            stop_reason=stop_reason,
            usage=self.usage,
        )


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value


def _first_line(error: Exception | None) -> str:
    lines = str(error).strip().splitlines()
    return mask_keys(lines[0][:500]) if lines else ""
