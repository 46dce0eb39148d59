"""One folder a run: what it was made with, a line a finished question, and the texts of its passages once.

`run.json` holds the settings with their digest, the ids of the questions asked (in the benchmark's order) and the
versions of what made it; `records.jsonl` a self-contained record a line, appended as a question finishes;
`passages.jsonl` the retrieved and the gold passages. Nothing is ever rewritten but `run.json`, by rename. The last
record of a question counts. A torn last line, left by a killed process, is no record.
"""

import contextlib
import json
import os
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from pydantic import ValidationError

from ..errors import UserError
from ..metrics.record import QuestionRecord, Verdict

FORMAT = "executionrag-run"
VERSION = 1
RUN, RECORDS, PASSAGES, VERDICTS = "run.json", "records.jsonl", "passages.jsonl", "verdicts.jsonl"


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
        temporary = path.parent / f".{path.name}.{secrets.token_hex(4)}.tmp"
        try:
            if path.exists() and any(path.iterdir()):
                raise UserError(f"{path}: exists and is no run; it is left alone, give another --out")
            temporary.mkdir(parents=True)
            (temporary / RUN).write_text(json.dumps(header, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
            for name in (RECORDS, PASSAGES):
                (temporary / name).touch()
            temporary.replace(path)
        except OSError as error:
            raise UserError(f"{path}: cannot be written ({error.strerror or error}); give another --out") from error
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
        """Say which questions are asked now; `run.json` is replaced."""
        self._header = {**self._header, **more, "question_ids": list(question_ids)}
        temporary = self.path / f".{RUN}.{secrets.token_hex(4)}.tmp"
        text = json.dumps(self._header, ensure_ascii=False, indent=1) + "\n"
        try:
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(self.path / RUN)
        except OSError as error:
            raise UserError(f"{self.path}: cannot be written ({error.strerror or error})") from error

    def records(self) -> list[QuestionRecord]:
        """The finished questions, in the benchmark's order; of several records of one, the last.

        Raises:
            UserError: A line other than a torn last one is no record.
        """
        by_id = {record.id: record for record in _lines(self.path / RECORDS, QuestionRecord)}
        order = {question: place for place, question in enumerate(self.question_ids)}
        return sorted(by_id.values(), key=lambda record: (order.get(record.id, len(order)), record.id))

    def verdicts(self) -> dict[str, Verdict]:
        """The judge's verdicts by question: the last on the answer that stands."""
        if not (self.path / VERDICTS).is_file():
            return {}
        standing = {record.id: (record.answer, record.abstained) for record in self.records()}
        return {
            verdict.id: verdict
            for verdict in _lines(self.path / VERDICTS, Verdict)
            if standing.get(verdict.id) == (verdict.answer, verdict.abstained)
        }

    def passages(self) -> dict[str, tuple[str, str]]:
        """Title and text of the passages that records name, by id."""
        found = {}
        with contextlib.suppress(FileNotFoundError):
            for line in _whole_lines(self.path / PASSAGES):
                row = json.loads(line)
                found[row["id"]] = (row["title"], row["text"])
        return found

    @contextlib.contextmanager
    def appending(self) -> Iterator[None]:
        """Hold the folder for one process that appends; torn last lines are cut off first.

        Raises:
            UserError: Another process holds it, or it cannot be written to.
        """
        import fcntl

        try:
            with (self.path / RECORDS).open("r+b") as held:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                for name in (RECORDS, PASSAGES):
                    _cut_torn(self.path / name)
                self._known = set(self.passages())
                yield
        except BlockingIOError as error:
            raise UserError(
                f"{self.path}: another process is writing to this run; wait for it, or give another --out"
            ) from error
        except PermissionError as error:
            raise UserError(f"{self.path}: cannot be written ({error.strerror}); give another --out") from error

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
                    _append(self.path / PASSAGES, (json.dumps(row, ensure_ascii=False) for row in rows))
                _append(self.path / RECORDS, [record.model_dump_json()])
            except OSError as error:
                raise UserError(
                    f"{self.path}: cannot be written ({error.strerror or error}); rows so far are kept"
                ) from error
            self._known.update(new)


def _append(file: Path, lines: Iterable[str]) -> None:
    """Append whole lines with one write."""
    content = "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
    handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        size = os.fstat(handle).st_size
        try:
            written = os.write(handle, content)
            while written < len(content):
                written += os.write(handle, content[written:])
        except OSError:
            os.ftruncate(handle, size)  # a half-written line would tear the next one
            raise
    finally:
        os.close(handle)


def _cut_torn(file: Path) -> None:
    if not file.exists():
        return
    with file.open("r+b") as handle:
        _truncate_after_last_line(handle)


def _truncate_after_last_line(handle: IO[bytes]) -> None:
    end = handle.seek(0, os.SEEK_END)
    place = end
    while place > 0:
        step = min(1 << 16, place)
        handle.seek(place - step)
        found = handle.read(step).rfind(b"\n")
        if found >= 0:
            place = place - step + found + 1
            break
        place -= step
    if place != end:
        handle.truncate(place)


def _whole_lines(file: Path) -> Iterator[bytes]:
    """The lines that end; a torn last one is left out."""
    with file.open("rb") as lines:
        for line in lines:
            if line.endswith(b"\n") and line.strip():
                yield line


def _lines(file: Path, kind: Any) -> Iterator[Any]:
    try:
        for number, line in enumerate(_whole_lines(file), start=1):
            try:
                yield kind.model_validate_json(line)
            except ValidationError as error:
                first = error.errors(include_url=False)[0]
                field = ".".join(str(part) for part in first["loc"])
                raise UserError(f"{file}:{number}: no {kind.__name__} (field `{field}`: {first['msg']})") from error
    except OSError as error:
        raise UserError(f"{file}: cannot be read ({error.strerror or error}); the run folder is damaged") from error
