"""Ctrl-C while questions are answered: the first ends the pass cleanly, the second ends it at once."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .evaluation import Evaluation
from .output import Console
from .plain_text import count


@contextmanager
def interruptible(evaluation: Evaluation, console: Console) -> Iterator[threading.Event]:
    """Take the first Ctrl-C as a wish to end after the questions in flight; the second ends at once.

    Gives the event that is set once it was heard.
    """
    interrupted = threading.Event()

    def hear(number: int, frame: Any) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt
        interrupted.set()
        evaluation.stop()
        waiting = evaluation.in_flight
        named = f" ({', '.join(waiting[:4])}{', …' if len(waiting) > 4 else ''})" if waiting else ""
        console.err.line(
            f"interrupted: waiting for {count(len(waiting), 'question')} in flight{named}; "
            "Ctrl-C again ends at once, with every finished question kept"
        )

    before = signal.getsignal(signal.SIGINT)
    # A job in a shell's background ignores Ctrl-C, and goes on doing so; only the main thread may listen.
    listening = before is not signal.SIG_IGN and threading.current_thread() is threading.main_thread()
    if listening:
        signal.signal(signal.SIGINT, hear)
    try:
        yield interrupted
    finally:
        if listening:
            signal.signal(signal.SIGINT, before)
