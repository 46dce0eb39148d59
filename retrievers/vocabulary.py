"""The tokens of a keyword index on disk, memory-mapped: opening a million of them reads nothing.

Tokens lie in the order of their CRC-32 and bytes, so that a look-up is a binary search among numbers.
"""

from bisect import bisect_left
from collections.abc import Mapping
from pathlib import Path
from zlib import crc32

from .files import write_array

HASHES = "token_hashes.npy"
OFFSETS = "token_offsets.npy"
BYTES = "tokens.npy"
IDS = "token_ids.npy"


def write(ids: Mapping[str, int], folder: Path) -> None:
    """Write tokens with their ids to a folder."""
    import numpy as np

    entries = sorted((crc32(encoded := token.encode()), encoded, number) for token, number in ids.items())
    ends = np.zeros(len(entries) + 1, dtype=np.int64)
    np.cumsum([len(encoded) for _, encoded, _ in entries], out=ends[1:])
    write_array(folder / HASHES, np.array([value for value, _, _ in entries], dtype=np.uint32))
    write_array(folder / OFFSETS, ends)
    write_array(folder / BYTES, np.frombuffer(b"".join(encoded for _, encoded, _ in entries), dtype=np.uint8))
    write_array(folder / IDS, np.array([number for _, _, number in entries], dtype=np.int32))


class Vocabulary:
    """Looks up what `write` wrote. Safe from many threads."""

    def __init__(self, folder: Path) -> None:
        """Map the files.

        Raises:
            ValueError, OSError: A file cannot be read as what it should be.
        """
        import numpy as np

        kinds = {HASHES: np.uint32, OFFSETS: np.int64, BYTES: np.uint8, IDS: np.int32}
        arrays = {name: np.load(folder / name, mmap_mode="r", allow_pickle=False) for name in kinds}
        for name, kind in kinds.items():
            if arrays[name].dtype != kind or arrays[name].ndim != 1:
                raise ValueError(f"{name} holds another kind of numbers")
        self._hashes, self._offsets, self._bytes, self._ids = (memoryview(arrays[name]) for name in kinds)
        if len(self._offsets) != len(self) + 1 or len(self._ids) != len(self) or self._offsets[-1] != len(self._bytes):
            raise ValueError("tokens, offsets and ids do not belong together")

    def __len__(self) -> int:
        return len(self._hashes)

    def get(self, token: str) -> int | None:
        """The id of a token, or None."""
        encoded = token.encode()
        value = crc32(encoded)
        place = bisect_left(self._hashes, value)
        while place < len(self) and self._hashes[place] == value:
            if self._bytes[self._offsets[place] : self._offsets[place + 1]] == encoded:
                return int(self._ids[place])
            place += 1
        return None
