"""One folder a run: what it was made with, a line a finished question, and the texts of its passages once.

`run.json` holds the settings with their digest, the ids of the questions asked (in the benchmark's order) and the
versions of what made it; `records.jsonl` a self-contained record a line, appended as a question finishes;
`passages.jsonl` the retrieved and the gold passages. Nothing is ever rewritten but `run.json`, by rename. The last
record of a question counts. A torn last line, left by a killed process, is no record.
"""

import contextlib
import json
import shutil
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ..errors import UserError
from ..metrics.record import QuestionRecord, Verdict
from ..retrievers.temporaries import remove_stale, temporary_beside
from .jsonl import append_lines, as_line, cut_torn, held, read_rows

FORMAT = "executionrag-run"
VERSION = 1
_ENDING = "tmp"
RUN, RECORDS, PASSAGES, VERDICTS = "run.json", "records.jsonl", "passages.jsonl", "verdicts.jsonl"


class _PassageRow(BaseModel):
    id: str
    title: str
    text: str


class RunFolder:
    """A run on disk. Make one with `create`, open one with `open`; appending is safe from many threads."""

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        """Hold a checked folder; use `create` or `open`."""
        self.path = path
        self._header = header
        self._lock = threading.Lock()
        self._known: set[str] | None = None

    @classmethod
    def create(
        cls, path: Path, settings: dict[str, Any], digest: str, question_ids: Sequence[str], **more: Any
    ) -> "RunFolder":
        """Make a new run folder, under a temporary name and then renamed.

        Raises:
            UserError: The place is taken or cannot be written to.
        """
        header = {
            "format": FORMAT,
            "version": VERSION,
            "digest": digest,
            "settings": settings,
            "question_ids": list(question_ids),
            **more,
        }
        try:
            if path.exists() and any(path.iterdir()):
                raise UserError(f"{path}: exists and is no run; it is left alone, give another --out")
            path.parent.mkdir(parents=True, exist_ok=True)
            remove_stale(path, _ENDING)
            temporary = temporary_beside(path, _ENDING)
            try:
                temporary.mkdir()
                (temporary / RUN).write_text(json.dumps(header, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
                for name in (RECORDS, PASSAGES):
                    (temporary / name).touch()
                temporary.replace(path)
            except BaseException:
                shutil.rmtree(temporary, ignore_errors=True)
                raise
        except OSError as error:
            raise _unwritable(path, error, "give another --out") from error
        return cls(path, header)

    @classmethod
    def open(cls, path: Path | str) -> "RunFolder":
        """Open a run folder.

        Raises:
            UserError: No run there, or one that this version cannot read.
        """
        path = Path(path)
        try:
            header = json.loads((path / RUN).read_text(encoding="utf-8"))
        except OSError as error:
            raise UserError(f"{path}: no run there ({RUN}: {error.strerror or error}); evaluate makes one") from error
        except ValueError as error:
            raise UserError(f"{path / RUN}: not readable ({error}); the run folder is damaged") from error
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise UserError(f"{path / RUN}: no run of executionrag; give a folder that evaluate made")
        if header.get("version") != VERSION:
            raise UserError(f"{path / RUN}: format {header.get('version')}, this version reads {VERSION}; run it anew")
        return cls(path, header)

    @property
    def settings(self) -> dict[str, Any]:
        """What the run was made with."""
        return dict(self._header["settings"])

    @property
    def digest(self) -> str:
        """Identity of the settings."""
        return str(self._header["digest"])

    @property
    def header(self) -> dict[str, Any]:
        """Everything in `run.json`."""
        return dict(self._header)

    @property
    def question_ids(self) -> list[str]:
        """The questions asked, in the benchmark's order."""
        return list(self._header["question_ids"])

    def extend(self, question_ids: Sequence[str], **more: Any) -> None:
        """Say which questions are asked now; `run.json` is replaced.

        Raises:
            UserError: It cannot be written; the old one stands.
        """
        self._header = {**self._header, **more, "question_ids": list(question_ids)}
        temporary = self.path / f".{RUN}.{_ENDING}"  # one name, so that what a kill left is overwritten
        text = json.dumps(self._header, ensure_ascii=False, indent=1) + "\n"
        try:
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(self.path / RUN)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise _unwritable(self.path, error, "make room, or give another --out") from error

    def records(self) -> list[QuestionRecord]:
        """The finished questions, in the benchmark's order; of several records of one, the last.

        Raises:
            UserError: A line other than a torn last one is no record.
        """
        by_id = {record.id: record for record in read_rows(self.path / RECORDS, QuestionRecord)}
        order = {question: place for place, question in enumerate(self.question_ids)}
        return sorted(by_id.values(), key=lambda record: (order.get(record.id, len(order)), record.id))

    def verdicts(self, records: Iterable[QuestionRecord] | None = None) -> dict[str, Verdict]:
        """The judge's verdicts by question: the last on the answer that stands.

        Args:
            records: What `records` gave, where it was read already.
        """
        if not (self.path / VERDICTS).is_file():
            return {}
        read = self.records() if records is None else records
        standing = {record.id: (record.answer, record.abstained) for record in read}
        return {
            verdict.id: verdict
            for verdict in read_rows(self.path / VERDICTS, Verdict)
            if standing.get(verdict.id) == (verdict.answer, verdict.abstained)
        }

    def passages(self) -> dict[str, tuple[str, str]]:
        """Title and text of the passages that records name, by id.

        Raises:
            UserError: A line other than a torn last one is no passage.
        """
        if not (self.path / PASSAGES).is_file():
            return {}
        rows = read_rows(self.path / PASSAGES, _PassageRow)
        return {row.id: (row.title, row.text) for row in rows}

    @contextlib.contextmanager
    def appending(self) -> Iterator[None]:
        """Hold the folder for one process that appends; torn last lines are cut off first.

        Raises:
            UserError: Another process holds it, or it cannot be written to.
        """
        busy = f"{self.path}: another process is writing to this run; wait for it, or give another --out"
        elsewhere = "give another --out"
        with held(self.path / RECORDS, busy, elsewhere):
            try:
                cut_torn(self.path / PASSAGES)
            except OSError as error:
                raise _unwritable(self.path, error, elsewhere) from error
            self._known = set(self.passages())
            try:
                yield
            finally:
                self._known = None

    def unknown(self, passage_ids: Iterable[str]) -> set[str]:
        """Those of some passages that the folder does not hold yet, while it is appended to."""
        assert self._known is not None, "known only while appending"
        return set(passage_ids) - self._known

    def append(self, record: QuestionRecord, passages: Mapping[str, tuple[str, str]]) -> None:
        """Write a finished question, its passages first; it is on disk when this returns.

        Raises:
            UserError: The disk is full, or the file cannot be written.
        """
        assert self._known is not None, "append only while appending"
        with self._lock:
            new = {key: value for key, value in sorted(passages.items()) if key not in self._known}
            rows = ({"id": key, "title": title, "text": text} for key, (title, text) in new.items())
            try:
                if new:
                    append_lines(self.path / PASSAGES, (json.dumps(row, ensure_ascii=False) for row in rows))
                    self._known.update(new)
                append_lines(self.path / RECORDS, [as_line(record)])
            except OSError as error:
                raise _unwritable(self.path, error, "rows so far are kept, the same line again resumes") from error


def _unwritable(place: Path, error: OSError, remedy: str) -> UserError:
    return UserError(f"{place}: cannot be written ({error.strerror or error}); {remedy}")
