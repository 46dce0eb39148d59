"""Dense search: inner product of unit vectors, exact up to 100,000 of them, an HNSW graph above.

The exact vectors are a memory-mapped `.npy` file; the graph is faiss's own file, with its settings beside it. Both are
built the same on every machine. Scores are computed alike in both, and alike whatever else is asked at the moment.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from . import hnsw
from .files import write_array
from .flat_search import FlatSearch
from .hnsw import GRAPH, SETTINGS, HnswSearch

if TYPE_CHECKING:
    import numpy as np

__all__ = ["FLAT_LIMIT", "GRAPH", "SETTINGS", "VECTORS", "DenseSearch", "Kind", "build", "is_graph"]

#: Above this many vectors a graph replaces exact search.
FLAT_LIMIT = 100_000
VECTORS = "vectors.npy"

Kind = Literal["auto", "flat", "hnsw"]

_LISTED = 2_000


def is_graph(kind: Kind, count: int) -> bool:
    """Whether so many vectors are searched by a graph."""
    return kind == "hnsw" or (kind == "auto" and count > FLAT_LIMIT)


def build(vectors: "np.ndarray", folder: Path, kind: Kind = "auto", probes: "np.ndarray | None" = None) -> None:
    """Write the vectors to a folder as the files of one kind of search.

    Args:
        vectors: Unit vectors, float32 of shape (rows, dimension); they may be mapped from disk.
        folder: Where to.
        kind: Exact search or graph; "auto" takes what their number asks for.
        probes: Vectors like those of queries to come, by which a graph's settings are chosen; default: rows with noise.

    Raises:
        OSError: A file cannot be written.
    """
    if is_graph(kind, len(vectors)):
        hnsw.build(vectors, folder, probes)
    else:
        write_array(folder / VECTORS, vectors)


class DenseSearch:
    """Searches the vectors that `build` wrote. Safe from many threads."""

    def __init__(self, folder: Path) -> None:
        """Map the vectors.

        Raises:
            ValueError, OSError, RuntimeError: A file cannot be read as what it should be.
        """
        self._search: FlatSearch | HnswSearch
        if (folder / VECTORS).exists():
            import numpy as np

            vectors = np.load(folder / VECTORS, mmap_mode="r", allow_pickle=False)
            if vectors.ndim != 2 or vectors.dtype != np.float32:
                raise ValueError("not a matrix of float32")
            # Without the subclass of a mapped array, whose every slice costs more than a small search.
            self._search = FlatSearch(vectors.view(np.ndarray))
        else:
            self._search = HnswSearch(folder)

    def __len__(self) -> int:
        return len(self._search.vectors)

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self._search.vectors.shape[1])

    @property
    def ef_search(self) -> int | None:
        """How many candidates a search of the graph keeps; None for exact search."""
        return self._search.ef_search if isinstance(self._search, HnswSearch) else None

    def stored_vectors(self) -> "np.ndarray":
        """All vectors in the order of their rows, float32 of shape (rows, dimension): mapped from disk, read-only."""
        return self._search.vectors

    def search(
        self, query: "np.ndarray", k: int, group: Callable[["np.ndarray"], "np.ndarray"] | None = None
    ) -> list[tuple[int, float]]:
        """The best rows for a query vector, best first.

        Args:
            query: Unit vector of shape (dimension,).
            k: How many to find at most; more than there are gives all.
            group: Maps rows to groups (sentences to their passages); then enough rows come back to cover `k` groups.

        Returns:
            (row, rounded score) in order, ties by row. With `group`, every row down to the best one of the k-th group.
        """
        k = min(k, len(self))
        wanted = min(len(self), k + 16 if group is None else 4 * k + 16)
        while k > 0:
            ranked = self._search.best(query, wanted)
            needed, covered = _prefix(ranked, k, group)
            # Rows that tie with the last one needed may not have been fetched yet.
            complete = covered and ranked[-1][1] < ranked[needed - 1][1]
            if complete or wanted >= len(self):
                return ranked[:needed]
            wanted = min(len(self), wanted * 4)
        return []

    def similarities(self, query: "np.ndarray") -> "np.ndarray":
        """Inner product of every row with a query vector, float32 of shape (rows,).

        Where a graph stands for exact search, rows beyond the `_LISTED` nearest get the least of theirs.
        """
        import numpy as np

        if isinstance(self._search, FlatSearch):
            products: np.ndarray = self._search.vectors @ np.asarray(query, dtype=np.float32)
            return products
        found = self._search.best(query, min(len(self), _LISTED))
        listed = np.full(len(self), found[-1][1] if found else 0.0, dtype=np.float32)
        for row, score in found:
            listed[row] = score
        return listed


def _prefix(
    ranked: list[tuple[int, float]], k: int, group: Callable[["np.ndarray"], "np.ndarray"] | None
) -> tuple[int, bool]:
    """How many of the ranked rows cover `k` rows or groups (ties with the last included), and whether they do."""
    if group is None:
        return min(k, len(ranked)), len(ranked) >= k
    import numpy as np

    owners = group(np.array([row for row, _ in ranked], dtype=np.int64)).tolist()
    seen: set[int] = set()
    last = -1  # place of the best row of the last group
    for place, owner in enumerate(owners):
        if owner not in seen:
            seen.add(owner)
            last = place
            if len(seen) == k:
                break
    if last < 0:
        return 0, False
    end = next((place for place in range(last, len(ranked)) if ranked[place][1] < ranked[last][1]), len(ranked))
    return end, len(seen) == k
