"""A register followed through a trajectory: what each of its steps changed, for those who show it."""

from dataclasses import dataclass

from ..program.evidence import filled
from ..program.register import Register, Requirement
from ..program.trajectory import RegisterStep

#: How a status looks beside its word.
MARKS = {"pending": "○", "active": "●", "resolved": "✓", "retired": "✗"}
#: What a status is called on screen: a pending item is one that is still open.
WORDS = {"pending": "open", "active": "active", "resolved": "resolved", "retired": "retired"}


@dataclass(frozen=True)
class Change:
    """One requirement after a step, and before it (None where the step added it)."""

    item: Requirement
    before: Requirement | None

    @property
    def new_support(self) -> tuple[str, ...]:
        """The passages that the step added."""
        had = self.before.support if self.before else ()
        return tuple(passage for passage in self.item.support if passage not in had)

    @property
    def new_status(self) -> bool:
        """Whether the step settled the item, or added it."""
        return self.before is None or (self.item.status != self.before.status and not self.item.is_open)


class RegisterView:
    """The register as the steps seen so far leave it."""

    def __init__(self) -> None:
        self._items: dict[str, Requirement] = {}

    @property
    def items(self) -> tuple[Requirement, ...]:
        """The requirements in the order of their ids."""
        return tuple(self._items.values())

    def apply(self, step: RegisterStep) -> list[Change]:
        """Take a step; returns what it changed, mere selection of a target aside."""
        changes = [Change(item, self._items.get(item.id)) for item in step.changed]
        self._items |= {item.id: item for item in step.changed}
        return [change for change in changes if not _only_selected(change)]

    def get(self, item_id: str | None) -> Requirement | None:
        """The requirement of that id."""
        return self._items.get(item_id or "")

    def text(self, item: Requirement) -> str:
        """Its text, with the values found in place of the ids that it refers to."""
        return filled(item, Register(items=self.items))


def _only_selected(change: Change) -> bool:
    before, item = change.before, change.item
    return before is not None and before.model_copy(update={"status": item.status}) == item and item.is_open
