"""A-RAG's `predictions.jsonl`, as its `scripts/batch_runner.py` writes it: one JSON object a line.

Read are `qid` (or `id`), `question`, `pred_answer`, `trajectory`, `total_cost`, `loops`, `total_retrieved_tokens`,
`retrieval_logs`, `chunks_read_ids`, and `error` of rows that an exception ended; where a fork adds them also `perf`,
`max_loops_exceeded` and `token_budget_exceeded`. What the agent returned and the file does not keep, or keeps only in
words, is read so:

- What a search found stands in the text that the model was shown (`Chunk ID: 58 (Similarity: 0.713)`, `Chunk ID: 58,
  Matched keywords …`). What a read gave is what it asked for, less the chunks "Not found". Without a trajectory the
  `retrieval_logs` stand in.
- The runner drops why a run ended. Where the last turn (`loops`) still called a tool, the answer was forced, which
  reads as `budget_loops`. A forced answer after the token budget leaves no trace, and reads as `answered`.
- The cost is A-RAG's own sum, by its price list, which gives models that it does not know a default price.
"""

import math
import re
from collections.abc import Iterator
from typing import Any

from pydantic import Field

from ...errors import UserError
from ..benchmarks.source_rows import RowModel, SourceRow, Text, fitted
from .prediction import Id, ImportedSearch, Prediction, Reference, tool_name

LAYOUT = "A-RAG's predictions.jsonl"
_FOUND = re.compile(r"^Chunk ID: ([^\s,]+)(?:,| \()", re.MULTILINE)
_NOT_FOUND = re.compile(r"^\[Chunk ([^\]\n]+)\] - Not found$", re.MULTILINE)


class _Call(RowModel):
    loop: int = Field(ge=0)
    tool_name: Text
    arguments: dict[str, Any] = Field(default_factory=dict)
    tool_result: Text | None = None
    chunk_ids: list[Id] | None = None
    error: Text | None = None


class _Log(RowModel):
    tool_name: Text
    metadata: dict[str, Any] = Field(default_factory=dict)


class _Row(RowModel):
    qid: Id | None = None
    id: Id | None = None
    question: Text | None = None
    pred_answer: Text | None = None
    trajectory: list[_Call] = Field(default_factory=list)
    total_cost: float | int | None = Field(default=None, ge=0)
    loops: int | None = Field(default=None, ge=0)
    total_retrieved_tokens: int | None = Field(default=None, ge=0)
    retrieval_logs: list[_Log] = Field(default_factory=list)
    chunks_read_ids: list[Id] = Field(default_factory=list)
    error: Text | None = None
    max_loops_exceeded: bool = False
    token_budget_exceeded: bool = False
    perf: dict[str, Any] = Field(default_factory=dict)


def arag_prediction(row: SourceRow) -> Prediction:
    """The prediction of a row; passages are named by A-RAG's chunk ids.

    Raises:
        UserError: A field does not fit; the message names it.
    """
    fields = fitted(_Row, row, LAYOUT)
    if "pred_answer" not in fields.model_fields_set:
        raise UserError(f"{row.where}: field `pred_answer`: is missing; {LAYOUT} is expected")
    searches = tuple(_search(call) for call in fields.trajectory) or tuple(_logged(fields.retrieval_logs))
    failed = fields.error or ""
    spent = _spent(fields.perf)
    return Prediction(
        where=row.where,
        id=fields.qid or fields.id or "",
        question=fields.question or "",
        answer=fields.pred_answer or "",
        error=failed,
        stop_reason="" if failed else _stop_reason(fields),
        searches=searches,
        retrieved=tuple(Reference(id=one) for one in sorted(fields.chunks_read_ids)),
        # Of a run that an exception ended the runner writes 0, whatever was spent before.
        cost=None if failed else _amount(fields.total_cost),
        loops=fields.loops,
        retrieved_tokens_arag=fields.total_retrieved_tokens,
        prompt_tokens=_whole(spent.get("total_input_tokens")),
        completion_tokens=_whole(spent.get("total_output_tokens")),
        llm_calls=_whole(spent.get("llm_call_count")),
        seconds=_amount(spent.get("total_duration")),
    )


def _stop_reason(fields: _Row) -> str:
    if fields.token_budget_exceeded:
        return "budget_tokens"
    last = max((call.loop for call in fields.trajectory), default=None)
    return "budget_loops" if fields.max_loops_exceeded or (last is not None and last == fields.loops) else "answered"


def _search(call: _Call) -> ImportedSearch:
    tool, result = tool_name(call.tool_name), call.tool_result or ""
    reads = tool == "read_passages"
    if reads:
        missing = set(_NOT_FOUND.findall(result))
        found = [one for one in _asked_ids(call.arguments) if one not in missing]
    else:
        found = call.chunk_ids if call.chunk_ids is not None else _FOUND.findall(result)
    failed = bool(call.error) or result.startswith("Error")
    return ImportedSearch(
        loop=call.loop,
        tool=tool,
        query=_query(call.arguments),
        found=() if failed else tuple(Reference(id=one) for one in dict.fromkeys(found)),
        full=reads,
        note=" ".join((call.error or result).split())[:200] if failed else "",
    )


def _logged(logs: list[_Log]) -> Iterator[ImportedSearch]:
    for number, log in enumerate(logs, start=1):
        tool = tool_name(log.tool_name)
        found = log.metadata.get("new_chunks_read" if tool == "read_passages" else "chunk_ids")
        ids = [str(one) for one in found] if isinstance(found, list) else []
        query = _query(log.metadata)
        yield ImportedSearch(number, tool, query, tuple(Reference(id=one) for one in ids), tool == "read_passages")


def _asked_ids(arguments: dict[str, Any]) -> list[str]:
    asked = arguments.get("chunk_ids", arguments.get("chunk_id"))
    return [str(one) for one in (asked if isinstance(asked, list) else [asked]) if isinstance(one, str | int)]


def _query(arguments: dict[str, Any]) -> str:
    for name in ("query", "keywords", "chunk_ids", "chunk_ids_requested", "chunk_id"):
        value = arguments.get(name)
        if value is not None:
            return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return ""


def _spent(perf: dict[str, Any]) -> dict[str, Any]:
    summary = perf.get("summary")
    return summary if isinstance(summary, dict) else {}


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _amount(value: Any) -> float | None:
    """A number that can be one; None of any other, which is not known."""
    if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
        return None
    try:
        amount = float(value)
    except OverflowError:
        return None
    return amount if math.isfinite(amount) else None
