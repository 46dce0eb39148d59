"""The passages of an index on disk: one JSON line each, in the order of their ids, memory-mapped.

A passage is read when it is asked for; a million of them cost no memory. Looking one up by id is a binary search.
"""

import json
import mmap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, overload

from .files import write_array
from .passage import Passage

PASSAGES = "passages.jsonl"
OFFSETS = "offsets.npy"
#: Two rows of numbers: the passages ordered by document and position, and the place of each passage in that order.
DOCUMENTS = "documents.npy"

_FIELD = json.JSONDecoder()


def write(passages: Sequence[Passage], folder: Path) -> None:
    """Write passages, which must be sorted by id, to a folder."""
    import numpy as np

    ends = [0]
    with (folder / PASSAGES).open("wb") as out:
        for passage in passages:
            fields = [passage.id, passage.title, passage.text, passage.document, passage.position]
            line = json.dumps(fields, ensure_ascii=False).encode() + b"\n"
            out.write(line)
            ends.append(ends[-1] + len(line))
    write_array(folder / OFFSETS, np.array(ends, dtype=np.int64))
    order = sorted(range(len(passages)), key=lambda row: (passages[row].document, passages[row].position, row))
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    write_array(folder / DOCUMENTS, np.stack([np.array(order, dtype=np.int64), places]))


class PassageStore(Sequence[Passage]):
    """The stored passages as a sequence in the order of their ids. Safe from many threads."""

    def __init__(self, folder: Path) -> None:
        """Map the files.

        Raises:
            ValueError, OSError: A file cannot be read as what it should be.
        """
        import numpy as np

        self._offsets = np.load(folder / OFFSETS, mmap_mode="r", allow_pickle=False)
        self._documents = np.load(folder / DOCUMENTS, mmap_mode="r", allow_pickle=False)
        with (folder / PASSAGES).open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if self._documents.shape != (2, len(self)) or int(self._offsets[-1]) != len(self._bytes):
            raise ValueError("offsets and passages do not belong together")

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @overload
    def __getitem__(self, row: int) -> Passage: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[Passage]: ...
    def __getitem__(self, row: int | slice) -> Passage | Sequence[Passage]:
        if isinstance(row, slice):
            return [self._read(place) for place in range(*row.indices(len(self)))]
        if not -len(self) <= row < len(self):
            raise IndexError(f"no passage in row {row} of {len(self)}")
        return self._read(row % len(self))

    def __iter__(self) -> Iterator[Passage]:
        return (self._read(row) for row in range(len(self)))

    def find(self, passage_id: str) -> int | None:
        """The row of a passage, or None."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self._id(middle) < passage_id:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self) and self._id(low) == passage_id else None

    def neighbours(self, row: int, distance: int) -> list[Passage]:
        """The other chunks of a passage's document within `distance` positions, in order."""
        home = self._read(row)
        order, places = self._documents
        found = []
        for step in (-1, 1):
            place = int(places[row]) + step
            while 0 <= place < len(self):
                other = self._read(int(order[place]))
                if other.document != home.document or abs(other.position - home.position) > distance:
                    break
                found.append(other)
                place += step
        return sorted(found, key=lambda passage: (passage.position, passage.id))

    def _read(self, row: int) -> Passage:
        fields: list[Any] = json.loads(self._line(row))
        return Passage(*fields)

    def _id(self, row: int) -> str:
        """The id alone, the first field of its line."""
        passage_id: str = _FIELD.raw_decode(self._line(row).decode(), 1)[0]
        return passage_id

    def _line(self, row: int) -> bytes:
        return self._bytes[int(self._offsets[row]) : int(self._offsets[row + 1])]
