"""Timing beside a reference. A benchmark lets the two take turns, so that whatever slows the machine slows both.

Figures are medians of rounds with their quartiles. A ratio is taken round by round, of neighbours in time.
"""

import statistics
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any

from .measured import Measured


def seconds(action: Callable[[], Any]) -> float:
    """Wall time of an action, in seconds."""
    began = perf_counter()
    action()
    return perf_counter() - began


def seconds_from_threads(threads: int, answer: Callable[[Any], Any], questions: Any) -> float:
    """Wall time in seconds until so many threads, which begin at once, have put all questions."""
    ready = threading.Barrier(threads + 1)

    def ask(thread: int) -> None:
        ready.wait()
        for question in questions[thread::threads]:
            answer(question)

    with ThreadPoolExecutor(threads) as pool:
        asking = [pool.submit(ask, thread) for thread in range(threads)]
        ready.wait()
        began = perf_counter()
        for future in asking:
            future.result()
        return perf_counter() - began


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """Lower and upper quartile; both the value itself where there is one."""
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def timed(
    name: str, values: Sequence[float], *, unit: str = "ms", bound: float | None = None, note: str = ""
) -> Measured:
    """A figure of several rounds in seconds, told in s, ms or µs."""
    factor = {"s": 1.0, "ms": 1e3, "µs": 1e6}[unit]
    scaled = [value * factor for value in values]
    return Measured(name, statistics.median(scaled), unit, bound, None, quartiles(scaled), note)


def times_faster(
    name: str, ours: Sequence[float], reference: Sequence[float], *, floor: float | None = None, note: str = ""
) -> Measured:
    """How many times as long the reference takes, round by round."""
    ratios = [other / one for one, other in zip(ours, reference, strict=True)]
    return Measured(name, statistics.median(ratios), "x", None, floor, quartiles(ratios), note)
