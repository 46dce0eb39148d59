"""What a run spent, added up from its records: calls, tokens, cost, time, and the searches' yield.

A price that is not known is "unknown" (None) and never 0: where one question's cost is unknown, so is the total, and
what is known is given beside it. The judge's spending stands apart from the system's.
"""

import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence

from .efficiency import efficiency
from .record import QuestionRecord, Verdict
from .statistics import Estimate, mean
from .value import Value


class Amount(Value):
    """A quantity per question over all questions; mean and median are None where there is no question."""

    total: int | float
    mean: Estimate | None
    median: int | float | None


class Cost(Value):
    """USD. `known` is the sum over what has a price; `total` is None ("unknown") where `unknown` questions have none.

    `mean` is per question, over those with a price.
    """

    total: float | None
    known: float
    unknown: int
    mean: Estimate | None


class StepSpent(Value):
    """The calls of one step in all questions; tokens are billed ones."""

    step: str
    calls: int
    cached_calls: int
    prompt_tokens: int
    completion_tokens: int


class JudgeSpent(Value):
    """What the judge spent: answers that it was asked about, replies from the cache among them, tokens, cost."""

    asked: int
    cached: int
    prompt_tokens: int
    completion_tokens: int
    cost: Cost


class Spent(Value):
    """The spending of all questions, failed ones too.

    Attributes:
        calls: LM calls, those answered from the cache included.
        cached_calls: LM calls that the cache answered.
        prompt_tokens: Billed: of calls that were made.
        completion_tokens: Billed.
        logical_prompt_tokens: As if no call had come from the cache.
        logical_completion_tokens: As if no call had come from the cache.
        context_tokens: What the budget counted.
        retrieved_tokens: Of the distinct texts shown.
        retrieved_tokens_arag: By A-RAG's count: matched sentences and first reads, repeats counted.
        retrieved_passages: Distinct passages that a tool returned.
        loops: Retrieval loops.
        searches: Tool calls, the seed's and repeats included.
        repeated_queries: Tool calls that repeated an earlier one and did not search.
        seconds: Wall time of a question.
        cost: Of the system.
        judge: Of the judge; None without one.
        steps: LM calls by step, by name.
        tokenizers: What context and retrieved tokens were counted with.
    """

    calls: Amount
    cached_calls: Amount
    prompt_tokens: Amount
    completion_tokens: Amount
    logical_prompt_tokens: Amount
    logical_completion_tokens: Amount
    context_tokens: Amount
    retrieved_tokens: Amount
    retrieved_tokens_arag: Amount
    retrieved_passages: Amount
    loops: Amount
    searches: Amount
    repeated_queries: Amount
    seconds: Amount
    cost: Cost
    judge: JudgeSpent | None
    steps: tuple[StepSpent, ...]
    tokenizers: tuple[str, ...]


_FROM_USAGE = (
    "calls",
    "cached_calls",
    "prompt_tokens",
    "completion_tokens",
    "logical_prompt_tokens",
    "logical_completion_tokens",
    "context_tokens",
    "retrieved_tokens",
    "retrieved_tokens_arag",
    "loops",
    "repeated_queries",
    "seconds",
)


def spent(records: Sequence[QuestionRecord], verdicts: Mapping[str, Verdict] | None = None, *, seed: int = 0) -> Spent:
    """Add up what the questions, and their verdicts, cost."""
    counted = {name: [getattr(record.usage, name) for record in records] for name in _FROM_USAGE}
    counted["searches"] = [len(record.searches) for record in records]
    counted["retrieved_passages"] = [len(set(record.retrieved_ids)) for record in records]
    return Spent(
        **{name: _amount(values, seed) for name, values in counted.items()},
        cost=_cost((efficiency(record).cost for record in records), seed),
        judge=_judge(records, verdicts, seed) if verdicts else None,
        steps=_steps(records),
        tokenizers=tuple(sorted({record.usage.tokenizer for record in records if record.usage.tokenizer})),
    )


def _amount(values: Collection[float], seed: int) -> Amount:
    ordered = sorted(values)  # a sum of floats depends on their order
    return Amount(
        total=sum(ordered), mean=mean(ordered, seed=seed), median=statistics.median(ordered) if ordered else None
    )


def _cost(costs: Iterable[float | None], seed: int) -> Cost:
    listed = list(costs)
    known = sorted(cost for cost in listed if cost is not None)
    unknown = len(listed) - len(known)
    return Cost(total=None if unknown else sum(known), known=sum(known), unknown=unknown, mean=mean(known, seed=seed))


def _judge(records: Sequence[QuestionRecord], verdicts: Mapping[str, Verdict], seed: int) -> JudgeSpent:
    """The judge is asked about answers only: failed, abstained and blank ones are wrong without it."""
    given = [
        verdicts[record.id]
        for record in records
        if record.id in verdicts and record.failure is None and not record.abstained and record.answer.strip()
    ]
    return JudgeSpent(
        asked=len(given),
        cached=sum(verdict.cached for verdict in given),
        prompt_tokens=sum(verdict.prompt_tokens for verdict in given),
        completion_tokens=sum(verdict.completion_tokens for verdict in given),
        cost=_cost((verdict.cost for verdict in given), seed),
    )


def _steps(records: Sequence[QuestionRecord]) -> tuple[StepSpent, ...]:
    by_step: dict[str, dict[str, int]] = {}
    for record in records:
        for step, used in record.usage.steps.items():
            total = by_step.setdefault(step, {})
            for name, value in used.model_dump().items():
                total[name] = total.get(name, 0) + value
    return tuple(StepSpent(step=step, **by_step[step]) for step in sorted(by_step))
