"""How much memory a finished question leaves behind in a long run.

Python's own allocations are traced from the start; the figure is the slope of a straight line through what is held
after every 50th question, from the 200th on, so that what is in flight at one moment does not decide it.
"""

import gc
import threading
import tracemalloc

from ...metrics.record import QuestionRecord
from .measured import Measured
from .setting import Setting
from .workload import workload

BOUND_KB = 5.0
_THREADS = 2
_EVERY = 50


def measure(setting: Setting, count: int = 1_000) -> list[Measured]:
    """Answer `count` questions and weigh.

    Args:
        setting: Where and how far.
        count: Questions; the first fifth warms up.
    """
    held: list[tuple[float, float]] = []
    done = [0]
    lock = threading.Lock()

    def finished(record: QuestionRecord) -> None:
        with lock:
            done[0] += 1
            if done[0] >= count // 5 and done[0] % _EVERY == 0:
                gc.collect()
                held.append((done[0], tracemalloc.get_traced_memory()[0] / 1024))

    tracemalloc.start()
    try:
        with workload(count, finished) as run:
            run.run(_THREADS)
            rows = len(run.folder.records())
    finally:
        tracemalloc.stop()
    return [
        Measured("questions finished", rows),
        Measured("memory a finished question", slope(held), "KB", BOUND_KB),
    ]


def slope(points: list[tuple[float, float]]) -> float:
    """Of the straight line closest to the points, by least squares; not a number below two points."""
    if len(points) < 2:
        return float("nan")
    across, up = zip(*points, strict=True)
    middle, height = sum(across) / len(across), sum(up) / len(up)
    rise = sum((x - middle) * (y - height) for x, y in points)
    return float(rise / sum((x - middle) ** 2 for x in across))
