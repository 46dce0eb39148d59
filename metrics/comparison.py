"""Two systems on the same questions, compared question by question, as one JSON value.

Every difference is the first system's figure minus the second's. Figures that do not exist are None, never NaN; a cost
that is not known is None ("unknown") and never 0.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import get_args

from .certified import Certified, certified
from .paired import Paired, paired, paired_difference
from .record import QuestionRecord
from .score import Category, Score
from .statistics import Estimate
from .summary_spent import Spent, spent
from .value import Value

RIGHT, NOT_JUDGED = "right", "not judged"
STATES: tuple[str, ...] = (RIGHT, *get_args(Category), NOT_JUDGED)
"""What a question can be in one system: right, a failure category, or without a verdict."""
ONE_SIDED = "What neither found is not certified; it is not shown to be unreachable."
NO_BOUND = "A drop in totals is evidence of a recoverable part, and no lower bound on its size."


class Outcome(Value):
    """A yes/no outcome of both over the questions that have it in both; `left_out` questions have not."""

    paired: Paired | None
    left_out: int


class Difference(Value):
    """A figure as a mean over the `n` questions that have it in both, and the difference, first minus second."""

    a: float | None
    b: float | None
    n: int
    difference: Estimate | None


class HopDifference(Value):
    """The share of questions whose gold passage of this hop (from 1) was retrieved."""

    hop: int
    recall: Difference


class HopCountDifference(Value):
    """Evidence recall over the questions of one hop count."""

    hops: int
    recall: Difference


class Shift(Value):
    """How many questions are in one state in the first system and in another, or the same, in the second."""

    a: str
    b: str
    questions: int


class CertifiedLists(Value):
    """Gold that one system missed and the other retrieved, both ways.

    Attributes:
        missed_by_a: What the first missed and the second retrieved.
        missed_by_a_wrong: The same on questions that the first got wrong.
        missed_by_b: What the second missed and the first retrieved.
        missed_by_b_wrong: The same on questions that the second got wrong.
    """

    missed_by_a: Certified
    missed_by_a_wrong: Certified
    missed_by_b: Certified
    missed_by_b_wrong: Certified


class Side(Value):
    """One system's own figures over the shared questions."""

    right: int
    failed: int
    not_judged: int
    premature: int
    wrong_with_unretrieved_gold: int
    spent: Spent


class Figures(Value):
    """The comparison of two systems on the same questions.

    Attributes:
        questions: How many.
        seed: Of every bootstrap.
        a: The first system's own figures.
        b: The second's.
        correct: Right answers; a failed question is not right.
        unretrieved: Wrong with unretrieved gold, where fewer is better; pairs with a failed side are left out.
        exact_match: Of the answers.
        f1: Of the answers.
        contain: Token contain-match.
        recall: Evidence recall.
        recall_by_hop_count: The same over the questions of each hop count.
        recall_by_hop: By position in the gold chain.
        flow: Category in the first to category in the second.
        flow_without_false_resolution: The same without the clause that only a register can show.
        certified: Certified-reachable lists; None where the two did not search the same index at the same k.
    """

    questions: int
    seed: int
    a: Side
    b: Side
    correct: Outcome
    unretrieved: Outcome
    exact_match: Difference
    f1: Difference
    contain: Difference
    recall: Difference
    recall_by_hop_count: tuple[HopCountDifference, ...]
    recall_by_hop: tuple[HopDifference, ...]
    flow: tuple[Shift, ...]
    flow_without_false_resolution: tuple[Shift, ...]
    certified: CertifiedLists | None


Rows = Sequence[tuple[QuestionRecord, Score]]


