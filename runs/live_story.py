"""A question's story on the screen, step by step as it happens."""

from collections.abc import Callable

import dspy

from ..program.register import Requirement
from ..program.trajectory import AnswerStep, ErrorStep, Found, LMStep, RegisterStep, SearchStep, Step, VerifyStep
from .answered import citations, cost_parts, stop_in_words, verified_lines
from .output import Screen
from .plain_text import shorten
from .register_view import MARKS, WORDS, Change, RegisterView

_STYLES = {"pending": "", "active": "yellow", "resolved": "green", "retired": "dim"}
_SNIPPET, _TITLE = 80, 60
_NEXT = {
    "select": "writing a query",
    "write_query": "searching",
    "initialize": "",
    "update": "",
    "answer": "",
    "force_answer": "",
    "verify": "",
}


class LiveStory:
    """Prints steps; give it to `watching`.

    Args:
        screen: Where to.
        text_of: The text of a passage by its id.
        doing: Told what is going on between the steps.
    """

    def __init__(self, screen: Screen, text_of: Callable[[str], str], doing: Callable[[str], None]) -> None:
        self._screen = screen
        self._text_of = text_of
        self._doing = doing
        self._register = RegisterView()
        self._aliases: dict[str, str] = {}
        self._loop = 0

    def begin(self, question: str) -> None:
        """Show the question."""
        self._screen.line()
        self._screen.entry("Question", question, head_style="bold cyan", style="bold")
        self._doing("searching with the question")

    def __call__(self, step: Step) -> None:
        """Show one step."""
        match step:
            case SearchStep():
                self._search(step)
            case RegisterStep():
                self._changes(step)
            case ErrorStep():
                self._error(step)
            case LMStep():
                self._doing(_NEXT[step.step])
            case AnswerStep():
                self._doing("")
            case VerifyStep():
                head, *more = verified_lines(step)
                self._screen.entry(head, "", head_style="magenta")
                for line in more:
                    self._screen.entry("", line, indent=2, style="dim")

    def end(self, prediction: dspy.Prediction) -> None:
        """Show the answer and what it took."""
        screen = self._screen
        screen.heading("Answer")
        show_answer(screen, prediction)
        stopped = f"{prediction.stop_reason}: {stop_in_words(prediction.stop_reason)}"
        screen.entry("Stopped", stopped, head_style="dim", style="dim")
        screen.entry("Cost   ", " · ".join(cost_parts(prediction.usage)), head_style="dim", style="dim")

    def _search(self, step: SearchStep) -> None:
        screen = self._screen
        self._heading(step.loop)
        target = self._register.get(step.target)
        if target is not None:
            screen.entry(f"{MARKS['active']} {target.id}", self._register.text(target), head_style="yellow")
        if step.target is not None:
            screen.entry(f"{step.tool.replace('_', ' ')}:", step.query, indent=2, head_style="bold")
        if step.note:
            screen.entry("", step.note, indent=2, style="dim")
        self._passages(step.found)
        self._doing("planning what has to be found out" if step.loop == 0 else "reading the passages")

    def _passages(self, passages: tuple[Found, ...]) -> None:
        """New passages a line each, those that were there already on one line together."""
        again = []
        for found in passages:
            self._aliases[found.passage_id] = found.alias
            title = shorten(found.title or found.passage_id, _TITLE)
            if not found.new:
                again.append(f"{found.alias} {title}")
                continue
            head = f"+ {found.alias:<4}"
            snippet = shorten(self._text_of(found.passage_id), _SNIPPET)
            room = max(20, self._screen.width - len(head) - 5)
            self._screen.entry(head, shorten(f"{title} — {snippet}", room), indent=4, head_style="green")
        if again:
            self._screen.entry("  again:", " · ".join(again), indent=4, head_style="dim", style="dim")

    def _changes(self, step: RegisterStep) -> None:
        changes = self._register.apply(step)
        if step.cause == "initialize":
            self._screen.entry("", "The register", style="bold")
            for item in self._register.items:
                self._item(item)
            if not self._register.items:
                self._screen.entry("", "nothing to search for", indent=2, style="dim")
        else:
            for change in changes:
                self._change(change)
            if step.cause == "update" and not changes:
                self._screen.entry("", "nothing new for the register", indent=2, style="dim")
        for refused in step.refused:
            self._screen.entry("refused:", refused, indent=2, head_style="dim", style="dim")
        open_items = [item for item in self._register.items if item.is_open]
        self._doing("choosing what to search for next" if open_items else "answering")

    def _item(self, item: Requirement) -> None:
        """One requirement as the register begins."""
        more = f" (needs {', '.join(item.needs)})" if item.needs else ""
        if item.answer:
            more += f" → {item.answer}, tentatively{self._support(item.support)}"
        style = _STYLES[item.status]
        head = f"{item.id:<3} {MARKS[item.status]} {WORDS[item.status]:<8}"
        self._screen.entry(head, item.text + more, indent=2, head_style=style)

    def _change(self, change: Change) -> None:
        """One requirement as a step changed it."""
        item, before = change.item, change.before
        style = _STYLES[item.status]
        said = "new" if before is None else WORDS[item.status] if not item.is_open else "noted"
        head = f"→ {item.id:<3} {MARKS[item.status]} {said:<8}"
        if before is None:
            self._screen.entry(head, item.text + (f" (replaces {item.replaces})" if item.replaces else ""), indent=2)
            return
        if item.status == "retired" and change.new_status:
            text = item.reason
        else:
            text = item.answer + (" (tentative)" if item.is_open and item.answer else "")
        shown = item.support if change.new_status else change.new_support
        parts = [text + self._support(shown)]
        if item.note and item.note != before.note:
            parts.append(item.note)
        text = " · ".join(part.strip() for part in parts if part.strip()) or "no value given"
        self._screen.entry(head, text, indent=2, head_style=style, style="bold" if item.status == "resolved" else "")

    def _support(self, passages: tuple[str, ...]) -> str:
        return "".join(f" [{self._aliases.get(passage, passage)}]" for passage in passages)

    def _error(self, step: ErrorStep) -> None:
        self._heading(step.loop)
        what = "failed" if step.fatal else "used its default"
        text = f"{step.error}: {step.message}"
        self._screen.entry(f"{step.step} {what}:", text, indent=2, head_style="red", style="dim")

    def _heading(self, loop: int) -> None:
        if loop == 0 and not self._aliases and not self._register.items:
            self._screen.heading("Loop 0: a first search with the question itself")
        elif loop != self._loop:
            self._screen.heading(f"Loop {loop}")
        self._loop = loop


def show_answer(screen: Screen, prediction: dspy.Prediction) -> None:
    """The answer, its explanation, and the titles of what it cites."""
    if prediction.abstained:
        screen.entry("Answer ", "none: the evidence does not give one", head_style="bold", style="yellow")
    else:
        screen.entry("Answer ", prediction.answer, head_style="bold", style="bold green")
    if prediction.explanation:
        screen.entry("Because", prediction.explanation, head_style="dim")
    for cited in citations(prediction):
        screen.entry(f"[{cited.alias}]", cited.title or cited.passage_id, indent=8, head_style="dim", style="dim")
