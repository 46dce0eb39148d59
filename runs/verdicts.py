"""A run's `verdicts.jsonl`: what judges said, a line a verdict, appended and flushed as they come.

Nothing is ever rewritten. Of a question counts the last verdict on the answer that stands, so that judging again
replaces what counts and an answer that changed since has no verdict. An earlier verdict of the same judge on the same
answer is taken again at no cost; one that failed is not. A torn last line, left by a killed process, is no verdict.
"""

import contextlib
import threading
from collections.abc import Iterator

from ..errors import UserError
from ..metrics.record import QuestionRecord, Verdict
from .jsonl import append_lines, as_line, held, read_rows
from .run_folder import VERDICTS, RunFolder


class VerdictLog:
    """The verdicts of one run; appending is safe from many threads, for one process at a time."""

    def __init__(self, folder: RunFolder) -> None:
        """Read what is there.

        Raises:
            UserError: A line other than a torn last one is no verdict.
        """
        self._file = folder.path / VERDICTS
        self._lock = threading.Lock()
        self._last: dict[tuple[str, str, bool], Verdict] = {}
        self._said: dict[tuple[str, str, str, bool], Verdict] = {}
        for verdict in read_rows(self._file, Verdict) if self._file.is_file() else ():
            self._take(verdict)

    def standing(self, record: QuestionRecord) -> Verdict | None:
        """The verdict that counts for a question as it is answered now."""
        return self._last.get((record.id, record.answer, record.abstained))

    def earlier(self, record: QuestionRecord, judge: str) -> Verdict | None:
        """What this judge last said of this answer, marked as costing nothing; None where it has said nothing."""
        said = self._said.get((record.id, judge, record.answer, record.abstained))
        free = {"cached": True, "prompt_tokens": 0, "completion_tokens": 0, "cost": 0.0}
        return None if said is None else said.model_copy(update=free)

    @contextlib.contextmanager
    def appending(self) -> Iterator[None]:
        """Hold the file for this process; a torn last line is cut off first.

        Raises:
            UserError: Another process holds it, or it cannot be written to.
        """
        busy = f"{self._file}: another process is judging this run; wait for it"
        with held(self._file, busy, "make the folder writable"):
            yield

    def append(self, verdict: Verdict) -> None:
        """Write a verdict; it is on disk, and counts, when this returns.

        Raises:
            UserError: The disk is full, or the file cannot be written.
        """
        with self._lock:
            try:
                append_lines(self._file, [as_line(verdict)])
            except OSError as error:
                what = error.strerror or error
                raise UserError(f"{self._file}: cannot be written ({what}); verdicts so far are kept") from error
            self._take(verdict)

    def _take(self, verdict: Verdict) -> None:
        self._last[verdict.id, verdict.answer, verdict.abstained] = verdict
        if verdict.verdict is not None:
            self._said[verdict.id, verdict.judge, verdict.answer, verdict.abstained] = verdict
