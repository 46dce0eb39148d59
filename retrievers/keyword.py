"""Keyword search: BM25 over an inverted index (bm25s, numpy backend), memory-mapped.

Only passages that share a token with the query are hits. A query without known tokens has none.
"""

import json
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .files import write_bytes
from .ranking import rank
from .tokens import tokens

FOLDER = "keyword"
_EMPTY = "empty.json"

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
    search.index((rows, vocabulary), show_progress=False)
    search.save(place, allow_pickle=False)


class KeywordSearch:
    """Searches what `build` wrote. Safe from many threads."""

    def __init__(self, folder: Path, passages: int) -> None:
        """Map the inverted index of `passages` rows.

        Raises:
            ValueError, OSError, KeyError, TypeError: The files cannot be read as what they should be.
        """
        place = folder / FOLDER
        self._search: Any = None
        if (place / _EMPTY).exists():
            return
        self._search = _library().BM25.load(place, mmap=True, allow_pickle=False, show_progress=False)
        if int(self._search.scores["num_docs"]) != passages:
            raise ValueError(f"indexes {self._search.scores['num_docs']} passages instead of {passages}")

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """The best `k` rows that share a token with the query, as (row, rounded score), ties by row."""
        import numpy as np

        if self._search is None or k < 1:
            return []
        vocabulary = self._search.vocab_dict
        known = [vocabulary[token] for token in dict.fromkeys(tokens(query)) if token in vocabulary]
        if not known:
            return []
        scores = self._search.get_scores_from_ids(known)
        rows = np.flatnonzero(scores > 0)
        return rank(rows, scores[rows], k)
