"""A whole evaluation against the shortest time that its LM calls leave.

`executionrag evaluate` runs as it is typed, in a process of its own, over MiniHop's index and questions, its rows on
disk. The LM is an OpenAI-compatible server on loopback, also in a process of its own, that takes half a second a call,
for any number of calls at once; it replies as a reader who resolves what the shown passages state. Replies are not
cached. The reference is the makespan of list-scheduling the same calls: the calls of a question one after the other, as
long as the server took for each; the questions in their order, each to the first of so many workers that is free, with
no time for anything else. An evaluation's time counts from the first call that reaches the server to the last row on
disk; starting, opening the index and loading the encoder come before. CPU is that of the whole process less that of a
run over one question.
"""

import heapq
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...retrievers.corpus import passages_from_rows
from ...retrievers.index import Index
from ..benchmarks.minihop import MiniHop
from ..benchmarks.record import BenchmarkQuestion
from ..run_folder import RECORDS, RunFolder
from .loopback_lm import MODEL, Served, serving
from .measured import Measured
from .setting import Setting
from .timing import quartiles
from .workload import SYSTEM, questions

FLOOR = 0.9
_DELAY = 0.5
_ROUNDS = 3


@dataclass(frozen=True)
class Pass:
    """An evaluation that is done.

    Attributes:
        wall: Seconds from the first call to the last row.
        makespan: Seconds that list-scheduling its calls takes.
        cpu: CPU seconds of its process, the start included.
        served: What the server says.
    """

    wall: float
    makespan: float
    cpu: float
    served: Served

    @property
    def share(self) -> float:
        """The makespan as a share of the wall time."""
        return self.makespan / self.wall


def measure(setting: Setting, count: int = 500, threads: int = 32, delay: float = _DELAY) -> list[Measured]:
    """Evaluate some rounds, then fewer questions once on twice as many threads.

    Args:
        setting: Where and how far.
        count: Questions.
        threads: Questions at once.
        delay: Seconds a call.
    """
    more, fewer = 2 * threads, max(1, count * 2 // 5)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        Index.build(passages_from_rows(MiniHop.corpus), folder / "index")
        start = evaluate(folder, 1, 1, delay).cpu
        passes = [evaluate(folder, count, threads, delay) for _ in range(min(setting.rounds, _ROUNDS))]
        wider = evaluate(folder, fewer, more, delay)
    return [*_rows(passes, threads, start, FLOOR), *_rows([wider], more, start, None)]


def _rows(passes: list[Pass], threads: int, start: float, floor: float | None) -> list[Measured]:
    def told(name: str, values: Iterable[float], unit: str = "", floor: float | None = None) -> Measured:
        found = list(values)
        spread = quartiles(found) if len(found) > 1 else None
        return Measured(f"{threads} threads: {name}", statistics.median(found), unit, None, floor, spread)

    calls = [one.served.calls for one in passes]
    taken = [sum(one.served.seconds.values()) for one in passes]
    used = [one.cpu - start for one in passes]
    walls = [one.wall for one in passes]
    return [
        told("throughput, to that of the makespan", [one.share for one in passes], "x", floor),
        told("evaluation", walls, "s"),
        told("makespan", [one.makespan for one in passes], "s"),
        told("LM calls a second", [number / wall for number, wall in zip(calls, walls, strict=True)]),
        told("most LM calls at once", [one.served.most for one in passes]),
        told("connections opened", [one.served.connections for one in passes]),
        told("a call as the server took it", [all_ / one * 1e3 for all_, one in zip(taken, calls, strict=True)], "ms"),
        told("CPU of the evaluation", used, "s"),
        told("the same, as a share of one core", [cpu / wall for cpu, wall in zip(used, walls, strict=True)]),
        told("the same, a call", [cpu / number * 1e3 for cpu, number in zip(used, calls, strict=True)], "ms"),
        told("CPU of the server", [one.served.cpu for one in passes], "s"),
    ]


def evaluate(folder: Path, count: int, threads: int, delay: float) -> Pass:
    """Evaluate so many questions, from the command line.

    Args:
        folder: Holds `index`.
        count: Questions.
        threads: Questions at once.
        delay: Seconds an LM call takes.

    Raises:
        RuntimeError: The evaluation failed, or did not answer all of them; its last lines.
    """
    asked = questions(count)
    file = folder / f"questions-{count}.jsonl"
    file.write_text("".join(f"{json.dumps(musique_row(question))}\n" for question in asked), encoding="utf-8")
    with tempfile.TemporaryDirectory(dir=folder) as name, serving(count, delay) as server:
        run = Path(name) / "run"
        options = {
            "--benchmark": f"musique:{file}",
            "--index": folder / "index",
            "--system": SYSTEM,
            "--lm": f"openai/{MODEL}",
            "--api-base": server.address,
            "--threads": threads,
            "--out": run,
        }
        words = [str(word) for option in options.items() for word in option]
        with (Path(name) / "said").open("w+") as said:
            cpu = _cpu_of([sys.executable, "-m", "executionrag.runs.cli", "evaluate", "--no-cache", *words], said)
            said.seek(0)
            tail = said.read()[-1_000:]
        served = server.served()
        records = RunFolder.open(run).records()
        if any(record.failure for record in records) or len(records) != count:
            raise RuntimeError(f"the evaluation did not answer its {count} questions: {tail}")
        ended = (run / RECORDS).stat().st_mtime
    chains = [served.seconds[question.question] for question in asked]
    return Pass(ended - served.began, makespan(chains, threads), cpu, served)


def _cpu_of(command: list[str], said: Any) -> float:
    """CPU seconds of a command that is run to its end."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
    try:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        if process.returncode is None:
            process.kill()
            process.wait()
    return used.ru_utime + used.ru_stime


def makespan(chains: Iterable[float], workers: int) -> float:
    """When the last of some jobs ends, taken in their order by the first worker that is free.

    Args:
        chains: How long each takes.
        workers: How many there are.
    """
    free = [0.0] * workers
    for length in chains:
        heapq.heapreplace(free, free[0] + length)
    return max(free)


def musique_row(question: BenchmarkQuestion) -> dict[str, Any]:
    """A question in MuSiQue's layout, with its gold paragraphs only."""
    return {
        "id": question.id,
        "question": question.question,
        "answer": question.answer,
        "answer_aliases": list(question.aliases),
        "paragraphs": [
            {"idx": place, "title": one.title, "paragraph_text": one.text, "is_supporting": True}
            for place, one in enumerate(question.supporting)
        ],
        "question_decomposition": [
            {"question": hop.question, "answer": hop.answer, "paragraph_support_idx": hop.support}
            for hop in question.decomposition
        ],
    }
