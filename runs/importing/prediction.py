"""One prediction of another system, whatever layout it came in; what it does not say stays None."""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator

from ..benchmarks.source_rows import Text

#: An `answered` search ends by itself; the others are those of `QuestionRecord.stop_reason`.
STOP_REASONS = (
    "answered",
    "resolved",
    "no_requirements",
    "budget_loops",
    "budget_tokens",
    "context_overflow",
    "lm_error",
)
# Others' names of the three tools.
_TOOLS = {
    "semantic": "semantic_search",
    "keyword": "keyword_search",
    "read_chunk": "read_passages",
    "read_chunks": "read_passages",
    "chunk_read": "read_passages",
}


def tool_name(written: str) -> str:
    """A tool by the name that it has here; an unknown one keeps its own."""
    return _TOOLS.get(written.strip(), written.strip())


def _id_text(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


#: An id: a text, or a whole number that stands for it.
Id = Annotated[Text, BeforeValidator(_id_text)]


@dataclass(frozen=True, slots=True)
class Reference:
    """A retrieved passage as a prediction names it: an id of its corpus, or its text with a title that may be blank."""

    id: str = ""
    title: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class ImportedSearch:
    """One tool call.

    Attributes:
        loop: The retrieval loop, 0 for a seed.
        tool: By the name that it has here, where it is one of the three.
        query: What was asked.
        found: What came back, best first.
        full: Whole texts came back, not snippets.
        note: What went wrong; else blank.
    """

    loop: int
    tool: str
    query: str
    found: tuple[Reference, ...]
    full: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True)
class Prediction:
    """One question's.

    Attributes:
        where: Its place, as messages name it.
        id: The question's id in the file; blank where there is none.
        question: Its text; blank where there is none.
        answer: As written; may be blank.
        explanation: What stands beside the answer.
        abstained: It says that it gives no answer.
        error: Why it failed, where the file has a field that says so.
        stop_reason: One of `STOP_REASONS`; blank where not known.
        searches: The tool calls in order.
        retrieved: Passages known to have been retrieved, by no search that is known.
        cost: USD; None is unknown.
        prompt_tokens: None is unknown, as of the following.
        completion_tokens: Of all calls.
        llm_calls: How many.
        seconds: Wall time.
        loops: Retrieval loops.
        retrieved_tokens_arag: By A-RAG's count.
    """

    where: str
    id: str
    question: str
    answer: str
    explanation: str = ""
    abstained: bool = False
    error: str = ""
    stop_reason: str = ""
    searches: tuple[ImportedSearch, ...] = ()
    retrieved: tuple[Reference, ...] = ()
    cost: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    llm_calls: int | None = None
    seconds: float | None = None
    loops: int | None = None
    retrieved_tokens_arag: int | None = None
