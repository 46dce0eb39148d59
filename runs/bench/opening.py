"""What opening an index takes, what a thousand questions add to it, and what an index takes on disk.

Each figure is of a fresh process that opens the index as `Index.load` does, on a warm disk. Memory is what the kernel
counts as resident: private memory, and the pages of the mapped files that were touched, which every process shares and
the kernel takes back when it needs them. "Opening" leaves out what importing numpy, faiss and bm25s takes, as far as an
index needs them, which is shown apart. What opening puts off, the first search pays: it is by meaning and by words, and
has the encoder's opening in it. A thousand questions are each searched both ways.
"""

import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

from . import corpora
from .measured import Measured
from .opened import __name__ as opened_module
from .setting import Setting
from .timing import quartiles, timed

BOUND_SECONDS = 1.0
BOUND_MB = 300.0
#: Private memory that 800 questions may leave behind: 5 KB a question, as in a long run.
BOUND_GROWTH_MB = 4.0
_SIZES = (6_000, 100_000)
_LARGE = 1_000_000
_QUESTIONS = 1_000
_WARM = 200


def measure(setting: Setting) -> list[Measured]:
    """Open an index of each size so many times as there are rounds.

    Args:
        setting: Where and how far; it needs benchmark files.
    """
    rows = []
    for count in (*_SIZES, *((_LARGE,) if setting.large else ())):
        index = corpora.indexed(setting, count)
        rows += _opening(index, f"{count:,} passages", setting.rounds)
        rows += _on_disk(index, f"{count:,} passages")
        rows += _questions(setting, index, f"{count:,} passages")
    return rows


def _opening(index: Path, size: str, rounds: int) -> list[Measured]:
    _opened(index, "apart")  # warms the disk
    apart = [_opened(index, "apart") for _ in range(rounds)]
    whole = [_opened(index, "whole") for _ in range(rounds)]
    return [
        timed(f"opening, {size}", [one["seconds"] for one in apart], unit="s", bound=BOUND_SECONDS),
        timed(f"opening with all imports, {size}", [one["seconds"] for one in whole], unit="s"),
        timed(f"the first search after it, {size}", [one["seconds_searching"] for one in whole], unit="s"),
        _memory(f"memory of opening, {size}", apart, "resident", BOUND_MB),
        _memory(f"of it private, {size}", apart, "private"),
        _memory(f"memory of the whole process then, {size}", whole, "resident_then"),
    ]


def _memory(name: str, found: list[dict[str, Any]], key: str, bound: float | None = None) -> Measured:
    values = [one[key] / 1e6 for one in found]
    return Measured(name, median(values), "MB", bound, None, quartiles(values))


def _on_disk(index: Path, size: str) -> list[Measured]:
    """Bytes a passage, by what they are for."""
    passages = int(size.split()[0].replace(",", ""))
    parts = {"passages": 0, "vectors": 0, "keywords": 0}
    for file in index.rglob("*"):
        if file.is_file():
            name = file.relative_to(index).as_posix()
            part = "keywords" if name.startswith("keyword") else "vectors" if name.startswith("vectors") else "passages"
            parts[part] += file.stat().st_size
    return [Measured(f"on disk a passage: {part}, {size}", total / passages, "bytes") for part, total in parts.items()]


def _questions(setting: Setting, index: Path, size: str) -> list[Measured]:
    """Memory after the first questions against memory after all of them."""
    questions = corpora.real_questions(setting)
    questions += [passage.title for passage in corpora.real_passages(setting.need_data())]
    asked = "\n".join(" ".join(question.split()) for question in questions[:_QUESTIONS])
    found = _opened(index, "questions", str(_WARM), given=asked)
    grown = (found["private_last"] - found["private_warm"]) / 1e6
    touched = (found["resident_last"] - found["resident_warm"]) / 1e6 - grown
    later = f"questions {_WARM + 1} to {_QUESTIONS:,}"
    return [
        Measured(f"private memory of the process after {_WARM} questions, {size}", found["private_warm"] / 1e6, "MB"),
        Measured(f"private memory that {later} add, {size}", grown, "MB", BOUND_GROWTH_MB),
        Measured(f"pages of the index's files that {later} touch, {size}", touched, "MB"),
    ]


def _opened(index: Path, what: str, *more: str, given: str = "") -> dict[str, Any]:
    command = [sys.executable, "-m", opened_module, what, str(index), *more]
    run = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(f"{index} could not be opened: {run.stderr[-500:]}")
    found: dict[str, Any] = json.loads(run.stdout)
    return found
