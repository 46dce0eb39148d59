"""The append-only text that steps share: the initial register once, then each loop's search and what it changed.

Rendered identically each time, so that the prompt prefix is stable. A delta lists only the items whose status, answer,
note or support changed since they were last shown; pending and active are both "open" and not a change. The full-replay
variant appends the whole register where the baseline appends the delta; nothing else differs.
"""

from collections.abc import Callable

from ..retrievers.session import SearchResult
from .neutralize import one_line
from .register import Register, Requirement

STUCK_AFTER = 3
_STUCK = (
    "{id} is stuck: {count} searches brought no new support. Serve another item, resolve it with the best-supported "
    "value, or retire it with a reason such as 'not found'."
)


class Progress:
    """The progress text of one question; `alias` turns a passage id into what the LM sees (P1)."""

    def __init__(self, alias: Callable[[str], str], *, replay: bool = False) -> None:
        self.text = ""
        self._alias = alias
        self._replay = replay
        self._shown: dict[str, Requirement] = {}
        self._misses: dict[str, int] = {}

    def start(self, register: Register, seed: SearchResult | None) -> str:
        """Append the initial register and the seed search; returns what was appended."""
        lines = ["Register", *self._changed(register)]
        if seed is not None:
            lines.append(f"Loop 0: {self._search(seed)}")
        return self._append(lines)

    def record(self, loop: int, target: Requirement, result: SearchResult, register: Register) -> str:
        """Append one loop: its search, then what it changed; returns what was appended."""
        lines = [f"Loop {loop} for {target.id}: {self._search(result)}"]
        after = register.get(target.id) or target
        grew = len(after.support) > len(target.support)
        lines += self._whole(register) if self._replay else self._changed(register)
        self._misses[target.id] = 0 if grew else self._misses.get(target.id, 0) + 1
        if after.is_open and self._misses[target.id] == STUCK_AFTER:
            lines.append(_STUCK.format(id=target.id, count=STUCK_AFTER))
        return self._append(lines)

    def reopen(self, register: Register) -> str:
        """Append what a verifier opened again; returns what was appended."""
        return self._append(["Verified:", *(self._whole(register) if self._replay else self._changed(register))])

    def is_stuck(self, item: Requirement) -> bool:
        """Whether the last three or more loops on an open item brought it no new support."""
        return item.is_open and self._misses.get(item.id, 0) >= STUCK_AFTER

    def _append(self, lines: list[str]) -> str:
        chunk = "\n".join(lines)
        self.text = f"{self.text}\n{chunk}" if self.text else chunk
        return chunk

    def _search(self, result: SearchResult) -> str:
        came = ", ".join(hit.alias for hit in result.hits) or "nothing"
        line = f'{result.tool} "{one_line(result.query, 200)}" -> {came}'
        return f"{line} ({one_line(result.note, 120)})" if result.note else line

    def _changed(self, register: Register) -> list[str]:
        """Lines for the items that changed materially since they were last shown."""
        changed = [item for item in register.items if _material(self._shown.get(item.id)) != _material(item)]
        lines = [self._line(item, whole=item.id not in self._shown) for item in changed]
        self._shown = {item.id: item for item in register.items}
        return lines

    def _whole(self, register: Register) -> list[str]:
        return [self._line(item, whole=True) for item in register.items]

    def _line(self, item: Requirement, *, whole: bool) -> str:
        status = "open" if item.is_open else item.status
        parts = [item.text] if whole else []
        if item.needs and whole:
            parts.append(f"needs {', '.join(item.needs)}")
        if item.replaces and whole:
            parts.append(f"replaces {item.replaces}")
        if item.answer:
            parts.append(f"{'tentative ' if item.is_open else ''}answer: {item.answer}")
        if item.note:
            parts.append(f"note: {item.note}")
        if item.reason:
            parts.append(f"reason: {item.reason}")
        if item.support:
            parts.append(f"support: {', '.join(self._alias(passage) for passage in item.support)}")
        return f"{item.id} [{status}] {' | '.join(parts)}".rstrip()


def _material(item: Requirement | None) -> tuple[object, ...] | None:
    """What a delta compares: status, answer, note and support."""
    if item is None:
        return None
    return ("open" if item.is_open else item.status, item.answer, item.note, item.support)
