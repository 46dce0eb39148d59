"""A question that was answered, with what is known of its gold: what the closing table and the page show."""

from collections.abc import Mapping
from dataclasses import dataclass

import dspy

from ..metrics.contain_match import contain_match
from ..metrics.evidence_recall import found_by_hop
from ..program.trajectory import Found, SearchStep, VerifyStep
from ..program.usage import Usage
from ..retrievers.index import Index
from ..retrievers.passage import Passage

_STOPS = {
    "resolved": "every requirement is settled",
    "no_requirements": "nothing had to be searched for",
    "budget_loops": "the loops were used up, so the answer was forced",
    "budget_tokens": "the context tokens were used up, so the answer was forced",
    "context_overflow": "a prompt did not fit the LM's window, so the answer was forced",
    "lm_error": "the language model failed",
}


@dataclass(frozen=True)
class GoldHop:
    """One hop of the gold chain: its sub-question, its answer, and the id of the passage that states it."""

    question: str
    answer: str
    passage_id: str | None


@dataclass(frozen=True)
class Gold:
    """The gold answer, then its aliases; and the chain of hops."""

    answers: tuple[str, ...]
    hops: tuple[GoldHop, ...] = ()


@dataclass(frozen=True)
class Answered:
    """One question and what came of it.

    Attributes:
        question: As it was asked.
        prediction: ExecutionRAG's prediction; None where the question failed altogether.
        passages: The retrieved passages by id.
        gold: What is right, where it is known.
        error: Why the question failed, in one line; blank where it did not.
    """

    question: str
    prediction: dspy.Prediction | None
    passages: Mapping[str, Passage]
    gold: Gold | None = None
    error: str = ""

    @property
    def right(self) -> bool | None:
        """Whether a gold answer stands in the answer, token by token; None without gold."""
        if self.gold is None:
            return None
        if self.prediction is None or self.error:
            return False
        return contain_match(self.gold.answers, self.prediction.answer, self.prediction.abstained)

    @property
    def found(self) -> tuple[bool | None, ...]:
        """For each gold hop, whether its passage was retrieved; None where no passage is known."""
        if self.gold is None:
            return ()
        retrieved = [] if self.prediction is None else self.prediction.retrieved_ids
        return found_by_hop([hop.passage_id for hop in self.gold.hops], retrieved)


def retrieved_passages(index: Index, prediction: dspy.Prediction) -> dict[str, Passage]:
    """The passages of a prediction by id, in order of arrival."""
    return {passage_id: index.passage(passage_id) for passage_id in prediction.retrieved_ids}


def citations(prediction: dspy.Prediction) -> list[Found]:
    """What the explanation cites, as a search found it: alias, passage id and title."""
    found = {
        found.passage_id: found
        for step in prediction.trajectory
        if isinstance(step, SearchStep)
        for found in step.found
    }
    return [found[passage_id] for passage_id in prediction.citations if passage_id in found]


def verified_lines(step: VerifyStep) -> list[str]:
    """What a verifier said and did, in short lines: its decision, its objections, what the rules refused it."""
    done = {
        "keep": f"kept {step.draft or 'no answer'}",
        "correct": f"corrected {step.draft or 'no answer'} to {step.answer}",
        "withhold": f"withheld {step.draft}",
        "sufficient": "the evidence suffices",
        "reopen": f"reopened {', '.join(step.reopened)}",
    }[step.decision]
    objections = [
        f"{check.id} not supported: {check.missing or check.evidence or 'no reason given'}"
        for check in step.checks
        if not check.supported
    ]
    return [f"verifier ({step.mode}): {done}", *objections, *(f"refused: {one}" for one in step.refused)]


def stop_in_words(stop_reason: str) -> str:
    """What a stop reason means."""
    return _STOPS.get(stop_reason, stop_reason)


def cost_parts(usage: Usage) -> list[str]:
    """What a question cost, in short phrases; a price only where there is one."""
    calls = f"{usage.calls} LM call{'' if usage.calls == 1 else 's'}"
    if usage.cached_calls:
        calls += f" ({usage.cached_calls} from the cache)"
    parts = [
        f"{usage.loops} loop{'' if usage.loops == 1 else 's'}",
        calls,
        f"{usage.prompt_tokens:,} prompt + {usage.completion_tokens:,} completion tokens",
    ]
    if usage.cost:
        parts.append(f"${usage.cost:.4f}")
    return [*parts, f"{usage.seconds:.1f} s"]
