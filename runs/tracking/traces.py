"""Traces of a few questions, made from their records after the fact, so that answering pays nothing for them.

A record knows how long its question took, not each of its steps: a trace has the question's length, and its steps stand
in it in order, a millisecond each, which an attribute says.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any

from ...metrics.record import QuestionRecord
from ...program.trajectory import AnswerStep, ErrorStep, LMStep, RegisterStep, SearchStep, Step, VerifyStep
from ..register_view import RegisterView

_STEP_NS = 1_000_000
_NOTE = "the times of single steps are not recorded: each stands for 1 ms, in order"


def log_traces(uri: str, experiment_id: str, run_id: str, records: Sequence[QuestionRecord], n: int) -> int:
    """Log traces of `n` questions, spread evenly over the run; how many there are.

    MLflow's tracing knows one store a process: it is set, and what was set before is set again.
    """
    import mlflow

    chosen = sample(records, n)
    # None where nothing was set: the setting also goes into the environment, where the next run would find it.
    before = mlflow.get_tracking_uri() if mlflow.is_tracking_uri_set() else None
    mlflow.set_tracking_uri(uri)
    try:
        for record in chosen:
            _log_trace(mlflow, experiment_id, run_id, record)
        mlflow.flush_trace_async_logging()
    finally:
        mlflow.set_tracking_uri(before)
    return len(chosen)


def sample(records: Sequence[QuestionRecord], n: int) -> list[QuestionRecord]:
    """`n` records at even distances, the first one among them."""
    n = min(n, len(records))
    return [records[place * len(records) // n] for place in range(n)]


def _log_trace(mlflow: Any, experiment_id: str, run_id: str, record: QuestionRecord) -> None:
    length = max(int(record.usage.seconds * 1e9), (len(record.trajectory) + 2) * _STEP_NS)
    start = time.time_ns() - length
    root = mlflow.start_span_no_context(
        name=record.system,
        span_type="CHAIN",
        inputs={"question": record.question},
        attributes={"question_id": record.id, "gold": list(record.answers), "times": _NOTE},
        tags={"question_id": record.id},
        metadata={"mlflow.sourceRun": run_id},
        experiment_id=experiment_id,
        start_time_ns=start,
    )
    now, parent, loop = start, root, None
    for step, (name, kind, inputs, outputs) in zip(record.trajectory, _spans(record.trajectory), strict=True):
        if step.loop != loop:
            if parent is not root:
                parent.end(end_time_ns=now)
            loop = step.loop
            title = "seed" if loop == 0 else f"loop {loop}"
            parent = mlflow.start_span_no_context(name=title, span_type="CHAIN", parent_span=root, start_time_ns=now)
        span = mlflow.start_span_no_context(
            name=name, span_type=kind, parent_span=parent, inputs=inputs, start_time_ns=now
        )
        now += _STEP_NS
        failed = isinstance(step, ErrorStep)
        span.end(outputs=outputs, status="ERROR" if failed else "OK", end_time_ns=now)
    if parent is not root:
        parent.end(end_time_ns=now)
    outputs = {"answer": record.answer, "explanation": record.explanation, "stop_reason": record.stop_reason}
    root.end(outputs=outputs, status="ERROR" if record.failure else "OK", end_time_ns=start + length)


def _spans(steps: Sequence[Step]) -> Iterator[tuple[str, str, Any, Any]]:
    """Name, kind, inputs and outputs of each step's span."""
    view = RegisterView()
    for step in steps:
        if isinstance(step, SearchStep):
            found = [f"{one.rank} {one.title} ({one.passage_id})" for one in step.found]
            said = {"tool": step.tool, "query": step.query, "target": step.target}
            yield "search", "RETRIEVER", said, {"found": found, "repeated": step.repeated}
        elif isinstance(step, LMStep):
            yield step.step, "LLM", {"attempts": step.attempts}, step.outputs
        elif isinstance(step, RegisterStep):
            view.apply(step)
            items = [f"{item.id} {item.status}: {item.text} {item.answer or ''}".strip() for item in view.items]
            outputs = {"register": items, "refused": list(step.refused)}
            yield f"register after {step.cause}", "MEMORY", {"shown": step.shown}, outputs
        elif isinstance(step, ErrorStep):
            yield f"{step.step} fell back", "LLM", {}, {"error": step.error, "message": step.message}
        elif isinstance(step, VerifyStep):
            yield "verified", "CHAIN", {"draft": step.draft}, step.model_dump(mode="json", exclude={"kind", "loop"})
        elif isinstance(step, AnswerStep):
            given = {"answer": step.answer, "explanation": step.explanation, "abstained": step.abstained}
            yield "final answer", "CHAIN", {"passages": list(step.shown)}, given
