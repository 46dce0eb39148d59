"""What runs spent, and accuracy against the tokens that retrieval showed. Agent and judge stand apart."""

import math
from collections.abc import Sequence

from ...metrics.statistics import Estimate
from ...metrics.summary_spent import Amount, Cost
from .chart import Chart, Point, Series
from .page import Section
from .summaries import NONE, RunSummary, failed_notes, share_cell
from .table import FEW, Cell, Table

_AMOUNTS = (
    ("loops", "loops", ".1f"),
    ("searches", "tool calls", ".1f"),
    ("repeated_queries", "repeated queries", ".2f"),
    ("retrieved_passages", "retrieved passages", ".1f"),
    ("retrieved_tokens", "retrieved tokens (distinct text)", ",.0f"),
    ("retrieved_tokens_arag", "retrieved tokens (A-RAG's count)", ",.0f"),
    ("context_tokens", "context tokens", ",.0f"),
    ("calls", "LM calls", ".1f"),
    ("cached_calls", "LM calls answered from the cache", ".1f"),
    ("prompt_tokens", "prompt tokens, billed", ",.0f"),
    ("completion_tokens", "completion tokens, billed", ",.0f"),
    ("logical_prompt_tokens", "prompt tokens, cache hits included", ",.0f"),
    ("logical_completion_tokens", "completion tokens, cache hits included", ",.0f"),
    ("seconds", "seconds", ",.1f"),
)


def tokens_section(runs: Sequence[RunSummary]) -> Section:
    """Accuracy against retrieved tokens: within a run by bins of questions; of several runs a point each too."""
    title = "Accuracy against retrieved tokens"
    counted = [one for one in runs if any(token_bin.high for token_bin in one.summary.by_retrieved_tokens)]
    if not counted:
        note = "No retrieved tokens are counted in these records, or no answer is judged."
        return Section("tokens", title, (), notes=(note,))
    series = tuple(
        Series(
            one.name,
            tuple(
                point
                for token_bin in one.summary.by_retrieved_tokens
                for point in _points(token_bin.mean, token_bin.right.estimate)
            ),
        )
        for one in counted
    )
    x_label, y_label = "retrieved tokens a question (distinct text)", "share right"
    charts = [
        Chart("chart-tokens", "Questions by retrieved tokens", x_label, y_label, _ticks(series), series, apart=False)
    ]
    if len(counted) > 1:
        means = tuple(
            Series(one.name, _points(mean.value, one.summary.overall.right.estimate))
            for one in counted
            if (mean := one.summary.spent.retrieved_tokens.mean) is not None
        )
        x_label = f"mean {x_label}"
        charts.append(Chart("chart-tokens-runs", "Runs", x_label, y_label, _ticks(means), means, apart=False))
    tables = [
        Table(
            one.name if len(runs) > 1 else "Questions by retrieved tokens",
            ("retrieved tokens", "mean", "right"),
            tuple(
                (
                    Cell(f"{part.low:,} to {part.high:,}"),
                    Cell(f"{part.mean:,.0f}", (f"n {part.right.n:,}",)),
                    share_cell(part.right),
                )
                for part in one.summary.by_retrieved_tokens
            ),
            (
                f"Right: {one.summary.wrong_is}. Harder questions are searched for longer: no cause is shown.",
                *failed_notes([one]),
            ),
        )
        for one in counted
    ]
    return Section("tokens", title, tuple(tables), tuple(charts))


def efficiency_section(runs: Sequence[RunSummary]) -> Section:
    """Calls, tokens, time and cost a question, and in all; steps one table a run."""
    rows = [
        (Cell(label), *(_amount(getattr(one.summary.spent, name), form) for one in runs))
        for name, label, form in _AMOUNTS
    ]
    rows.append((Cell("cost of the system, USD"), *(_cost(one.summary.spent.cost) for one in runs)))
    names = [one.name for one in runs]
    tokenizers = sorted({name for one in runs for name in one.summary.spent.tokenizers})
    notes = [
        "Means a question, with interval and n; failed questions count with what they spent. An unknown price is "
        "unknown, never 0.",
        *([f"Context and retrieved tokens are counted with {', '.join(tokenizers)}."] if tokenizers else []),
        *failed_notes(runs),
    ]
    tables = [Table("The system, a question", ("", *names), tuple(rows), tuple(notes))]
    if any(one.summary.spent.judge for one in runs):
        tables.append(_judge_table(runs))
    for one in runs:
        if one.summary.spent.steps:
            steps = tuple(
                (
                    Cell(step.step),
                    *(
                        Cell(f"{value:,}")
                        for value in (step.calls, step.cached_calls, step.prompt_tokens, step.completion_tokens)
                    ),
                )
                for step in one.summary.spent.steps
            )
            suffix = f": {one.name}" if len(runs) > 1 else ""
            columns = ("", "LM calls", "from the cache", "prompt tokens", "completion tokens")
            note = f"In all, over n {one.summary.overall.n:,} questions; billed tokens."
            tables.append(Table(f"LM calls by step{suffix}", columns, steps, (note,)))
    return Section("efficiency", "Efficiency", tuple(tables))


def _judge_table(runs: Sequence[RunSummary]) -> Table:
    judges = [one.summary.spent.judge for one in runs]
    rows: list[tuple[Cell, ...]] = [
        (
            Cell(label),
            *(
                NONE if judge is None else Cell(f"{getattr(judge, name):,}", (f"n {judge.asked:,}",))
                for judge in judges
            ),
        )
        for name, label in (
            ("asked", "answers judged"),
            ("cached", "from the cache"),
            ("prompt_tokens", "prompt tokens"),
            ("completion_tokens", "completion tokens"),
        )
    ]
    rows.append((Cell("cost of the judge, USD"), *(NONE if judge is None else _cost(judge.cost) for judge in judges)))
    return Table("The judge, in all", ("", *(one.name for one in runs)), tuple(rows))


def _amount(amount: Amount, form: str) -> Cell:
    mean = amount.mean
    if mean is None:
        return NONE
    median = "" if amount.median is None else f"median {amount.median:{form}}, "
    details = (f"[{mean.low:{form}}, {mean.high:{form}}] n {mean.n:,}", f"{median}total {amount.total:,.0f}")
    return Cell(f"{mean.value:{form}}", details, mean.few)


def _cost(cost: Cost) -> Cell:
    mean = cost.mean
    if mean is None:
        return Cell("unknown", (f"for all n {cost.unknown:,}",)) if cost.unknown else NONE
    details = [f"mean {mean.value:.5f} [{mean.low:.5f}, {mean.high:.5f}] n {mean.n:,}{f' ({FEW})' if mean.few else ''}"]
    if cost.unknown:
        details.append(f"known of it {cost.known:.4f}; unknown for {cost.unknown:,}")
    return Cell("unknown" if cost.total is None else f"{cost.total:.4f} in all", tuple(details))


def _points(x: float, estimate: Estimate | None) -> tuple[Point, ...]:
    if estimate is None:
        return ()
    return (Point(x, estimate.value, estimate.n, estimate.low, estimate.high, estimate.few),)


def _ticks(series: Sequence[Series]) -> tuple[tuple[float, str], ...]:
    """Three to six round places on the axis."""
    values = [point.x for one in series for point in one.points]
    low, high = min(values), max(values)
    span = (high - low) or max(high, 1.0)
    rough = span / 4
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    first = math.floor(low / step)
    places = [place * step for place in range(first, math.ceil(high / step) + 1)]
    return tuple((place, f"{place:,.0f}" if step >= 1 else f"{place:,.1f}") for place in places)
