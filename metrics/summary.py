"""What a run came to: every figure that its report prints, with its n and its interval, as one JSON value.

It is computed from records, scores and verdicts alone, and the order of the questions changes nothing. Figures that do
not exist are None, never NaN: `summary.json` is plain JSON.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from .record import QuestionRecord, Verdict
from .score import Score
from .statistics import CONFIDENCE, FEW, RESAMPLES
from .summary_group import Group, Share, group, share
from .summary_spent import Spent, spent
from .value import Value

SUMMARY_VERSION = 1
WrongIs = Literal["LLM-Acc", "token contain-match, no judge"]
_BINS = 4


class StopReason(Value):
    """Why searches ended, as a share of all questions; `exception` where one ended the question itself."""

    reason: str
    questions: Share


class TokenBin(Value):
    """Questions alike in retrieved tokens (distinct text shown): from the least to the most, and how many are right."""

    low: int
    high: int
    mean: float
    right: Share


class Summary(Value):
    """The figures of one run.

    Attributes:
        version: Of this layout.
        systems: What answered.
        benchmarks: The kinds of the questions' benchmarks.
        judges: Whose verdicts count; empty without a judge.
        wrong_is: Which definition of wrong holds.
        seed: Of every bootstrap.
        resamples: Of every bootstrap.
        confidence: Of every interval.
        few: Under this n a figure is marked too few to conclude.
        gold_passages: Supporting paragraphs of all questions.
        gold_mapped: Those of them that have a passage in the corpus.
        without_gold: Questions with no mapped gold passage; they have no evidence recall.
        has_register: Some question has requirements, so that figures about them mean something.
        overall: All questions.
        by_hops: By hop count, ascending.
        by_type: By the benchmark's type, by name.
        by_retrieved_tokens: At most four bins of about as many questions; no token count is in two.
        stop_reasons: By name.
        spent: Calls, tokens, cost, time.
    """

    version: int = SUMMARY_VERSION
    systems: tuple[str, ...]
    benchmarks: tuple[str, ...]
    judges: tuple[str, ...]
    wrong_is: WrongIs
    seed: int
    resamples: int = RESAMPLES
    confidence: float = CONFIDENCE
    few: int = FEW
    gold_passages: int
    gold_mapped: int
    without_gold: int
    has_register: bool
    overall: Group
    by_hops: tuple[Group, ...]
    by_type: tuple[Group, ...]
    by_retrieved_tokens: tuple[TokenBin, ...]
    stop_reasons: tuple[StopReason, ...]
    spent: Spent


def summarize(
    records: Sequence[QuestionRecord],
    scores: Sequence[Score],
    verdicts: Mapping[str, Verdict] | None = None,
    *,
    seed: int = 0,
) -> Summary:
    """Summarise a run.

    Args:
        records: Its questions, answered or failed.
        scores: One a record, in the same order, made with `judged_run` where there are verdicts.
        verdicts: A judge's, by question; None or empty where there is no judge.
        seed: Of the bootstraps.

    Raises:
        ValueError: Scores and records are not of the same questions, or only one of scores and verdicts has a judge.
    """
    if [record.id for record in records] != [score.id for score in scores]:
        raise ValueError("scores and records must be of the same questions, in the same order")
    judged = bool(verdicts)
    if any((score.judged is not None or score.judge_failed) != judged for score in scores):
        raise ValueError(
            "scores must be made with judged_run where there are verdicts, and without it where there are none"
        )
    gold = [one for record in records for one in record.gold]
    by_hops = _split(records, scores, lambda score: (score.hops, str(score.hops)))
    by_type = _split(records, scores, lambda score: (0, score.type))

    def groups(parts: _Parts) -> tuple[Group, ...]:
        return tuple(group(name, *parts[key, name], judged=judged, seed=seed) for key, name in sorted(parts))

    return Summary(
        systems=tuple(sorted({record.system for record in records})),
        benchmarks=tuple(sorted({record.benchmark for record in records})),
        judges=tuple(sorted({verdict.judge for verdict in verdicts.values()})) if verdicts else (),
        wrong_is="LLM-Acc" if judged else "token contain-match, no judge",
        seed=seed,
        gold_passages=len(gold),
        gold_mapped=sum(one.passage_id is not None for one in gold),
        without_gold=sum(score.recall is None for score in scores),
        has_register=any(record.requirements for record in records),
        overall=group("all", records, scores, judged=judged, seed=seed),
        by_hops=groups(by_hops),
        by_type=groups(by_type),
        by_retrieved_tokens=_token_bins(records, scores),
        stop_reasons=_stop_reasons(scores),
        spent=spent(records, verdicts, seed=seed),
    )


_Key = tuple[int, str]
_Parts = dict[_Key, tuple[list[QuestionRecord], list[Score]]]


def _split(records: Sequence[QuestionRecord], scores: Sequence[Score], key: Callable[[Score], _Key]) -> _Parts:
    parts: _Parts = {}
    for record, score in zip(records, scores, strict=True):
        in_part = parts.setdefault(key(score), ([], []))
        in_part[0].append(record)
        in_part[1].append(score)
    return parts


def _stop_reasons(scores: Sequence[Score]) -> tuple[StopReason, ...]:
    reasons = [score.stop_reason or "exception" for score in scores]
    return tuple(
        StopReason(reason=reason, questions=share(reasons.count(reason), len(reasons)))
        for reason in sorted(set(reasons))
    )


def _token_bins(records: Sequence[QuestionRecord], scores: Sequence[Score]) -> tuple[TokenBin, ...]:
    """Bins by quarter of the questions that are judged; equal token counts stay together."""
    known = sorted(
        (record.usage.retrieved_tokens, bool(score.right))
        for record, score in zip(records, scores, strict=True)
        if score.right is not None
    )
    bins: list[list[tuple[int, bool]]] = [[] for _ in range(_BINS)]
    first: dict[int, int] = {}
    for place, (tokens, right) in enumerate(known):
        bins[first.setdefault(tokens, place) * _BINS // len(known)].append((tokens, right))
    return tuple(
        TokenBin(
            low=one[0][0],
            high=one[-1][0],
            mean=sum(tokens for tokens, _ in one) / len(one),
            right=share(sum(right for _, right in one), len(one)),
        )
        for one in bins
        if one
    )
