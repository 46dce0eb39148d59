"""How passages and findings are shown to the LM, and how its answer is read."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..retrievers.session import SearchSession, Tool
from .neutralize import neutralize, one_line
from .register import Register, Requirement
from .tokens import count_tokens

NONE = "none"
_ANSWER, _EXPLANATION, _QUERY = 400, 1_000, 500
_COMPLETED = re.compile(r"\[\[\s*##.*", re.DOTALL)
_NO_ANSWER = {
    "",
    "none",
    "null",
    "n/a",
    "unknown",
    "not found",
    "no answer",
    "abstain",
    "i don't know",
    "i do not know",
}


@dataclass(frozen=True)
class AnswerText:
    """An answer as a prediction holds it; abstaining means that `answer` is empty."""

    answer: str
    explanation: str
    abstained: bool


def show_passage(alias: str, title: str, text: str) -> str:
    """One passage: its alias and title on a line, then its text, with the marks of the prompt formats neutralised."""
    return f"[{alias}] {one_line(title, 200)}\n{neutralize(text).strip()}"


def show_passages(shown: Iterable[str]) -> str:
    """Passages one under another, or "none"."""
    return "\n\n".join(shown) or NONE


def filled(item: Requirement, register: Register) -> str:
    """The text of a requirement with the values found in place of the ids that it refers to."""

    def value(match: re.Match[str]) -> str:
        other = register.current(match[0]) if match[0] in item.needs else None
        return other.answer if other and other.answer and other.status != "retired" else match[0]

    return re.sub(r"\bR\d+\b", value, item.text)


def target_text(item: Requirement, register: Register) -> str:
    """The target of a search with what is noted and tentatively known of it."""
    parts = [f"{item.id}: {filled(item, register)}"]
    if item.answer:
        parts.append(f"tentative answer: {item.answer}")
    if item.note:
        parts.append(f"note: {item.note}")
    return "\n".join(parts)


def found_values(register: Register, except_id: str = "") -> str:
    """The values of the other requirements, the unsettled ones marked."""
    lines = (
        f"{item.id} = {item.answer}{' (tentative)' if item.is_open else ''}"
        for item in register.items
        if item.answer and item.id != except_id and item.status != "retired"
    )
    return "\n".join(lines) or NONE


def findings(register: Register, session: SearchSession) -> str:
    """Every requirement with what was found for it: what the answering steps see of the register."""
    return "\n".join(_finding(item, register, session) for item in register.items) or NONE


def _finding(item: Requirement, register: Register, session: SearchSession) -> str:
    support = "".join(f" [{session.alias(passage)}]" for passage in item.support)
    head = f"{item.id} {filled(item, register)} ->"
    if item.status == "retired":
        return f"{head} retired: {item.reason}"
    if item.answer:
        return f"{head} {item.answer}{' (tentative)' if item.is_open else ''}{support}"
    return f"{head} {item.note or 'not found'}{support}"


def answer_passages(register: Register, session: SearchSession, capacity: int) -> list[tuple[str, str]]:
    """(id, shown text) of the passages for the answer: all supporting ones, then others, newest first, while they fit.

    `capacity` is in tokens. Supporting passages come first whatever they cost, in order of their items; the first other
    one that does not fit ends the list.
    """
    supporting = register.supporting
    newest_first = sorted(session.retrieved, key=lambda arrival: (-arrival.loop, arrival.rank))
    arrivals = [arrival.passage_id for arrival in newest_first]
    chosen: list[tuple[str, str]] = []
    for passage_id in dict.fromkeys([*supporting, *arrivals]):
        passage = session.passage(passage_id)
        text = show_passage(session.alias(passage_id), passage.title, passage.text)
        capacity -= count_tokens(text)
        if capacity < 0 and passage_id not in supporting:
            break
        chosen.append((passage_id, text))
    return chosen


def named_passage(written: str, session: SearchSession) -> str | None:
    """The id of the retrieved passage that an LM means: by its alias, or by its title where only one has it."""
    if passage_id := session.passage_id(written):
        return passage_id
    title = _folded(written)
    titled = [
        arrival.passage_id
        for arrival in session.retrieved
        if title and _folded(session.passage(arrival.passage_id).title) == title
    ]
    return titled[0] if len(titled) == 1 else None


def _folded(title: str) -> str:
    return " ".join(title.casefold().split())


def read_query(tool: Tool, query: str) -> tuple[Tool, str]:
    """The tool and query of a reply, the tool's own name stripped from the query.

    A read that names no passage is a search in words: the tool is semantic search, as where none is said.
    """
    query = re.sub(r"^\W*(?:semantic_search|keyword_search|read_passages)(?:\W+|$)", "", one_line(query, _QUERY))
    if tool == "read_passages" and not re.search(r"\bP?\d+\b", query, re.IGNORECASE):
        tool = "semantic_search"
    return tool, query


def read_answer(outputs: Any) -> AnswerText:
    """The answer of an answering step, cleaned; a blank one, or one that says there is none, is an abstention."""
    answer = one_line(_COMPLETED.sub("", str(outputs.answer or "")), _ANSWER)
    explanation = one_line(_COMPLETED.sub("", str(outputs.explanation or "")), _EXPLANATION)
    abstained = bool(outputs.abstained) or answer.casefold().strip(" .") in _NO_ANSWER
    return AnswerText("" if abstained else answer, explanation, abstained)


def default_answer(register: Register) -> AnswerText:
    """Where the answering step failed: the value of the last resolved item, or an honest abstention."""
    resolved: Sequence[Requirement] = [item for item in register.items if item.status == "resolved" and item.answer]
    if not resolved:
        return AnswerText("", "No answer could be read from the language model.", True)
    best = resolved[-1]
    return AnswerText(best.answer, f"The answering step failed; this is the value found for {best.id}.", False)


def cited(explanation: str, session: SearchSession) -> list[str]:
    """Ids of the retrieved passages that an explanation cites, in order, once each."""
    aliases = re.findall(r"\bP\d+\b", explanation)
    return list(dict.fromkeys(passage for alias in aliases if (passage := session.passage_id(alias))))
