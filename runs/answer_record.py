"""From a question and what a system made of it to its record: the one place where a row is put together."""

from collections.abc import Iterable, Sequence
from typing import Any

from ..metrics.record import Failure, GoldHop, GoldPassage, QuestionRecord, Retrieved
from ..program.driver import step_of
from ..program.secrets import mask_keys
from ..program.trajectory import ErrorStep, LMStep, SearchStep, Step
from ..program.usage import Usage
from .benchmarks.record import BenchmarkQuestion

_ANSWERING = ("answer", "force_answer")


def answered_record(
    question: BenchmarkQuestion, gold: Sequence[GoldPassage], prediction: Any, *, benchmark: str, system: str
) -> QuestionRecord:
    """The record of a prediction; a failed LM and an overflow without an answer make it a failed one."""
    failure = _failure(prediction)
    return QuestionRecord(
        **_asked(question, gold, benchmark, system),
        failure=failure,
        answer="" if failure else prediction.answer,
        explanation="" if failure else prediction.explanation,
        abstained=False if failure else prediction.abstained,
        stop_reason=prediction.stop_reason,
        requirements=tuple(prediction.requirements),
        retrieved=retrieved(prediction.trajectory),
        citations=tuple(prediction.citations),
        trajectory=tuple(prediction.trajectory),
        usage=prediction.usage,
    )


def failed_record(
    question: BenchmarkQuestion, gold: Sequence[GoldPassage], error: BaseException, *, benchmark: str, system: str
) -> QuestionRecord:
    """The record of a question that an exception ended; what it had spent is unknown."""
    failure = Failure(
        error=type(error).__name__,
        step=step_of(error) or "program",
        message=mask_keys(" ".join(str(error).split()))[:500],
    )
    return QuestionRecord(**_asked(question, gold, benchmark, system), failure=failure, usage=Usage(cost=None))


def retrieved(steps: Iterable[Step]) -> tuple[Retrieved, ...]:
    """Every passage that a tool returned, in order of arrival, with what first brought it."""
    arrivals: dict[str, Retrieved] = {}
    for step in steps:
        if not isinstance(step, SearchStep):
            continue
        for found in step.found:
            earlier = arrivals.get(found.passage_id)
            if earlier is None:
                arrivals[found.passage_id] = Retrieved(
                    passage_id=found.passage_id,
                    loop=step.loop,
                    tool=step.tool,
                    query=step.query,
                    rank=found.rank,
                    full=found.full,
                )
            elif found.full and not earlier.full:
                arrivals[found.passage_id] = earlier.model_copy(update={"full": True})
    return tuple(arrivals.values())


def _asked(question: BenchmarkQuestion, gold: Sequence[GoldPassage], benchmark: str, system: str) -> dict[str, Any]:
    return {
        "id": question.id,
        "question": question.question,
        "benchmark": benchmark,
        "type": question.type,
        "hops": question.hops,
        "answers": tuple(question.answers),
        "gold": tuple(gold),
        "chain": tuple(
            GoldHop(question=hop.question, answer=hop.answer, gold=hop.support) for hop in question.decomposition
        ),
        "system": system,
    }


def _failure(prediction: Any) -> Failure | None:
    errors = [step for step in prediction.trajectory if isinstance(step, ErrorStep)]
    if prediction.stop_reason == "context_overflow":
        given = any(isinstance(step, LMStep) and step.step in _ANSWERING for step in prediction.trajectory)
        failed = not given and not prediction.answer
    else:
        failed = prediction.stop_reason == "lm_error"
    if not failed:
        return None
    last = errors[-1] if errors else None
    return Failure(
        error=last.error if last else prediction.stop_reason,
        step=last.step if last else "program",
        message=last.message if last else "",
    )
