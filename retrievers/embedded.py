"""Finished embeddings, kept on disk beside the index that is being built, so that an interrupted build resumes.

The folder `OUT.embedded` holds one file for each build that began. Its name tells encoder (digest), dtype and backend,
so that embeddings of two encoders never mix. After a header of fixed size stand records of fixed size: SHA-256 of the
embedded text, a checksum, the vector as float32. A record is appended as soon as it is finished, and flushed to disk
within a second. One that is torn (a process killed, power lost, a full disk) is known by its length or checksum and
left out, and its text is embedded again. A build only appends to its own file, which it locks, and only reads the
others, so two builds of one index do not disturb each other. The folder goes when the index stands, with what other
encoders and dtypes left in it.
"""

import contextlib
import hashlib
import logging
import os
import secrets
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, BinaryIO

from .passage_backend import Backend, DType
from .temporaries import locked

if TYPE_CHECKING:
    import numpy as np

logger = logging.getLogger(__name__)

_MAGIC = b"executionrag embeddings 1\n\0\0"  # 28 bytes; the dimension follows in four, little-endian
_HEADER = 32
_DIGEST = 32
_FLUSH_SECONDS = 1.0


def text_digest(text: str) -> bytes:
    """Identity of an embedded text: its SHA-256, 32 bytes."""
    return hashlib.sha256(text.encode()).digest()


def folder_beside(out: Path) -> Path:
    """Where the finished embeddings of an index folder are kept."""
    return out.with_name(f"{out.name}.embedded")


class EmbeddedPlace:
    """The finished embeddings of one index folder, of one encoder and dtype."""

    def __init__(self, out: Path, encoder_digest: str, backend: Backend, dtype: DType) -> None:
        """Nothing is made yet; `out` is the index folder."""
        self.folder = folder_beside(out)
        self._key = f"{encoder_digest}.{dtype}"
        self.backend = backend
        self._stack = contextlib.ExitStack()
        self._handle: int | None = None
        self._file = self.folder / f"{self._key}.{backend}.{secrets.token_hex(8)}.vectors"
        self._flushed = 0.0
        self.appended = 0

    def finished(self) -> "Iterator[tuple[str, list[bytes], np.ndarray]]":
        """What earlier builds left: file by file its backend, and its whole records' digests and vectors (mapped).

        Files of this build's own backend come first. The digest of a record that is torn or damaged is blank.
        """
        mine = [(backend, file) for key, backend, file in self._files() if key == self._key]
        for backend, file in sorted(mine, key=lambda found: (found[0] != self.backend, found[1].name)):
            with contextlib.suppress(OSError, ValueError):
                digests, vectors = _read(file)
                yield backend, digests, vectors

    def unfit(self) -> list[str]:
        """By what other encoders or in what other dtypes there are embeddings, which this build cannot use."""
        encoder = self._key.rsplit(".", 1)[0]
        keys = {tuple(key.rsplit(".", 1)) for key, _, _ in self._files() if key != self._key}
        return sorted({f"in {kept[-1]}" if kept[0] == encoder else "by another encoder" for kept in keys})

    def append(self, digests: Sequence[bytes], vectors: "np.ndarray") -> None:
        """Keep finished embeddings: the digests of some texts, and their vectors of shape (texts, dimension).

        Raises:
            OSError: The disk is full, or the folder cannot be written.
        """
        import numpy as np

        if self._handle is None:
            self._handle = self._open()
            _write(self._handle, _MAGIC + int(vectors.shape[1]).to_bytes(4, "little"))
        matrix = np.ascontiguousarray(vectors, dtype="<f4")
        content = bytearray()
        for digest, vector in zip(digests, matrix, strict=True):
            record = digest + vector.tobytes()
            content += digest + zlib.crc32(record).to_bytes(4, "little") + record[_DIGEST:]
        _write(self._handle, content)
        self.appended += len(digests)
        if monotonic() - self._flushed > _FLUSH_SECONDS:
            os.fsync(self._handle)
            self._flushed = monotonic()

    def vectors(self) -> "np.ndarray":
        """What this build appended, of shape (appended, dimension), in that order: mapped, not to write to."""
        import numpy as np

        assert self._handle is not None, "nothing was appended"
        with os.fdopen(os.dup(self._handle), "rb") as file:
            vectors: np.ndarray = _records(file)["vector"]
        return vectors

    def close(self) -> None:
        """End appending; what was appended stays, a file without a whole record goes."""
        self._stack.close()

    def remove(self) -> None:
        """Remove the folder, for the index stands; files that another build appends to stay."""
        self.close()
        with contextlib.suppress(OSError):
            for file in sorted(self.folder.glob("*.vectors")):
                with locked(file) as held:
                    if held or file == self._file or os.name == "nt":  # there an open file cannot be removed
                        with contextlib.suppress(OSError):
                            file.unlink()
            self.folder.rmdir()

    def _files(self) -> list[tuple[str, str, Path]]:
        """Encoder and dtype, backend, and place of every file, in order."""
        if not self.folder.is_dir():
            return []
        named = [(file.name.rsplit(".", 3), file) for file in sorted(self.folder.glob("*.vectors")) if file.is_file()]
        return [(parts[0], parts[1], file) for parts, file in named if len(parts) == 4]

    def _open(self) -> int:
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0)
        self.folder.mkdir(exist_ok=True)
        try:
            handle = os.open(self._file, flags, 0o666)
        except FileNotFoundError:  # another build has just removed the folder, being done
            self.folder.mkdir(exist_ok=True)
            handle = os.open(self._file, flags, 0o666)
        self._stack.callback(self._close)
        self._stack.enter_context(locked(self._file))
        return handle

    def _close(self) -> None:
        if self._handle is not None:
            with contextlib.suppress(OSError):
                os.fsync(self._handle)
            os.close(self._handle)
            self._handle = None
            if not self.appended:  # the first record found no room: nothing here is worth keeping
                with contextlib.suppress(OSError):
                    self._file.unlink()
                    self.folder.rmdir()


def _write(handle: int, content: bytes | bytearray) -> None:
    """Write all of it: a full disk takes a part, and only says so when asked again."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _read(file: Path) -> "tuple[list[bytes], np.ndarray]":
    """The digests, blank where a record is damaged, and the vectors of a file's whole records.

    Raises:
        ValueError, OSError: It is not such a file, or holds no whole record.
    """
    with file.open("rb") as content:
        records = _records(content)
    digests = []
    for record in records:
        digest = record["digest"].tobytes()
        whole = zlib.crc32(digest + record["vector"].tobytes()) == int(record["check"])
        digests.append(digest if whole else b"")
    if broken := digests.count(b""):
        logger.warning("%s: %d records are damaged; their texts are embedded again", file, broken)
    return digests, records["vector"]


def _records(file: BinaryIO) -> Any:
    """A file's whole records, mapped: an array of digest, check and vector.

    Raises:
        ValueError, OSError: It is not such a file, or holds no whole record.
    """
    import numpy as np

    file.seek(0)
    header = file.read(_HEADER)
    dimension = int.from_bytes(header[len(_MAGIC) :], "little")
    if len(header) != _HEADER or not header.startswith(_MAGIC) or not 0 < dimension < 1 << 20:
        raise ValueError("not a file of embeddings")
    kind = np.dtype([("digest", "u1", (_DIGEST,)), ("check", "<u4"), ("vector", "<f4", (dimension,))])
    count = (os.fstat(file.fileno()).st_size - _HEADER) // kind.itemsize
    return np.memmap(file, dtype=kind, mode="r", offset=_HEADER, shape=(count,))
