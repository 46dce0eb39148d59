"""Writing and checking the files of an index folder.

A folder is written under a temporary name beside its place, every file flushed to disk, and renamed when complete: what
stands under the final name is whole. Its manifest holds the size and SHA-256 of each file.
"""

import contextlib
import errno
import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UserError
from .temporaries import locked, remove_stale, temporary_beside

if TYPE_CHECKING:
    import numpy as np

_FULL = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}
_SMALL = 1 << 20


def write_bytes(file: Path, content: bytes) -> None:
    """Write a file; a full disk shows as an OSError with its number."""
    with file.open("wb") as out:
        out.write(content)


def write_array(file: Path, array: "np.ndarray") -> None:
    """Write a `.npy` file. Unlike `numpy.save`, a full disk shows as an OSError with its number."""
    import numpy as np

    array = np.ascontiguousarray(array)
    with file.open("wb") as out:
        np.lib.format.write_array_header_1_0(out, np.lib.format.header_data_from_array_1_0(array))
        out.write(array.reshape(-1).view(np.uint8).data)


def write_rows(file: Path, shape: tuple[int, int], slabs: "Iterable[np.ndarray]") -> None:
    """Write a `.npy` file of float32 by parts, each some of its rows, so that it is never held whole."""
    import numpy as np

    header = {"descr": "<f4", "fortran_order": False, "shape": shape}
    with file.open("wb") as out:
        np.lib.format.write_array_header_1_0(out, header)
        for slab in slabs:
            out.write(np.ascontiguousarray(slab, dtype="<f4").reshape(-1).view(np.uint8).data)


class DiskFull(UserError):
    """There is no room for what is to be written."""


@contextlib.contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """Give an empty temporary folder that becomes `out` when the block ends, and vanishes when it fails.

    A folder that stands at `out` is replaced at the end: whether it may be is for the caller to decide. Temporary
    folders that killed processes left for the same place are removed.

    Raises:
        DiskFull: The disk is full.
        UserError: A file cannot be written.
    """
    temporary = temporary_beside(out, "tmp")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        remove_stale(out, "tmp")
        temporary.mkdir()
        with locked(temporary):
            yield temporary
            _flush(temporary)
            _swap(temporary, out)
        remove_stale(out, "old")  # not before: it may be all that is left of the former index
    except OSError as error:
        # numpy reports a short write without an error number.
        if error.errno in _FULL or "requested and" in str(error) or str(error).startswith("writing "):
            raise DiskFull(f"{out}: no room to write the index (disk full?); free some space and run again") from error
        raise UserError(f"{out}: the index cannot be written ({error.strerror or error}); check the path") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def describe(folder: Path) -> dict[str, dict[str, Any]]:
    """Size in bytes and SHA-256 of every file in a folder, by relative path."""
    return {
        file.relative_to(folder).as_posix(): {"bytes": file.stat().st_size, "sha256": sha256_of(file)}
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def check(folder: Path, files: dict[str, dict[str, Any]], *, everything: bool) -> None:
    """Compare a folder with its description: all sizes, and the hashes of small files or of all.

    Raises:
        UserError: A file is missing or differs; the message names it.
    """
    for name, expected in sorted(files.items()):
        file = folder / name
        try:
            size = file.stat().st_size
            if size != expected["bytes"]:
                raise damaged(file, f"it has {size} bytes instead of {expected['bytes']}")
            if (everything or size <= _SMALL) and sha256_of(file) != expected["sha256"]:
                raise damaged(file, "its content has changed")
        except FileNotFoundError as error:
            raise damaged(file, "it is missing") from error
        except OSError as error:
            raise damaged(file, f"it cannot be read: {error.strerror or error}") from error


def damaged(file: Path, reason: str) -> UserError:
    """The error for an index file that is not as it was written."""
    return UserError(f"{file}: the index is damaged ({reason}); build it again (executionrag index … --rebuild)")


def sha256_of(file: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _flush(folder: Path) -> None:
    for path in (*folder.rglob("*"), folder):
        if path.is_dir() and os.name == "nt":
            continue  # folders cannot be opened there
        handle = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _swap(temporary: Path, out: Path) -> None:
    if not out.exists():
        temporary.rename(out)
        return
    old = temporary_beside(out, "old")
    out.rename(old)
    try:
        temporary.rename(out)
    except BaseException:
        old.rename(out)
        raise
    shutil.rmtree(old, ignore_errors=True)
