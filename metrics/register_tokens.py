"""What showing the register costs: deltas against the whole register each loop, priced on the same trajectory.

A record's trajectory is rendered twice as `program.progress` renders it, and the tokens of the lines that list items
are counted: those of searches and hints are the same both ways and left out. Two prices. *Appended*: every line once,
as the budget counts it and as the paper's injections are. *In prompts*: every line once for each prompt that
shows it, for `progress` stands whole in each of the steps that choose, query and update;
a prompt that was retried counts once.

The trajectory is held fixed: that a system which sees other text would have searched otherwise is not priced.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from ..program.progress import Progress
from ..program.register import MAX_ITEMS, Register, Requirement
from ..program.tokens import count_tokens
from ..program.trajectory import LMStep, RegisterStep, SearchStep
from ..retrievers.session import AnyTool, Hit, SearchResult
from .record import QuestionRecord
from .statistics import Estimate, mean

_SHOWS_PROGRESS = frozenset({"select", "write_query", "update"})
AsRecorded = Literal["delta", "replay", "neither"]
_ITEM = re.compile(r"R\d+ \[")


@dataclass(frozen=True, slots=True)
class RegisterTokens:
    """Tokens of one question's register text.

    Attributes:
        id: The question's.
        hops: Its hop count.
        loops: Loops that appended to the text.
        initial: Of the initial register, the same both ways and part of all that follows.
        delta: Appended, with deltas.
        replay: Appended, with the whole register each loop.
        delta_in_prompts: Over all prompts that show it, with deltas.
        replay_in_prompts: Over all prompts that show it, with the whole register each loop.
        as_recorded: Which of the renderings is what the steps recorded as shown, word for word; a register that never
            grew past its first text is both, told as `delta`.
    """

    id: str
    hops: int
    loops: int
    initial: int
    delta: int
    replay: int
    delta_in_prompts: int
    replay_in_prompts: int
    as_recorded: AsRecorded

    @property
    def saved(self) -> float:
        """How much less is appended with deltas, as a share; 0 where nothing is."""
        return 1 - self.delta / self.replay if self.replay else 0.0

    @property
    def saved_in_prompts(self) -> float:
        """How much less the prompts hold with deltas, as a share; 0 where they hold none."""
        return 1 - self.delta_in_prompts / self.replay_in_prompts if self.replay_in_prompts else 0.0


@dataclass(frozen=True, slots=True)
class RegisterPrice:
    """The register text of several questions.

    Attributes:
        n: Questions with a register.
        agreeing: Those of which a rendering is word for word what was recorded.
        delta: Appended tokens in all, with deltas.
        replay: The same with the whole register each loop.
        saved: Mean over questions of how much less is appended with deltas; None where `n` is 0.
        delta_in_prompts: Tokens in prompts in all, with deltas.
        replay_in_prompts: The same with the whole register each loop.
        saved_in_prompts: Mean over questions of how much less prompts hold with deltas.
    """

    n: int
    agreeing: int
    delta: int
    replay: int
    saved: Estimate | None
    delta_in_prompts: int
    replay_in_prompts: int
    saved_in_prompts: Estimate | None


def register_tokens(record: QuestionRecord) -> RegisterTokens | None:
    """Price one question's register text both ways; None where it has no register."""
    delta, replay = _Rendering(record, replay=False), _Rendering(record, replay=True)
    if not delta.appended:
        return None
    recorded: AsRecorded = "delta" if delta.as_recorded else "replay" if replay.as_recorded else "neither"
    return RegisterTokens(
        id=record.id,
        hops=record.hops,
        loops=len(delta.appended) - 1,
        initial=delta.appended[0],
        delta=sum(delta.appended),
        replay=sum(replay.appended),
        delta_in_prompts=delta.in_prompts,
        replay_in_prompts=replay.in_prompts,
        as_recorded=recorded,
    )


def register_price(counted: Iterable[RegisterTokens], *, seed: int = 0) -> RegisterPrice:
    """Add up questions."""
    each = list(counted)
    return RegisterPrice(
        n=len(each),
        agreeing=sum(one.as_recorded != "neither" for one in each),
        delta=sum(one.delta for one in each),
        replay=sum(one.replay for one in each),
        saved=mean([one.saved for one in each], seed=seed),
        delta_in_prompts=sum(one.delta_in_prompts for one in each),
        replay_in_prompts=sum(one.replay_in_prompts for one in each),
        saved_in_prompts=mean([one.saved_in_prompts for one in each], seed=seed),
    )


def by_hops(counted: Sequence[RegisterTokens], *, seed: int = 0) -> dict[int, RegisterPrice]:
    """The same by hop count, ascending."""
    return {
        hops: register_price([one for one in counted if one.hops == hops], seed=seed)
        for hops in sorted({one.hops for one in counted})
    }


class _Rendering:
    """A trajectory's progress text, rendered again one way.

    Attributes:
        appended: Tokens of the item lines of each text appended, the initial one first.
        in_prompts: Tokens of item lines over all prompts.
        as_recorded: Every text is what its step recorded as shown.
    """

    def __init__(self, record: QuestionRecord, *, replay: bool) -> None:
        self.appended: list[int] = []
        self.in_prompts = 0
        self.as_recorded = True
        names = {found.passage_id: found.alias for step in record.searches for found in step.found}
        self._progress = Progress(lambda passage: names.get(passage, passage), replay=replay)
        items: dict[str, Requirement] = {}
        search: SearchStep | None = None
        for step in record.trajectory:
            if isinstance(step, SearchStep):
                search = step
            elif isinstance(step, LMStep) and step.step in _SHOWS_PROGRESS:
                self.in_prompts += sum(self.appended)
            elif isinstance(step, RegisterStep):
                before = dict(items)
                items |= {item.id: item for item in step.changed}
                self._append(step, before, items, search)
                search = None if step.cause != "select" else search

    def _append(
        self,
        step: RegisterStep,
        before: dict[str, Requirement],
        items: dict[str, Requirement],
        search: SearchStep | None,
    ) -> None:
        register = Register(items=tuple(items.values()), max_items=max(MAX_ITEMS, len(items)))
        if step.cause == "initialize":
            text = self._progress.start(register, None if search is None else _shown(search))
        elif step.cause == "update" and search is not None and search.target in before:
            text = self._progress.record(step.loop, before[search.target], _shown(search), register)
        else:
            text = step.shown
        if text:
            self.appended.append(sum(count_tokens(line) for line in text.split("\n") if _ITEM.match(line)))
        self.as_recorded = self.as_recorded and text == step.shown


def _shown(step: SearchStep) -> SearchResult:
    """A search as `Progress` reads it: of what came back it shows the aliases only, never a text."""
    hits = tuple(
        Hit(found.alias, found.passage_id, found.title, "", found.score, found.rank, found.new, found.full)
        for found in step.found
    )
    return SearchResult(cast(AnyTool, step.tool), step.query, hits, step.repeated, step.note)
