"""A run's summary as MLflow metrics: every figure under its name, with `_low`, `_high` and `_n` of its interval.

A figure that does not exist (no judge, no price, no gold) is left out, for a metric has no word for "unknown". Those of
a group stand under a prefix (`hops/2/f1`), which the UI shows as a section.
"""

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

from ...metrics.statistics import Estimate
from ...metrics.summary import Summary
from ...metrics.summary_group import ErrorShare, Group, Share
from ...metrics.summary_spent import Amount, Cost, Spent

_UNFIT = re.compile(r"[^A-Za-z0-9_. -]+")
_NAMES = {
    "recall": "evidence_recall",
    "all_found": "evidence_all_found",
    "errors": "wrong",
    "n": "questions",
}
_LISTS = ("name", "positions", "categories", "categories_without_false_resolution")


def figures(summary: Summary) -> dict[str, float]:
    """Every figure of a summary by metric name, in order of name."""
    found = dict(_group(summary.overall))
    found |= _spent(summary.spent)
    found |= {"gold_passages": float(summary.gold_passages), "gold_mapped": float(summary.gold_mapped)}
    found["gold_none_questions"] = float(summary.without_gold)
    for stop in summary.stop_reasons:
        found |= _share(f"stop/{_word(stop.reason)}", stop.questions)
    for place, one in enumerate(summary.by_retrieved_tokens, 1):
        found |= {f"retrieved_tokens_bin/{place}/low": float(one.low), f"retrieved_tokens_bin/{place}/high": one.high}
        found |= _share(f"retrieved_tokens_bin/{place}/right", one.right)
    for section, groups in (("hops", summary.by_hops), ("type", summary.by_type)):
        for group in groups:
            found |= {f"{section}/{_word(group.name)}/{name}": value for name, value in _group(group)}
    return {name: float(found[name]) for name in sorted(found)}


def _group(group: Group) -> Iterator[tuple[str, float]]:
    for field in type(group).model_fields:
        if field not in _LISTS:
            yield from _value(_NAMES.get(field, field), getattr(group, field)).items()
    for hop in group.positions:
        yield from _share(f"evidence_hop{hop.position}", hop.found).items()
    for prefix, categories in (
        ("category", group.categories),
        ("category_without_false_resolution", group.categories_without_false_resolution),
    ):
        for one in categories:
            yield from _value(f"{prefix}/{_word(one.category)}", one).items()


def _spent(spent: Spent) -> dict[str, float]:
    found: dict[str, float] = {}
    for field in type(spent).model_fields:
        if field not in ("judge", "steps", "tokenizers"):
            found |= _value(field, getattr(spent, field))
    if spent.judge is not None:
        for field in type(spent.judge).model_fields:
            found |= _value(f"judge/{field}", getattr(spent.judge, field))
    for step in spent.steps:
        found |= {f"step/{step.step}/{name}": value for name, value in step.model_dump(exclude={"step"}).items()}
    return found


def _value(name: str, value: Any) -> dict[str, float]:
    """The metrics of one figure of whatever kind; none where it does not exist."""
    if value is None:
        return {}
    if isinstance(value, Share):
        return _share(name, value)
    if isinstance(value, Estimate):
        return _estimate(name, value)
    if isinstance(value, ErrorShare):
        return _share(name, value.of_questions) | _value(f"{name}_of_wrong", value.of_errors)
    if isinstance(value, Amount):
        found = _value(name, value.mean) | {f"{name}_total": value.total}
        return found if value.median is None else found | {f"{name}_median": value.median}
    if isinstance(value, Cost):
        found = _value(name, value.mean) | {f"{name}_unknown": value.unknown}
        if value.mean is not None:
            found[f"{name}_known"] = value.known
        return found if value.total is None else found | {f"{name}_total": value.total}
    return {name: float(value)}


def _share(name: str, share: Share) -> dict[str, float]:
    """A share and its count."""
    return {} if share.estimate is None else _estimate(name, share.estimate) | {f"{name}_count": share.count}


def _estimate(name: str, estimate: Estimate) -> dict[str, float]:
    known = dataclasses.asdict(estimate)
    return {name: known["value"], **{f"{name}_{end}": known[end] for end in ("low", "high", "n")}}


def _word(name: str) -> str:
    """A name as a part of a metric's name, which takes few characters."""
    return _UNFIT.sub("_", name).strip().lower().replace(" ", "_") or "none"
