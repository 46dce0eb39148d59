"""Temporary folders beside a place, which a later writer can tell apart: in use, or left by a process that is gone.

Ordinary failures and Ctrl-C remove a temporary folder; a process that is killed cannot. So a folder's name says which
machine and process made it, and the process holds a lock on the folder while it writes. It is removed only where the
name is of this machine, no such process runs, and nobody holds the lock (a process in another container counts under
another number here). What cannot be told stays: on Windows, and after a process number was given anew.
"""

import contextlib
import functools
import hashlib
import os
import platform
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path


def temporary_beside(place: Path, ending: str) -> Path:
    """A name for a temporary folder beside a place, new and of this process; nothing is made."""
    return place.parent / f".{place.name}.{_machine()}-{os.getpid()}-{secrets.token_hex(4)}.{ending}"


def remove_stale(place: Path, ending: str) -> None:
    """Remove the temporary folders beside a place whose process is gone; one that cannot be removed is left."""
    ours = re.compile(rf"\.{re.escape(place.name)}\.{_machine()}-(\d{{1,10}})-[0-9a-f]{{8}}\.{re.escape(ending)}")
    with contextlib.suppress(OSError):
        for folder in sorted(place.parent.iterdir()):
            match = ours.fullmatch(folder.name)
            if match is None or folder.is_symlink() or not folder.is_dir() or _may_run(int(match[1])):
                continue
            with locked(folder) as held:
                if held:
                    shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Hold a folder's lock, which ends with the process; gives False where another holds it, or there are no locks."""
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        yield False
        return
    try:
        held = True
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            held = False
        yield held
    finally:
        os.close(handle)


@functools.cache
def _machine() -> str:
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _may_run(process: int) -> bool:
    """Whether a process of that number may be running; True where it cannot be told."""
    if os.name == "nt":
        return True  # looking with os.kill would end it
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
