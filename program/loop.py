"""How ExecutionRAG answers one question: the loop, written once, as a generator.

Seed search, register, then per loop: a target, a query, a search, an update. It ends with an answer when nothing is
open, or with a forced one when the budget is spent. No LM call is made where the outcome is forced: selection is asked
only among two or more candidates, and an update only where a search showed something new, or where the target has what
it needs to be resolved or is to be given up.

The update step sees the passages that this target's searches have not shown it before, so that one which came early and
meant nothing then is read again once it is searched for.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import dspy

from ..retrievers.session import Hit, SearchResult, Tool
from ..signatures.values import ProposedRequirement
from .evidence import (
    NONE,
    AnswerText,
    answer_passages,
    filled,
    findings,
    found_values,
    named_passage,
    read_query,
    show_passage,
    show_passages,
    target_text,
)
from .neutralize import neutralize, one_line
from .progress import Progress
from .question import Answering, ContextOverflow, LMFailure, QuestionState, StopReason
from .register import MAX_ITEMS, Register, Requirement, Transition
from .trajectory import RegisterStep
from .verification import MAX_ROUNDS, Verifier, audited, reopened

NUDGE_UPDATE = (
    "Most of the search budget is spent: resolve what is supported, and retire with a reason what is not needed."
)
NUDGE_QUERY = "Most of the search budget is spent: search more narrowly, for exactly the fact that is missing."


@dataclass(frozen=True)
class LoopSettings:
    """What distinguishes the register's variants.

    `seed`: whether a first search grounds the initial register. `update`: whether what is found changes the register;
    else each of its items is searched for once. `replay`: whether the whole register is shown each loop instead of the
    delta. `verifier`: how the register is checked against its passages, if it is.
    """

    seed: bool = True
    update: bool = True
    replay: bool = False
    max_items: int = MAX_ITEMS
    verifier: Verifier | None = None


class RegisterLoop:
    """One question under a register; `run` is the generator."""

    def __init__(self, state: QuestionState, settings: LoopSettings) -> None:
        self.state = state
        self.settings = settings
        self.register = Register(max_items=settings.max_items)
        self.progress = Progress(state.session.alias, replay=settings.replay)
        self.question = neutralize(state.question).strip()
        self._queries: dict[str, list[str]] = {}
        self._read: dict[str, set[tuple[str, str]]] = {}

    def _passage(self, written: str) -> str | None:
        return named_passage(written, self.state.session)

    def run(self) -> Answering:
        """Answer the question; ends by returning its prediction, whatever the LM or its provider did."""
        try:
            stop_reason = yield from self._search_until_settled()
            answer, overflowed = yield from self._answer(stop_reason)
            if self.settings.verifier == "audit":
                answer = yield from audited(self, answer)
        except LMFailure:
            return self.state.prediction(AnswerText("", "", True), self.register, "lm_error")
        return self.state.prediction(answer, self.register, "context_overflow" if overflowed else stop_reason)

    def _search_until_settled(self) -> Generator[Any, Any, StopReason]:
        try:
            settled = yield from self._initialize()
            if settled:
                return settled
            if not self.settings.update:
                return (yield from self._search_each_once())
            limit = yield from self._close_items()
            rounds = MAX_ROUNDS if self.settings.verifier == "search" else 0
            while limit is None and rounds and self.state.budget.exceeded is None:
                rounds -= 1
                if not (yield from reopened(self)):
                    break
                limit = yield from self._close_items()
            if limit:
                return limit
        except ContextOverflow:
            return "context_overflow"
        return "resolved"

    def _close_items(self) -> Generator[Any, Any, StopReason | None]:
        """Loop until nothing is open, or a limit of the budget, which it then gives."""
        while self.register.open_items:
            if limit := self.state.budget.exceeded:
                return limit
            yield from self._loop()
        return None

    def _initialize(self) -> Generator[Any, Any, StopReason | None]:
        seed: SearchResult | None = None
        if self.settings.seed:
            seed = yield from self.state.search("semantic_search", self.state.question, None)
        hits = list(seed.hits) if seed else []
        shown = [show_passage(hit.alias, hit.title, hit.text) for hit in hits]
        outputs, _ = yield from self.ask_with_passages("initialize", shown, "passages", question=self.question)
        proposals = _proposals(outputs)
        transition = self.register.initialize(proposals, self._passage)
        if outputs is not None and not proposals:
            self.apply("initialize", transition, self.progress.start(transition.register_after, seed))
            return "no_requirements"
        if not transition.register_after.items:
            if outputs is not None:
                self.state.fail("initialize", "no usable requirement; the question itself becomes the requirement")
            whole = ProposedRequirement(text=self.question)
            transition = self.register.initialize([whole], self._passage)
        self.apply("initialize", transition, self.progress.start(transition.register_after, seed))
        return None

    def _loop(self) -> Generator[Any, Any, None]:
        state = self.state
        nudged = state.budget.nudge_due
        state.loop = state.budget.loops + 1
        target = yield from self._select()
        tool, query = yield from self._write_query(target, NUDGE_QUERY if nudged else NONE)
        result = yield from state.search(tool, query, target.id)
        state.budget.loops += 1
        transition = yield from self._update(target, result, NUDGE_UPDATE if nudged else NONE)
        shown = self.progress.record(state.loop, target, result, transition.register_after)
        self.apply("update", transition, shown)

    def _search_each_once(self) -> Generator[Any, Any, StopReason]:
        """Without updates: a query and a search for each item in turn; nothing is ever resolved by it."""
        state = self.state
        for target in self.register.open_items:
            if limit := state.budget.exceeded:
                return limit
            nudged = state.budget.nudge_due
            state.loop = state.budget.loops + 1
            tool, query = yield from self._write_query(target, NUDGE_QUERY if nudged else NONE)
            result = yield from state.search(tool, query, target.id)
            state.budget.loops += 1
            shown = self.progress.record(state.loop, target, result, self.register)
            self.apply("update", Transition(register_after=self.register), shown)
        return "answered"

    def _select(self) -> Generator[Any, Any, Requirement]:
        candidates = self.register.candidates()
        active = self.register.active
        chosen = candidates[0]
        if len(candidates) > 1 and self.state.loop == 1 and active in candidates:
            return active or chosen  # initialisation has made the first target
        if len(candidates) > 1:
            outputs = yield from self.state.ask(
                "select",
                question=self.question,
                progress=self.progress.text,
                open_ids=", ".join(item.id for item in candidates),
            )
            written = str(outputs["selected_id"]) if outputs is not None else ""
            selected = self.register.find(written)
            if selected is not None and selected in candidates:
                chosen = selected
            elif outputs is not None:
                self.state.fail("select", f"{one_line(written, 60)!r} is no item to choose; {chosen.id} is taken")
        if chosen.status != "active":
            self.apply("select", self.register.select(chosen.id), "")
        return self.register.get(chosen.id) or chosen

    def _write_query(self, target: Requirement, advice: str) -> Generator[Any, Any, tuple[Tool, str]]:
        default = filled(target, self.register)
        tried = self._queries.setdefault(target.id, [])
        outputs = yield from self.state.ask(
            "write_query",
            question=self.question,
            progress=self.progress.text,
            target=target_text(target, self.register),
            found_values=found_values(self.register, target.id),
            tried_queries="\n".join(tried) or NONE,
            advice=advice,
        )
        tool: Tool = "semantic_search"
        query = ""
        if outputs is not None:
            tool, query = read_query(outputs["tool"], str(outputs["query"]))
            if not query:
                self.state.fail("write_query", "blank query; the requirement's text is searched for")
        if not query:
            tool, query = "semantic_search", default
        tried.append(f'"{query}" ({tool})')
        return tool, query

    def _update(self, target: Requirement, result: SearchResult, advice: str) -> Generator[Any, Any, Transition]:
        unread = self._unread(target, result)
        unchanged = Transition(register_after=self.register)
        settled = bool(target.answer and target.support)
        if not unread and not settled and advice == NONE and not self.progress.is_stuck(target):
            return unchanged
        outputs, sent = yield from self.ask_with_passages(
            "update",
            [show_passage(hit.alias, hit.title, hit.text) for hit in unread],
            "new_passages",
            question=self.question,
            progress=self.progress.text,
            target=target_text(target, self.register),
            advice=advice,
        )
        if outputs is None:
            return unchanged
        self._read.setdefault(target.id, set()).update((hit.passage_id, hit.text) for hit in unread[:sent])
        return self.register.update(outputs["updates"], outputs["new_requirements"], self._passage)

    def _unread(self, target: Requirement, result: SearchResult) -> list[Hit]:
        """What came back and was not yet read for this target; a passage that was asked for by id is shown again."""
        read = self._read.get(target.id, set())
        again = result.tool == "read_passages" and not result.repeated
        return [hit for hit in result.hits if again or (hit.passage_id, hit.text) not in read]

    def ask_with_passages(
        self, step: Any, shown: list[str], field: str, **inputs: Any
    ) -> Generator[Any, Any, tuple[dspy.Prediction | None, int]]:
        """Ask a step that reads passages; where they do not fit, once more with the better half of them.

        Gives the outputs and how many of the passages they are based on.
        """
        try:
            outputs = yield from self.state.ask(step, tuple(shown), **inputs, **{field: show_passages(shown)})
            return outputs, len(shown)
        except ContextOverflow:
            if len(shown) < 2:
                raise
        better = shown[: len(shown) // 2]
        outputs = yield from self.state.ask(step, tuple(better), **inputs, **{field: show_passages(better)})
        return outputs, len(better)

    def _answer(self, stop_reason: StopReason) -> Generator[Any, Any, tuple[AnswerText, bool]]:
        """Answer from the register; where the passages do not fit, without the older half of the unsupporting ones."""
        chosen = answer_passages(self.register, self.state.session, self.state.budget.limits.effective_tokens)
        supporting = set(self.register.supporting)
        others = [pair for pair in chosen if pair[0] not in supporting]
        dropped = {pair[0] for pair in others[len(others) // 2 :]}
        fewer = [pair for pair in chosen if pair[0] not in dropped]
        return self.state.answer(
            [chosen, fewer] if dropped else [chosen],
            lambda shown: {
                "question": self.question,
                "findings": findings(self.register, self.state.session),
                "passages": show_passages(shown),
            },
            self.register,
            forced=stop_reason in ("budget_loops", "budget_tokens", "context_overflow"),
        )

    def apply(self, cause: Any, transition: Transition, shown: str) -> None:
        """Take a transition's register, count and record what it showed."""
        before = {item.id: item for item in self.register.items}
        self.register = transition.register_after
        changed = tuple(item for item in self.register.items if before.get(item.id) != item)
        self.state.budget.spend(shown)
        self.state.record(
            RegisterStep(loop=self.state.loop, cause=cause, changed=changed, refused=transition.refused, shown=shown)
        )


def _proposals(outputs: dspy.Prediction | None) -> list[ProposedRequirement]:
    """The requirements of an initialisation; a planned question past the end of the list is one without evidence."""
    if outputs is None:
        return []
    proposals: list[ProposedRequirement] = outputs["requirements"]
    planned: list[str] = outputs["one_hop_questions"]
    return [*proposals, *(ProposedRequirement(text=question) for question in planned[len(proposals) :])]
