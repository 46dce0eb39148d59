"""Two runs side by side: what differs between them, and their figures over the questions that both have."""

import json
from typing import TYPE_CHECKING, Any

from ..errors import UserError
from ..metrics.comparison import Figures, compare
from ..metrics.value import Value
from .scored_run import ScoredRun

if TYPE_CHECKING:
    from .audit_file import Audit

# Setting and what it is called; `index_digest` covers corpus, encoder and granularity, and is what decides.
_SETTINGS = {
    "index_digest": "retriever or corpus (index)",
    "encoder": "encoder",
    "granularity": "granularity",
    "k": "k",
    "benchmark": "benchmark",
    "benchmark_digest": "benchmark file",
    "lm": "LM",
    "temperature": "LM temperature",
    "max_tokens": "LM max_tokens",
    "context_window": "LM context window",
    "max_loops": "max_loops",
    "max_context_tokens": "max_context_tokens",
    "deduplicate": "dedup",
    "seed": "seed",
}
_NONE_IS_A_VALUE = {"temperature", "max_tokens", "context_window"}  # the LM's own
_DEDUP = "evaluate --dedup makes a-rag comparable in it"


class RunSide(Value):
    """One of the two runs; `variant` is the digest of its optimised prompts, blank where there are none."""

    name: str
    system: str
    variant: str
    wrong_is: str
    finished: int
    asked: int


class Comparison(Value):
    """Two runs compared.

    Attributes:
        a: The first.
        b: The second.
        differs: What differs beside the systems, each in words; empty where the two are comparable.
        no_certified: Why there are no certified lists; blank where there are.
        figures: Over the questions that both have.
        missing_a: With an audit: missing gold of the first's wrong answers, by what could have been done; else None.
        missing_b: The second's.
    """

    a: RunSide
    b: RunSide
    differs: tuple[str, ...]
    no_certified: str
    figures: Figures
    missing_a: dict[str, int] | None = None
    missing_b: dict[str, int] | None = None


def compare_runs(
    a: ScoredRun, b: ScoredRun, *, force: bool = False, audit: "Audit | None" = None, seed: int = 0
) -> Comparison:
    """Compare two runs over the questions that both have, in the first's order.

    Args:
        a: The first; differences are its figures minus the second's.
        b: The second.
        force: Go on where more differs than the system; the comparison then says what.
        audit: Of the same index and benchmark; splits missing gold.
        seed: Of the bootstraps.

    Raises:
        UserError: More differs than the system, no question is in both, or the audit is of something else.
    """
    differs = differences(a, b)
    if differs and not force:
        raise UserError(
            f"{a.name} and {b.name} cannot be compared as they are: {'; '.join(differs)}; --force goes on and says so"
        )
    rows_b = {record.id: (record, score) for record, score in zip(b.records, b.scores, strict=True)}
    rows_a = [(record, score) for record, score in zip(a.records, a.scores, strict=True) if record.id in rows_b]
    if not rows_a:
        raise UserError(f"{a.name} and {b.name} have no question in common; compare runs of one benchmark")
    shared = [rows_b[record.id] for record, _ in rows_a]
    if audit is not None:
        for side in (a, b):
            audit.check(side.settings)
    reason = _uncertified(a, b)
    return Comparison(
        a=_side(a),
        b=_side(b),
        differs=tuple(differs),
        no_certified=reason,
        figures=compare(rows_a, shared, certify=not reason, seed=seed),
        missing_a=None if audit is None else audit.missing(rows_a),
        missing_b=None if audit is None else audit.missing(shared),
    )


def differences(a: ScoredRun, b: ScoredRun) -> list[str]:
    """What differs between two runs beside system and variant, in words; what a run does not say is unknown."""
    found = []
    for key, words in _SETTINGS.items():
        known = _says(a, key), _says(b, key)
        one, other = a.settings.get(key), b.settings.get(key)
        if all(known) and one == other:
            continue
        aside = f" ({_DEDUP})" if key == "deduplicate" and all(known) else ""
        if not any(known):
            found.append(f"{words} unknown in both")
        else:
            found.append(f"{words} {_shown(one, known[0])} against {_shown(other, known[1])}{aside}")
    here, there = {record.id for record in a.records}, {record.id for record in b.records}
    if here != there:
        found.append(f"questions: {len(here & there)} in both, {len(here - there)} and {len(there - here)} in one only")
    if a.judges != b.judges:
        found.append(f"judge {_judges(a)} against {_judges(b)}")
    for side in (a, b):
        failed = sum(score.failed for score in side.scores)
        if failed:
            found.append(f"{side.name} has {failed} failed of {len(side.scores)} (an outage reads as wrong answers)")
    return found


def _says(run: ScoredRun, key: str) -> bool:
    """Whether a run says what it was made with; runs made before a setting existed, and imported ones, may not."""
    if key in _NONE_IS_A_VALUE:
        return key in run.settings
    return run.settings.get(key) not in (None, "")


def _uncertified(a: ScoredRun, b: ScoredRun) -> str:
    for key, words in (("index_digest", "index"), ("k", "k")):
        one, other = a.settings.get(key), b.settings.get(key)
        if not (_says(a, key) and _says(b, key)):
            return f"{words} unknown in a run"
        if one != other:
            return f"the two searched at different {words}" if key == "k" else "the two searched different indexes"
    return ""


def _side(run: ScoredRun) -> RunSide:
    return RunSide(
        name=run.name,
        system=str(run.settings.get("system", "unknown")),
        variant=str(run.settings.get("variant") or ""),
        wrong_is=run.wrong_is,
        finished=len(run.records),
        asked=len(run.folder.question_ids),
    )


def _judges(run: ScoredRun) -> str:
    return " and ".join(run.judges) or "none"


def _shown(value: Any, known: bool) -> str:
    if not known:
        return "unknown"
    if isinstance(value, str):
        return value if len(value) < 60 else value[:12]
    return json.dumps(value)
