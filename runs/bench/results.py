"""The results of benchmarks as files, one JSON file a benchmark, and the page that is rendered from them.

Nothing on the page is typed by hand: figures, machine, date, commit and versions come from the files, the words on what
was measured from the benchmark's own module. Results of an older commit may stand in a folder `before`.
"""

import dataclasses
import datetime
import inspect
import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from ..git_commit import git_commit
from .measured import Measured
from .setting import machine

BEFORE = "before"
PROFILES = "profiles"

_VERSIONS = ("dspy", "litellm", "numpy", "faiss-cpu", "bm25s", "torch", "sentence-transformers", "transformers")


def folder_of(page: Path) -> Path:
    """The folder of a page's results: `docs/benchmarks` for `docs/benchmarks.md`."""
    return page.with_suffix("")


def save(folder: Path, name: str, rows: Sequence[Measured]) -> None:
    """Write what a benchmark measured."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        "machine": machine(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": (git_commit() or "unknown")[:10],
        "versions": {package: version(package) for package in _VERSIONS},
        "rows": [dataclasses.asdict(row) for row in rows],
    }
    (folder / f"{name}.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def load(folder: Path, name: str) -> tuple[dict[str, Any], list[Measured]] | None:
    """What a benchmark measured there, with the circumstances; None where it did not run."""
    file = folder / f"{name}.json"
    if not file.exists():
        return None
    content = json.loads(file.read_text(encoding="utf-8"))
    rows = [
        Measured(**{**row, "spread": None if row["spread"] is None else (row["spread"][0], row["spread"][1])})
        for row in content.pop("rows")
    ]
    return content, rows


def render(page: Path, benches: Mapping[str, ModuleType]) -> None:
    """Write the page anew from all results that there are."""
    folder = folder_of(page)
    parts = [
        "# Benchmarks",
        "Made by `make bench DATA=…` (`make bench-large DATA=…` for a million passages); no figure is typed by hand. "
        "Each stands beside a reference of the same run, and ratios (x) are to that reference. Figures of several "
        "rounds are medians, their quartiles in the column “spread”. “Before” is what the same benchmark found on the "
        "older commit that its table names, beside the reference of that run; a cell is empty where a run had no such "
        "figure.",
    ]
    found = {name: (load(folder, name), load(folder / BEFORE, name)) for name in benches}
    parts += _targets({name: (now[1], before[1] if before else []) for name, (now, before) in found.items() if now})
    for name, bench in benches.items():
        now, before = found[name]
        if now is not None:
            parts += _section(name, bench, now, before, folder)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _circumstances(told: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{package} {number}" for package, number in told["versions"].items())
    return f"{told['date']}, commit {told['commit']}, {told['machine']}; {versions}."


def _targets(found: Mapping[str, tuple[Sequence[Measured], Sequence[Measured]]]) -> list[str]:
    """All figures that have a target, of all benchmarks, now and before."""
    lines = []
    for name, (rows, former_rows) in found.items():
        former = _figures(former_rows)
        lines += [(name, row.name, former.get(row.name, ""), row.figure, row.target) for row in rows if row.target]
    return ["## Targets", _table(("table", "what", "before", "now", "target"), lines)] if lines else []


def _figures(rows: Sequence[Measured]) -> dict[str, str]:
    return {row.name: row.figure for row in rows}


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    texts = ["| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |" for cells in (head, *lines)]
    return "\n".join([texts[0], "|" + " --- |" * len(head), *texts[1:]])


def _section(
    name: str,
    bench: ModuleType,
    now: tuple[dict[str, Any], list[Measured]],
    before: tuple[dict[str, Any], list[Measured]] | None,
    folder: Path,
) -> list[str]:
    told, rows = now
    former = _figures(before[1]) if before is not None else {}
    head = ["what", *(["before"] if former else []), "now", "spread", "target", "against"]
    lines = []
    for row in rows:
        was = [former.get(row.name, "")] if former else []
        lines.append([row.name, *was, row.figure, row.between, row.target, row.note])
    where = _circumstances(told)
    if before is not None:
        where += f" Before: {_circumstances(before[0])}"
    parts = [f"## {name}", inspect.cleandoc(bench.__doc__ or ""), _table(head, lines)]
    profile = folder / PROFILES / f"{name}.txt"
    if profile.exists():
        parts.append(f"Profile: [{name}.txt]({folder.name}/{PROFILES}/{name}.txt).")
    return [*parts, where]
