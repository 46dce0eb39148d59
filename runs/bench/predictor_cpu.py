"""CPU time inside DSPy's predictors: what lies between a program's call of a `dspy.Predict` and its prediction."""

import threading
from collections.abc import Callable
from time import thread_time
from types import TracebackType
from typing import Any
from unittest.mock import patch

import dspy


class PredictorCpu:
    """While it is entered, counts the calls of every `dspy.Predict` and the CPU time in them, the LM's included.

    Attributes:
        calls: Calls that came back.
        cpu: Seconds of the calling threads' CPU.
    """

    def __init__(self, entered: Callable[[dspy.Predict], None] = lambda _: None) -> None:
        """Count from nothing.

        Args:
            entered: Told of each call before it begins, in the thread that calls.
        """
        self.calls = 0
        self.cpu = 0.0
        self._lock = threading.Lock()
        call = dspy.Predict.__call__

        def timed(predictor: dspy.Predict, *args: Any, **inputs: Any) -> Any:
            entered(predictor)
            began = thread_time()
            try:
                return call(predictor, *args, **inputs)
            finally:
                spent = thread_time() - began
                with self._lock:
                    self.calls += 1
                    self.cpu += spent

        self._patch = patch.object(dspy.Predict, "__call__", timed)

    def __enter__(self) -> "PredictorCpu":
        self._patch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._patch.stop()