def compare(a: Rows, b: Rows, *, certify: bool = True, seed: int = 0) -> Figures:
    """Compare two systems.

    Args:
        a: The first's records with their scores.
        b: The second's, of the same questions in the same order.
        certify: Whether both searched the same index at the same k.
        seed: Of the bootstraps.

    Raises:
        ValueError: The questions differ.
    """
    if [record.id for record, _ in a] != [record.id for record, _ in b]:
        raise ValueError("both must be of the same questions, in the same order")
    pairs = [(one, other) for (_, one), (_, other) in zip(a, b, strict=True)]

    def figure(of: Callable[[Score], float | None]) -> Difference:
        return _difference([(of(one), of(other)) for one, other in pairs], seed)

    return Figures(
        questions=len(pairs),
        seed=seed,
        a=_side(a, seed),
        b=_side(b, seed),
        correct=_outcome([(one.right, other.right) for one, other in pairs], seed),
        unretrieved=_outcome([(_unretrieved(one), _unretrieved(other)) for one, other in pairs], seed),
        exact_match=figure(lambda score: score.exact_match),
        f1=figure(lambda score: score.f1),
        contain=figure(lambda score: score.contain),
        recall=figure(lambda score: score.recall),
        recall_by_hop_count=_by_hop_count(a, b, seed),
        recall_by_hop=_by_hop(pairs, seed),
        flow=_flow([(_state(one, one.category), _state(other, other.category)) for one, other in pairs]),
        flow_without_false_resolution=_flow(
            [
                (
                    _state(one, one.category_without_false_resolution),
                    _state(other, other.category_without_false_resolution),
                )
                for one, other in pairs
            ]
        ),
        certified=_certified(a, b) if certify else None,
    )


def _side(rows: Rows, seed: int) -> Side:
    scores = [score for _, score in rows]
    return Side(
        right=sum(score.right is True for score in scores),
        failed=sum(score.failed for score in scores),
        not_judged=sum(score.right is None for score in scores),
        premature=sum(score.premature for score in scores),
        wrong_with_unretrieved_gold=sum(_unretrieved(score) is True for score in scores),
        spent=spent([record for record, _ in rows], seed=seed),
    )


def _unretrieved(score: Score) -> bool | None:
    """Wrong with unretrieved gold; None where the answer was not judged or there is none to be wrong."""
    if score.right is None or score.failed:
        return None
    return not score.right and score.unretrieved_gold


def _outcome(pairs: Sequence[tuple[bool | None, bool | None]], seed: int) -> Outcome:
    both = [(one, other) for one, other in pairs if one is not None and other is not None]
    compared = paired([one for one, _ in both], [other for _, other in both], seed=seed)
    return Outcome(paired=compared, left_out=len(pairs) - len(both))


def _difference(pairs: Sequence[tuple[float | None, float | None]], seed: int) -> Difference:
    both = [(float(one), float(other)) for one, other in pairs if one is not None and other is not None]
    if not both:
        return Difference(a=None, b=None, n=0, difference=None)
    first, second = [one for one, _ in both], [other for _, other in both]
    return Difference(
        a=sum(sorted(first)) / len(both),
        b=sum(sorted(second)) / len(both),
        n=len(both),
        difference=paired_difference(first, second, seed=seed),
    )


def _by_hop_count(a: Rows, b: Rows, seed: int) -> tuple[HopCountDifference, ...]:
    recalls: dict[int, list[tuple[float | None, float | None]]] = {}
    for (record, one), (_, other) in zip(a, b, strict=True):
        recalls.setdefault(record.hops, []).append((one.recall, other.recall))
    return tuple(HopCountDifference(hops=hops, recall=_difference(recalls[hops], seed)) for hops in sorted(recalls))


def _by_hop(pairs: Sequence[tuple[Score, Score]], seed: int) -> tuple[HopDifference, ...]:
    longest = max((min(len(one.hops_found), len(other.hops_found)) for one, other in pairs), default=0)
    found = []
    for hop in range(longest):
        reached = [
            (one.hops_found[hop], other.hops_found[hop])
            for one, other in pairs
            if hop < min(len(one.hops_found), len(other.hops_found))
        ]
        found.append(HopDifference(hop=hop + 1, recall=_difference(reached, seed)))
    return tuple(found)


def _state(score: Score, category: str | None) -> str:
    if category is not None:
        return category
    return RIGHT if score.right else NOT_JUDGED


def _flow(states: Sequence[tuple[str, str]]) -> tuple[Shift, ...]:
    counts = Counter(states)
    return tuple(
        Shift(a=one, b=other, questions=counts[one, other]) for one in STATES for other in STATES if counts[one, other]
    )


def _certified(a: Rows, b: Rows) -> CertifiedLists:
    one, other = [record for record, _ in a], [record for record, _ in b]
    there, back = certified(one, other), certified(other, one)
    return CertifiedLists(
        missed_by_a=there,
        missed_by_a_wrong=there.of_questions(_wrong(a)),
        missed_by_b=back,
        missed_by_b_wrong=back.of_questions(_wrong(b)),
    )


def _wrong(rows: Rows) -> set[str]:
    # A failed question has no answer to be wrong: its misses stand in the list of all.
    return {score.id for _, score in rows if score.right is False and not score.failed}
