"""Every deterministic score of one question, recomputed from its record and, where there is one, a judge's verdict."""

from dataclasses import dataclass
from typing import Literal

Category = Literal["Judge Error", "Gave Up", "Reasoning Error", "Missing Evidence", "Unmapped", "Not scored"]


@dataclass(frozen=True, slots=True)
class Score:
    """What one question was worth.

    Attributes:
        id: The question's.
        type: The benchmark's word for its kind.
        hops: Its hop count.
        failed: No answer for a technical reason: not right in accuracy, *Not scored* in the categories.
        exact_match: 0 or 1, as the benchmark's official script.
        f1: 0 to 1, as the benchmark's official script.
        contain: Token contain-match.
        substring: The looser substring match that A-RAG publishes.
        judged: The judge's verdict; None where there is none.
        judge_failed: A judge was asked and could not say.
        right: `judged` where the run has a judge, else `contain`; None where the judge failed.
        recall: Share of the mapped gold passages that were retrieved; None where none is mapped.
        all_found: Whether all mapped gold passages were retrieved; None where none is mapped.
        hops_found: For each hop of the chain, whether its gold passage was retrieved; None where it is not mapped.
        category: Why it is wrong; None where it is right or could not be judged.
        category_without_false_resolution: The same without the clause that only a register can show.
        false_resolutions: Resolved requirements whose support holds no gold passage of the question.
        unretrieved_gold: Some mapped gold passage was not retrieved.
        premature: Stopped as resolved while a mapped gold passage was unretrieved.
        abstained: It gave no answer.
        stop_reason: Why the search ended.
    """

    id: str
    type: str
    hops: int
    failed: bool
    exact_match: float
    f1: float
    contain: bool
    substring: bool
    judged: bool | None
    judge_failed: bool
    right: bool | None
    recall: float | None
    all_found: bool | None
    hops_found: tuple[bool | None, ...]
    category: Category | None
    category_without_false_resolution: Category | None
    false_resolutions: int
    unretrieved_gold: bool
    premature: bool
    abstained: bool
    stop_reason: str
