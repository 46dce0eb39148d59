"""What a system without a register has seen: an append-only text, and each passage as it was shown.

Earlier lines never change, so that the text is a stable prefix of every prompt. The budget counts each tool
call with what came back once, as it is appended, as it does a register's progress; thoughts are counted as the replies
that they are.
"""

from dataclasses import dataclass, field

from ..retrievers.session import Hit, SearchResult
from .evidence import NONE, show_passage, show_passages
from .neutralize import one_line
from .question import QuestionState
from .tokens import count_tokens

_THOUGHT = 600


@dataclass
class _Seen:
    """One passage: its latest place, and the texts of it that were shown (the whole one alone, once it was)."""

    hit: Hit
    place: tuple[int, int]
    texts: list[str] = field(default_factory=list)
    full: bool = False


class Transcript:
    """The transcript of one question."""

    def __init__(self, state: QuestionState) -> None:
        self.lines: list[str] = []
        self.thoughts: list[str] = []
        self._state = state
        self._seen: dict[str, _Seen] = {}
        self._observed = 0

    @property
    def text(self) -> str:
        """The whole transcript, or "none"."""
        return "\n\n".join(self.lines) or NONE

    @property
    def findings(self) -> str:
        """The thoughts, one a line, or "none"."""
        return "\n".join(self.thoughts) or NONE

    def think(self, thought: str) -> None:
        """Append what the LM thought; a blank thought leaves no line."""
        if thought := one_line(thought, _THOUGHT):
            self.thoughts.append(thought)
            self.lines.append(f"Thought: {thought}")

    def observe(self, result: SearchResult, *, only_new: bool = False) -> None:
        """Append a tool call with what came back; `only_new` leaves out the text of what was shown before."""
        self._observed += 1
        for hit in result.hits:
            self._see(hit)
        hits = [hit for hit in result.hits if hit.new or not only_new]
        came = ", ".join(hit.alias for hit in result.hits) or "nothing"
        head = f'{result.tool} "{one_line(result.query, 200)}" -> {came}'
        if result.note:
            head += f" ({one_line(result.note, 120)})"
        chunk = f"{head}\n{show_passages(_show(hit, hit.text, hit.full) for hit in hits)}" if hits else head
        self._state.budget.spend(chunk)
        self.lines.append(chunk)

    def passages(self, capacity: int) -> list[tuple[str, str]]:
        """(id, shown text) of each passage, the latest result first and the best of it first, while they fit.

        `capacity` is in tokens; the first passage that does not fit ends the list. A passage of which only snippets
        were shown is given by its snippets: no system answers from a text that it has not read.
        """
        chosen: list[tuple[str, str]] = []
        for seen in sorted(self._seen.values(), key=lambda seen: seen.place):
            text = _show(seen.hit, " … ".join(seen.texts), seen.full)
            capacity -= count_tokens(text)
            if capacity < 0:
                break
            chosen.append((seen.hit.passage_id, text))
        return chosen

    def _see(self, hit: Hit) -> None:
        seen = self._seen.setdefault(hit.passage_id, _Seen(hit, (0, 0)))
        seen.place = (-self._observed, hit.rank)
        if hit.full:
            seen.full, seen.texts = True, [hit.text]
        elif not seen.full and hit.text not in seen.texts:
            seen.texts.append(hit.text)


def _show(hit: Hit, text: str, full: bool) -> str:
    return show_passage(hit.alias, hit.title if full else f"{hit.title} (snippet)".strip(), text)
