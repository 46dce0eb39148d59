"""The documented layout: one JSON object a line.

| field | what |
|---|---|
| `id` or `question` | which question; both may be given, and must then agree |
| `answer` | the short answer; blank or null means that it gave none |
| `retrieved` | passages by arrival: ids; with `--retrieved-are texts` texts, or objects of `title` and `text` |
| `searches` | tool calls in order: `tool`, `query`, `found` (as `retrieved`), and `loop` (default: 1, 2, …) |
| `abstained` | true: it gives no answer, whatever `answer` says |
| `explanation` | a sentence or two beside the answer |
| `stop_reason` | one of `STOP_REASONS`: `answered`, `resolved`, `budget_loops`, `budget_tokens`, … |
| `error` | why it failed: the row is then a failed one |
| `cost` | USD; left out is unknown |
| `prompt_tokens`, `completion_tokens`, `llm_calls`, `seconds`, `loops` | what it spent |

All but the first two are optional. Other fields are not read, and said.
"""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from ...errors import UserError
from ..benchmarks.source_rows import RowModel, SourceRow, Text, fitted
from .prediction import STOP_REASONS, Id, ImportedSearch, Prediction, Reference, tool_name

LAYOUT = "the documented JSONL"
RetrievedAre = Literal["ids", "texts"]


def _number(value: Any) -> Any:
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    try:
        return float(value)
    except OverflowError:
        raise ValueError("too large a number") from None


class _Titled(RowModel):
    title: Text = ""
    text: Text


_Passage = Id | _Titled
_Count = Annotated[int, Field(ge=0)]
_Amount = Annotated[float, BeforeValidator(_number), Field(ge=0, allow_inf_nan=False)]


class _Search(RowModel):
    tool: Text
    query: Text
    found: list[_Passage] = Field(default_factory=list)
    loop: _Count | None = None


class _Row(RowModel):
    id: Id | None = None
    question: Text | None = None
    answer: Text | None = None
    retrieved: list[_Passage] | None = None
    searches: list[_Search] | None = None
    abstained: bool | None = None
    explanation: Text | None = None
    stop_reason: Text | None = None
    error: Text | None = None
    cost: _Amount | None = None
    prompt_tokens: _Count | None = None
    completion_tokens: _Count | None = None
    llm_calls: _Count | None = None
    seconds: _Amount | None = None
    loops: _Count | None = None


FIELDS = frozenset(_Row.model_fields)


def jsonl_prediction(row: SourceRow, retrieved_are: RetrievedAre) -> Prediction:
    """The prediction of a row.

    Args:
        row: A row of the file.
        retrieved_are: What texts in `retrieved` and `found` are.

    Raises:
        UserError: A field does not fit; the message names it.
    """
    fields = fitted(_Row, row, LAYOUT)
    if "answer" not in fields.model_fields_set:
        raise UserError(f"{row.where}: field `answer`: is missing; give the answer, blank where there is none")
    reason = fields.stop_reason or ""
    if reason and reason not in STOP_REASONS:
        raise UserError(f"{row.where}: field `stop_reason`: {reason[:40]!r} is none of {', '.join(STOP_REASONS)}")
    searches = tuple(
        ImportedSearch(
            loop=number if one.loop is None else one.loop,
            tool=tool_name(one.tool),
            query=one.query,
            found=tuple(_reference(each, retrieved_are, row.where, "searches") for each in one.found),
        )
        for number, one in enumerate(fields.searches or (), start=1)
    )
    return Prediction(
        where=row.where,
        id=fields.id or "",
        question=fields.question or "",
        answer=fields.answer or "",
        explanation=fields.explanation or "",
        abstained=bool(fields.abstained),
        error=fields.error or "",
        stop_reason=reason,
        searches=searches,
        retrieved=tuple(_reference(one, retrieved_are, row.where, "retrieved") for one in fields.retrieved or ()),
        cost=fields.cost,
        prompt_tokens=fields.prompt_tokens,
        completion_tokens=fields.completion_tokens,
        llm_calls=fields.llm_calls,
        seconds=fields.seconds,
        loops=fields.loops,
    )


def _reference(one: str | _Titled, retrieved_are: RetrievedAre, where: str, field: str) -> Reference:
    if isinstance(one, _Titled):
        if retrieved_are == "ids":
            raise UserError(f"{where}: field `{field}`: holds titles and texts; call it with --retrieved-are texts")
        return Reference(title=one.title, text=one.text)
    return Reference(id=one) if retrieved_are == "ids" else Reference(text=one)
