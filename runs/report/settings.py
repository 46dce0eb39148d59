"""What was run, as a table: one column a run, rows where runs differ marked."""

from collections.abc import Sequence
from typing import Any

from .page import Section
from .summaries import RunSummary
from .table import Cell, Table

_WORDS = {
    "lm": "LM",
    "max_tokens": "longest reply (tokens)",
    "context_window": "LM window (tokens)",
    "benchmark_digest": "benchmark digest",
    "index_digest": "index digest",
    "k": "passages a search (k)",
    "max_loops": "budget: loops",
    "max_context_tokens": "budget: context tokens",
    "seed": "seed of resampling",
}


def settings_section(runs: Sequence[RunSummary]) -> Section:
    """The settings of the runs, then what became of their questions."""
    names = list(dict.fromkeys(name for one in runs for name in one.run.settings))
    rows = [
        _row(_WORDS.get(name, name.replace("_", " ")), [one.run.settings.get(name) for one in runs]) for name in names
    ]
    rows.append(_row("settings digest", [one.run.folder.digest for one in runs]))
    rows.append(_row("judge", [", ".join(one.run.judges) or "none" for one in runs]))
    rows.append(_row("questions asked", [len(one.run.folder.question_ids) for one in runs], differ=False))
    rows.append(_row("finished", [len(one.run.records) for one in runs], differ=False))
    rows.append(_row("failed", [sum(score.failed for score in one.run.scores) for one in runs], differ=False))
    rows.extend(
        _row(f"{name} version", [(one.run.folder.header.get("versions") or {}).get(name) for one in runs])
        for name in sorted({name for one in runs for name in one.run.folder.header.get("versions") or {}})
    )
    rows.append(_row("command", [one.run.folder.header.get("command") for one in runs], differ=False))
    notes = ("≠ marks settings in which the runs differ.",) if len(runs) > 1 else ()
    table = Table("What was run", ("", *(one.name for one in runs)), tuple(rows), notes, wide=True)
    return Section("run", "What was run", (table,))


def _row(name: str, values: list[Any], *, differ: bool = True) -> tuple[Cell, ...]:
    shown = [_shown(value) for value in values]
    mark = " ≠" if differ and len(set(shown)) > 1 else ""
    return (Cell(name + mark), *(Cell(value) for value in shown))


def _shown(value: Any) -> str:
    if value is None or value == "":
        return "–"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
