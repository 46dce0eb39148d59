"""LLM-Acc: a judge LM says of each answer whether it is right.

Policy: an abstention, a failed question and a blank answer are wrong without the judge being asked. Where the judge
cannot say (its provider fails, or its replies cannot be read after a bounded number of retries), the verdict is None
with the reason, and never a guess. The judge's calls are accounted in the verdict, apart from those of the system that
it judges.
"""

import contextlib
import logging
from collections.abc import Iterator, Sequence
from typing import Any

import dspy

from ..program.asking import Ask, Reply, ask, is_overflow
from ..program.neutralize import neutralize, one_line
from ..program.secrets import mask_keys
from ..program.usage import Usage
from ..signatures.judge_answer import JudgeAnswer
from .example_fields import answer_of, field, golds_of
from .record import QuestionRecord, Verdict

logger = logging.getLogger(__name__)
# A short answer is far below; what an LM that rambles wrote beyond it is not shown to the judge.
_LONGEST_ANSWER, _LONGEST_ERROR = 2_000, 300


class LLMJudge(dspy.Module):
    """A judge LM as a DSPy metric: `judge(example, prediction) -> float`; `judge.verdict_on(...)` is the whole verdict.

    The LM is used for this call alone: neither the LM of the program that is judged nor the predictor's state changes.

    Args:
        lm: The judge; the LM that DSPy is configured with where None, which then judges itself if it also answers.
        adapter: The adapter that goes with `lm`; DSPy's default where None.
        label: What verdicts know the judge by; the LM's model string where it is blank.
        parse_retries: Further attempts after a reply that cannot be read.
    """

    __name__ = "llm_acc"  # tools that log a metric's scores ask for a function's name

    def __init__(
        self,
        lm: dspy.LM | None = None,
        *,
        adapter: dspy.Adapter | None = None,
        label: str = "",
        parse_retries: int = 1,
    ) -> None:
        super().__init__()
        self.judge = dspy.Predict(JudgeAnswer)
        self._lm, self._adapter, self._label = lm, adapter, label
        self._parse_retries = parse_retries

    @property
    def label(self) -> str:
        """What verdicts know the judge by; never an address or a key."""
        return self._label or str(getattr(self._lm or dspy.settings.lm, "model", ""))

    def forward(self, example: Any, prediction: Any, trace: Any = None) -> float:
        """Judge as a plain DSPy metric: 1.0 right, 0.0 wrong.

        The golds are the example's `answers` (a list), else its `answer`. It never raises: where it cannot judge, the
        score is 0.0 and `prediction.judge_failed` is True, else False, so that a report can leave such questions out.
        """
        try:
            verdict = self._of_prediction(example, prediction)
        except Exception as error:  # one metric that raises ends a whole evaluation
            verdict = None
            logger.warning("an answer could not be judged: %s", _said(error))
        failed = verdict is None or verdict.verdict is None
        with contextlib.suppress(Exception):  # a prediction that takes no attribute is judged all the same
            prediction.judge_failed = failed
        return float(verdict is not None and verdict.verdict == "right")

    def on_record(self, record: QuestionRecord) -> Verdict:
        """`verdict_on` for an answered question."""
        return self.verdict_on(
            record.question,
            record.answers,
            record.answer,
            abstained=record.abstained,
            failed=record.failure is not None,
            id=record.id,
        )

    def verdict_on(
        self,
        question: str,
        golds: Sequence[str],
        answer: str,
        *,
        abstained: bool = False,
        failed: bool = False,
        id: str = "",
    ) -> Verdict:
        """Judge one answer.

        Args:
            question: As it was asked.
            golds: The gold answer and its aliases.
            answer: The short answer.
            abstained: The system gave no answer.
            failed: The question has no answer for a technical reason.
            id: The question's.

        Raises:
            dspy.LMConfigurationError: The judge LM cannot be asked at all (no key, an impossible setting).
        """
        about: dict[str, Any] = {"id": id, "judge": self.label, "answer": answer, "abstained": abstained}
        if abstained or failed or not answer.strip():
            why = "failed" if failed else "abstained" if abstained else "blank"
            return Verdict(**about, verdict="wrong", reasoning=f"No answer: {why}; not asked.", cost=0.0)
        inputs = {
            "question": neutralize(question),
            "gold_answers": "\n".join(one_line(gold, _LONGEST_ANSWER) for gold in golds),
            "prediction": one_line(answer, _LONGEST_ANSWER),
        }
        usage, reply = Usage(), None
        with self._lm_apart():
            for attempt in range(self._parse_retries + 1):
                reply = ask(self, Ask("judge", inputs, attempt))
                usage.add("judge", reply.calls)
                if not reply.unparsed:
                    break
        return Verdict(**about, **_outcome(reply), **_spent(usage))

    @contextlib.contextmanager
    def _lm_apart(self) -> Iterator[None]:
        if self._lm is None:
            yield
            return
        with dspy.context(lm=self._lm, adapter=self._adapter):
            yield

    def _of_prediction(self, example: Any, prediction: Any) -> Verdict | None:
        golds = golds_of(example)
        question = field(example, "question")
        if not golds or not isinstance(question, str):
            logger.warning("not judged: the example has no question, or no gold answer in `answers` or `answer`")
            return None
        return self.verdict_on(
            question,
            golds,
            answer_of(prediction) or "",
            abstained=field(prediction, "abstained") is True,
            id=str(field(example, "id") or ""),
        )


def _outcome(reply: Reply | None) -> dict[str, Any]:
    prediction = None if reply is None else reply.prediction
    if prediction is not None:
        return {"verdict": prediction.verdict, "reasoning": mask_keys(str(prediction.reasoning or "").strip())}
    error = None if reply is None else reply.error
    if reply is not None and reply.unparsed:
        said = f"{type(error).__name__}: the judge's replies could not be read"
    else:
        said = _said(error) + (" (longer than the judge's context window)" if is_overflow(error) else "")
    return {"verdict": None, "error": said}


def _spent(usage: Usage) -> dict[str, Any]:
    return {
        "cached": 0 < usage.calls == usage.cached_calls,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        # Without DSPy's history, or where the provider failed, nothing is known of what was billed.
        "cost": usage.cost if usage.calls else None,
    }


def _said(error: BaseException | None) -> str:
    line = next(iter(str(error).strip().splitlines()), "")
    return f"{type(error).__name__}: {mask_keys(line)[:_LONGEST_ERROR]}"
