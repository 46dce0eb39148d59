"""Files of one JSON record a line, appended by one process at a time, that survive a kill and a full disk.

A line is whole where it ends: a torn last one, left by a killed process, is no line, and is cut off before the next is
appended. A write that fails is taken back, so that what was there stays readable.
"""

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError

from ..errors import UserError
from ..retrievers.text import replace_surrogates

Row = TypeVar("Row", bound=BaseModel)


def as_line(row: BaseModel) -> str:
    """A record as JSON; lone surrogates, which a garbled reply may hold and no file can, become U+FFFD."""
    try:
        return row.model_dump_json()
    except PydanticSerializationError:
        return replace_surrogates(json.dumps(row.model_dump(mode="json"), ensure_ascii=False))[0]


def append_lines(file: Path, lines: Iterable[str]) -> None:
    """Append whole lines; all of them, or none where the disk is full.

    Raises:
        OSError: They could not be written.
    """
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


def whole_lines(file: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that end, with their numbers from 1; blank ones are left out.

    Raises:
        OSError: The file cannot be read.
    """
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line.endswith(b"\n") and line.strip():
                yield number, line


def read_rows(file: Path, kind: type[Row]) -> Iterator[Row]:
    """The records of a file, a torn last line left out.

    Raises:
        UserError: The file cannot be read, or a whole line is no such record; it names the line.
    """
    try:
        for number, line in whole_lines(file):
            try:
                yield kind.model_validate_json(line)
            except ValidationError as error:
                first = error.errors(include_url=False)[0]
                field = ".".join(str(part) for part in first["loc"])
                raise UserError(f"{file}:{number}: no {kind.__name__} (field `{field}`: {first['msg']})") from error
    except OSError as error:
        raise UserError(f"{file}: cannot be read ({error.strerror or error}); the run folder is damaged") from error


def cut_torn(file: Path) -> None:
    """Cut off what follows the last whole line.

    Raises:
        OSError: The file cannot be written to.
    """
    if not file.exists():
        return
    with file.open("r+b") as handle:
        end = handle.seek(0, os.SEEK_END)
        place = _after_last_line(handle, end)
        if place != end:
            handle.truncate(place)


def _after_last_line(handle: IO[bytes], end: int) -> int:
    place = end
    while place > 0:
        step = min(1 << 16, place)
        handle.seek(place - step)
        found = handle.read(step).rfind(b"\n")
        if found >= 0:
            return place - step + found + 1
        place -= step
    return 0


@contextlib.contextmanager
def held(file: Path, busy: str, otherwise: str) -> Iterator[None]:
    """Hold a file, which is made where it is missing, for this process; the hold ends with the process.

    Args:
        file: The file.
        busy: What to say where another process holds it.
        otherwise: What to do where it cannot be written to.

    Raises:
        UserError: Another process holds it, or it cannot be written to.
    """
    import fcntl

    try:
        handle = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    except OSError as error:
        raise UserError(f"{file}: cannot be written ({error.strerror or error}); {otherwise}") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(busy) from error
        except OSError as error:
            raise UserError(f"{file}: cannot be locked ({error.strerror or error}); {otherwise}") from error
        try:
            cut_torn(file)
        except OSError as error:
            raise UserError(f"{file}: cannot be written ({error.strerror or error}); {otherwise}") from error
        yield
    finally:
        os.close(handle)
