"""Seeing a question's steps as they happen, without touching its prediction.

`with watching(print): program(question=…)` calls the function with each trajectory step the moment it is recorded, in
the thread that answers. The watcher lives in a context variable: other threads and questions are not affected.
"""

import contextlib
import logging
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from .trajectory import Step

logger = logging.getLogger(__name__)
Watcher = Callable[[Step], None]
_watcher: ContextVar[Watcher | None] = ContextVar("executionrag_watcher", default=None)


@contextlib.contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Call `watcher` with each step recorded inside the block; what it raises is logged, never passed on."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def notify(step: Step) -> None:
    """Show a step to the watcher of this context, if there is one."""
    watcher = _watcher.get()
    if watcher is None:
        return
    try:
        watcher(step)
    except Exception:
        logger.exception("the watcher of this question failed on a %s step", step.kind)
