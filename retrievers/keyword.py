"""Keyword search: BM25 over an inverted index, memory-mapped.

bm25s builds the index and its arrays lie in its format. They are searched with numpy alone, in the same order of
summation: importing bm25s costs time, and its vocabulary is a JSON dictionary that would be held in memory.

Only passages that share a token with the query are hits. A query without known tokens has none.
"""

import json
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from . import vocabulary as vocabulary_files
from .files import write_bytes
from .ranking import DECIMALS, rank
from .tokens import tokens
from .vocabulary import Vocabulary

FOLDER = "keyword"
_EMPTY = "empty.json"
_PARAMETERS = "params.index.json"

# It logs each step at debug level, and sets its own level to let that through.
logging.getLogger("bm25s").addHandler(logging.NullHandler())


def _library() -> Any:
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)
    return bm25s


def build(texts: Iterable[str], folder: Path) -> None:
    """Index texts (row by row) and write the index to the sub-folder `keyword` of a folder."""
    vocabulary: dict[str, int] = {}
    rows = [[vocabulary.setdefault(token, len(vocabulary)) for token in tokens(text)] for text in texts]
    place = folder / FOLDER
    place.mkdir()
    if not vocabulary:  # punctuation alone: bm25s cannot index nothing
        write_bytes(place / _EMPTY, json.dumps({"passages": len(rows)}).encode())
        return
    search = _library().BM25(backend="numpy")
    search.index((rows, vocabulary), create_empty_token=False, show_progress=False)
    vocabulary_files.write(vocabulary, place)
    search.vocab_dict = {}  # ours is memory-mapped
    search.save(place, allow_pickle=False)


class KeywordSearch:
    """Searches what `build` wrote. Safe from many threads."""

    def __init__(self, folder: Path, passages: int) -> None:
        """Map the inverted index of `passages` rows.

        Raises:
            ValueError, OSError, KeyError, TypeError: The files cannot be read as what they should be.
        """
        import numpy as np

        place = folder / FOLDER
        self._passages = passages
        self._vocabulary: Vocabulary | None = None
        if (place / _EMPTY).exists():
            return
        # Plain views: each slice of a memmap object costs more than the search of a small index.
        self._data, self._rows, self._starts = (
            np.load(place / f"{name}.csc.index.npy", mmap_mode="r", allow_pickle=False).view(np.ndarray)
            for name in ("data", "indices", "indptr")
        )
        indexed = int(json.loads((place / _PARAMETERS).read_bytes().decode())["num_docs"])
        if indexed != passages:
            raise ValueError(f"indexes {indexed} passages instead of {passages}")
        self._vocabulary = Vocabulary(place)
        postings = int(self._starts[-1])
        if len(self._starts) != len(self._vocabulary) + 1 or not len(self._data) == len(self._rows) == postings:
            raise ValueError("tokens and postings do not belong together")

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """The best `k` rows that share a token with the query, as (row, rounded score), ties by row."""
        import numpy as np

        if self._vocabulary is None or k < 1:
            return []
        found = (self._vocabulary.get(token) for token in dict.fromkeys(tokens(query)))
        known = [token for token in found if token is not None]
        if not known:
            return []
        scores = np.zeros(self._passages, dtype=np.float32)
        for token in known:
            start, end = self._starts[token], self._starts[token + 1]
            np.add.at(scores, self._rows[start:end], self._data[start:end])
        rows = np.flatnonzero(scores > 0)  # of truth values: numpy finds those faster
        hits = scores[rows]
        if k < len(hits):
            # Rounding, which is slow, only for what can tie with the k-th best once rounded.
            kept = hits >= float(np.partition(hits, len(hits) - k)[len(hits) - k]) - 2 * 10**-DECIMALS
            rows, hits = rows[kept], hits[kept]
        return rank(rows, hits, k)
