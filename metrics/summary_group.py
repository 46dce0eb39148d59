"""What a group of questions came to: all of them, those of one hop count, those of one type, each figure with its n.

Accuracy is over all questions asked; a failed one is not right. Where a judge could not say, the question is left out
of everything that depends on right and wrong (`unjudged` says how many), and LLM-Acc is bounded by both ways that it
could have gone. *Own errors* are wrong answers: a failed question is none, it is *Not scored*.
"""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, get_args

from .record import QuestionRecord
from .score import Category, Score
from .statistics import Estimate, mean, proportion, share_of_errors
from .value import Value

CATEGORIES: tuple[Category, ...] = get_args(Category)
_NOT_SCORED: Category = "Not scored"


class Share(Value):
    """`count` of `n`; the estimate of the share is None where `n` is 0."""

    count: int
    n: int
    estimate: Estimate | None


class ErrorShare(Value):
    """Wrong answers of one kind, as a share of the questions and of the group's own errors (None for *Not scored*)."""

    of_questions: Share
    of_errors: Share | None


class CategoryShare(ErrorShare):
    """A failure category."""

    category: Category


class HopFound(Value):
    """A place in the gold chain (1 is the first hop), and how often its gold passage was retrieved."""

    position: int
    found: Share


class Group(Value):
    """The figures of one group of questions.

    Attributes:
        name: `all`, the hop count, or the type.
        n: Questions asked.
        failed: Those without an answer for a technical reason; not right, and counted in `n`.
        abstained: Those where the system gave no answer.
        right: Right by the definition that holds in the run: LLM-Acc, else token contain-match.
        unjudged: Answers that the judge could not say anything about: left out of `right`, `llm_acc` and the errors.
        exact_match: By the official script.
        f1: Mean, by the official script.
        contain: Token contain-match.
        substring: Substring match as A-RAG publishes it.
        llm_acc: Judged right; None without a judge.
        llm_acc_if_wrong: The same over all questions, were every unjudged answer wrong.
        llm_acc_if_right: The same over all questions, were every unjudged answer right.
        recall: Mean evidence recall over the questions with a mapped gold passage.
        all_found: All mapped gold passages retrieved, over the same questions.
        positions: The gold chain place by place, over the questions whose passage there is mapped.
        errors: Wrong answers, of the questions that are judged one way or the other.
        categories: Every failure category, in order; with *Not scored* and `right` they make up all judged questions.
        categories_without_false_resolution: The same without the clause that only a register can show.
        wrong_with_unretrieved_gold: Wrong answers where a mapped gold passage was not retrieved; blind to the register.
        premature: Stopped as resolved with a mapped gold passage unretrieved; right answers too.
        false_resolutions: Requirements resolved without a gold passage in their support, an upper bound.
        resolved: Requirements resolved.
        with_false_resolution: Questions with at least one false resolution.
        all_retired: Questions whose requirements were all retired and none resolved.
    """

    name: str
    n: int
    failed: int
    abstained: Share
    right: Share
    unjudged: int
    exact_match: Share
    f1: Estimate | None
    contain: Share
    substring: Share
    llm_acc: Share | None
    llm_acc_if_wrong: Share | None
    llm_acc_if_right: Share | None
    recall: Estimate | None
    all_found: Share
    positions: tuple[HopFound, ...]
    errors: Share
    categories: tuple[CategoryShare, ...]
    categories_without_false_resolution: tuple[CategoryShare, ...]
    wrong_with_unretrieved_gold: ErrorShare
    premature: Share
    false_resolutions: int
    resolved: int
    with_false_resolution: Share
    all_retired: Share


def share(count: int, n: int) -> Share:
    """A count with its Wilson interval."""
    return Share(count=count, n=n, estimate=proportion(count, n))


def group(
    name: str, records: Sequence[QuestionRecord], scores: Sequence[Score], *, judged: bool, seed: int = 0
) -> Group:
    """The figures of some questions; records and scores go together, place by place.

    Args:
        name: The group's.
        records: Its questions.
        scores: What each was worth.
        judged: A judge decides what is right.
        seed: Of the bootstraps.
    """
    n = len(scores)
    known = [score for score in scores if score.right is not None]
    right = sum(score.right is True for score in known)
    with_gold = [score for score in scores if score.recall is not None]
    items = [[item.status for item in record.requirements] for record in records]
    return Group(
        name=name,
        n=n,
        failed=sum(score.failed for score in scores),
        abstained=share(sum(score.abstained for score in scores), n),
        right=share(right, len(known)),
        unjudged=n - len(known),
        exact_match=share(sum(score.exact_match == 1 for score in scores), n),
        f1=mean([score.f1 for score in scores], seed=seed),
        contain=share(sum(score.contain for score in scores), n),
        substring=share(sum(score.substring for score in scores), n),
        llm_acc=share(right, len(known)) if judged else None,
        llm_acc_if_wrong=share(right, n) if judged else None,
        llm_acc_if_right=share(right + n - len(known), n) if judged else None,
        recall=mean([score.recall for score in with_gold if score.recall is not None], seed=seed),
        all_found=share(sum(score.all_found is True for score in with_gold), len(with_gold)),
        positions=_positions(scores),
        premature=share(sum(score.premature for score in scores), n),
        false_resolutions=sum(score.false_resolutions for score in scores),
        resolved=sum(statuses.count("resolved") for statuses in items),
        with_false_resolution=share(sum(score.false_resolutions > 0 for score in scores), n),
        all_retired=share(sum(bool(statuses) and set(statuses) == {"retired"} for statuses in items), n),
        **_errors(known, seed),
    )


def _errors(known: Sequence[Score], seed: int) -> dict[str, Any]:
    """What depends on right and wrong, over the questions that are judged one way or the other."""
    wrong = [score for score in known if score.right is False and not score.failed]

    def shares(count: int) -> dict[str, Share]:
        estimate = share_of_errors(count, len(wrong), len(known), seed=seed)
        return {
            "of_questions": share(count, len(known)),
            "of_errors": Share(count=count, n=len(wrong), estimate=estimate),
        }

    def categories(found: Sequence[Category | None]) -> tuple[CategoryShare, ...]:
        scored = (CategoryShare(category=one, **shares(found.count(one))) for one in CATEGORIES if one != _NOT_SCORED)
        failed = share(sum(score.failed for score in known), len(known))
        return (*scored, CategoryShare(category=_NOT_SCORED, of_questions=failed, of_errors=None))

    return {
        "errors": share(len(wrong), len(known)),
        "categories": categories([score.category for score in wrong]),
        "categories_without_false_resolution": categories([one.category_without_false_resolution for one in wrong]),
        "wrong_with_unretrieved_gold": ErrorShare(**shares(sum(score.unretrieved_gold for score in wrong))),
    }


def _positions(scores: Sequence[Score]) -> tuple[HopFound, ...]:
    places = zip_longest(*(score.hops_found for score in scores))
    found = [[one for one in place if one is not None] for place in places]
    return tuple(
        HopFound(position=position, found=share(sum(place), len(place))) for position, place in enumerate(found, 1)
    )
