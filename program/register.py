"""The register of requirements, and the only ways in which it changes.

A `Register` is immutable. Each transition is pure: it returns the new register and what it refused, and never raises on
what an LM wrote. The rules, held against every reply:

- nothing disappears: an update that leaves an open item out changes nothing about it;
- nothing is forgotten: support only grows, without duplicates, in order of arrival, on closed items too;
- provenance is real: a passage id counts only if this question's search session returned it;
- resolved needs at least one real supporting passage, retired a non-blank reason, else the item stays open;
- a value needs evidence too: without a real supporting passage, old or new, an item takes none, not even tentatively;
- at most one item is active, and selecting one sets the other open items to pending;
- closed stays closed, except that a resolved item may be retired with a reason; a new item may replace a closed one,
  never an open one (it is then added as an item of its own), and a verifier that may search can reopen a resolved one
  with a reason, its value becoming tentative and its support staying;
- ids are ours: stable, never reused, unknown ones refused; at most `max_items` items in all.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from ..signatures.values import ItemUpdate, NewRequirement, ProposedRequirement
from .neutralize import one_line

Status = Literal["pending", "active", "resolved", "retired"]
ResolvePassage = Callable[[str], str | None]
"""What an LM wrote for a passage -> the id of a passage that this session returned, or None."""

MAX_ITEMS = 12
_NUMBERED = re.compile(r"\W*(?:r|req|requirement|item)?[\s#._-]*0*(\d{1,4})\W*", re.IGNORECASE)
_LED_BY_ID = re.compile(r"\W*R0*(\d{1,4})\s*[:)\]–—-]\s")
# An LM's free text is shown again in every later prompt: what runs on is cut.
_TEXT, _SHORT = 300, 160


class Requirement(BaseModel):
    """One fact that the answer needs.

    `answer` is the short value found, tentative while the item is open, never without support; `support` holds passage
    ids in order of arrival; `needs` the ids of items whose values the text uses; `replaces` the closed item that this
    one took over from.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    text: str
    needs: tuple[str, ...] = ()
    status: Status = "pending"
    answer: str = ""
    note: str = ""
    support: tuple[str, ...] = ()
    reason: str = ""
    replaces: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether the item is still to be settled."""
        return self.status in ("pending", "active")


class Transition(BaseModel):
    """A register after a change, and what the change asked for that the rules refused."""

    model_config = ConfigDict(frozen=True)

    register_after: "Register"
    refused: tuple[str, ...] = ()


class Register(BaseModel):
    """The requirements of one question, in order of their ids."""

    model_config = ConfigDict(frozen=True)

    items: tuple[Requirement, ...] = ()
    max_items: int = MAX_ITEMS

    def get(self, item_id: str) -> Requirement | None:
        """The item with this id, or None."""
        return next((item for item in self.items if item.id == item_id), None)

    def find(self, written: str) -> Requirement | None:
        """The item that an LM means by `written`: `R3`, `[r3]`, `3`, `R3: its text`; None where there is none."""
        match = _NUMBERED.fullmatch(written) or _LED_BY_ID.match(written)
        return self.get(f"R{match[1]}") if match else None

    @property
    def open_items(self) -> tuple[Requirement, ...]:
        """Items that are pending or active."""
        return tuple(item for item in self.items if item.is_open)

    @property
    def supporting(self) -> tuple[str, ...]:
        """The passages that support any item, each once, in the order of the items."""
        return tuple(dict.fromkeys(passage for item in self.items for passage in item.support))

    @property
    def active(self) -> Requirement | None:
        """The one item that the search is for, if any."""
        return next((item for item in self.items if item.status == "active"), None)

    def ready(self, item: Requirement) -> bool:
        """Whether each item that it needs, or what replaced that, is closed or holds a tentative value."""
        needed = (self.current(other) for other in item.needs)
        return all(other is None or not other.is_open or bool(other.answer) for other in needed)

    def current(self, item_id: str) -> Requirement | None:
        """The item with this id or, where it was retired and replaced, the last one that took over from it."""
        item = self.get(item_id)
        while item and item.status == "retired":
            heir = next((later for later in reversed(self.items) if later.replaces == item.id), None)
            if heir is None:
                break
            item = heir
        return item

    def candidates(self) -> tuple[Requirement, ...]:
        """The open items to choose the next target from: the ready ones, or all where none is ready."""
        ready = tuple(item for item in self.open_items if self.ready(item))
        return ready or self.open_items

    def initialize(self, proposals: Iterable[ProposedRequirement], resolve: ResolvePassage) -> Transition:
        """Fill an empty register; the first item that is ready becomes the target. Nothing is resolved here."""
        register, refused = self, list[str]()
        # The LM numbers its own list; a duplicate or unusable item in it must not shift what the others refer to.
        ours: dict[str, str] = {}

        def renamed(written: str) -> str:
            return re.sub(r"\bR\d+\b", lambda match: ours.get(match[0], match[0]), written)

        for number, proposal in enumerate(proposals, start=1):
            text = renamed(proposal.text)
            if twin := register._twin(text):
                ours[f"R{number}"] = twin.id
            register, refusal = register._add(text, [renamed(need) for need in proposal.needs], None)
            if refusal:
                refused.append(refusal)
                continue
            item = register.items[-1]
            ours[f"R{number}"] = item.id
            support, unknown = _known(proposal.support, resolve, item.id)
            refused += unknown
            answer, unsupported = _supported(item.id, proposal.answer, support)
            refused += unsupported
            register = register._replace(item.model_copy(update={"support": support, "answer": answer}))
        first = next(iter(register.candidates()), None)
        register = register.select(first.id).register_after if first else register
        return Transition(register_after=register, refused=tuple(refused))

    def select(self, written: str) -> Transition:
        """Make one open item active and every other open item pending."""
        target = self.find(written)
        if target is None or not target.is_open:
            return Transition(register_after=self, refused=(f"select {one_line(written, 40)}: no such open item",))
        items = (
            item.model_copy(update={"status": "active" if item.id == target.id else "pending"})
            if item.is_open
            else item
            for item in self.items
        )
        return Transition(register_after=self.model_copy(update={"items": tuple(items)}))

    def update(
        self, updates: Sequence[ItemUpdate], additions: Sequence[NewRequirement], resolve: ResolvePassage
    ) -> Transition:
        """Apply what an LM said of some items, then add new ones; items that are not named stay untouched."""
        register, refused = self, list[str]()
        for update in updates:
            item = register.find(update.id)
            if item is None:
                refused.append(f"update of {one_line(update.id, 40)}: no such item")
                continue
            changed, refusals = _updated(item, update, resolve)
            refused += refusals
            register = register._replace(changed)
        for addition in additions:
            replaced = register.find(addition.replaces) if addition.replaces else None
            if addition.replaces and not replaced:
                refused.append(f"replacing {one_line(addition.replaces, 40)}: no such item")
            elif replaced and replaced.is_open:
                refused.append(f"replacing {replaced.id}: it is still open")
                replaced = None
            register, refusal = register._add(addition.text, addition.needs, replaced)
            if refusal:
                refused.append(refusal)
        return Transition(register_after=register, refused=tuple(refused))

    def reopen(self, reasons: Iterable[tuple[str, str]]) -> Transition:
        """Open resolved items again, each with the reason, which becomes its note; for the verifier alone.

        Args:
            reasons: Pairs of what an LM wrote for an item and why it is to be reopened.
        """
        register, refused = self, list[str]()
        for written, reason in reasons:
            item, why = register.find(written), one_line(reason, _TEXT)
            if item is None:
                refused.append(f"reopening {one_line(written, 40)}: no such item")
            elif item.status != "resolved":
                refused.append(f"reopening {item.id}: it is {'open' if item.is_open else item.status}")
            elif not why:
                refused.append(f"reopening {item.id}: no reason given")
            else:
                register = register._replace(item.model_copy(update={"status": "pending", "note": f"reopened: {why}"}))
        return Transition(register_after=register, refused=tuple(refused))

    def _replace(self, changed: Requirement) -> "Register":
        items = tuple(changed if item.id == changed.id else item for item in self.items)
        return self.model_copy(update={"items": items})

    def _twin(self, text: str) -> Requirement | None:
        """The open item that asks the same."""
        folded = one_line(text, _TEXT).casefold()
        return next((item for item in self.open_items if item.text.casefold() == folded), None)

    def _add(self, text: str, needs: Sequence[str], replaced: Requirement | None) -> tuple["Register", str]:
        text = one_line(text, _TEXT)
        if not text:
            return self, "new item: no text"
        if len(self.items) >= self.max_items:
            return self, f"new item: the register holds at most {self.max_items}"
        if twin := self._twin(text):
            return self, f"new item: {twin.id} asks the same"
        # Only earlier items can be needed, which also rules out circles.
        named = [*needs, *re.findall(r"\bR\d+\b", text)]
        known = dict.fromkeys(item.id for written in named if (item := self.find(written)))
        item = Requirement(
            id=f"R{len(self.items) + 1}", text=text, needs=tuple(known), replaces=replaced.id if replaced else None
        )
        return self.model_copy(update={"items": (*self.items, item)}), ""


def _known(written: Sequence[str], resolve: ResolvePassage, item_id: str) -> tuple[tuple[str, ...], list[str]]:
    """The real passages among `written`, once each in order, and a refusal for each of the others."""
    found, refused = dict[str, None](), list[str]()
    for passage in written:
        passage_id = resolve(passage)
        if passage_id is None:
            refused.append(f"support of {item_id}: {one_line(passage, 40)} was never returned")
        else:
            found[passage_id] = None
    return tuple(found), refused


def _supported(item_id: str, written: str, support: Sequence[str]) -> tuple[str, list[str]]:
    """The value that an LM wrote, blank and refused where no real passage stands behind it: that is a guess."""
    answer = one_line(written, _SHORT)
    if answer and not support:
        return "", [f"answer of {item_id}: no supporting passage"]
    return answer, []


def _updated(item: Requirement, update: ItemUpdate, resolve: ResolvePassage) -> tuple[Requirement, list[str]]:
    """One item after one update, with what the rules refused of it."""
    real, refused = _known(update.support, resolve, item.id)
    support = tuple(dict.fromkeys((*item.support, *real)))
    note, reason = one_line(update.note, _TEXT), one_line(update.reason, _TEXT)
    if not item.is_open:
        if item.status == "resolved" and update.status == "retired" and reason:
            return item.model_copy(update={"status": "retired", "reason": reason, "support": support}), refused
        return item.model_copy(update={"support": support}), refused
    if update.status == "retired" and not reason:
        return item, [*refused, f"retiring {item.id}: no reason given"]
    answer, refusal = _supported(item.id, update.answer, support)
    refused += refusal
    changes: dict[str, object] = {"support": support}
    if note:
        changes["note"] = note
    if answer:
        changes["answer"] = answer
    if update.status == "retired":
        changes |= {"status": "retired", "reason": reason}
    elif update.status == "resolved" and not support:
        refused.append(f"resolving {item.id}: no supporting passage")
    elif update.status == "resolved":
        changes["status"] = "resolved"
    return item.model_copy(update=changes), refused
