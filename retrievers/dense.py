"""Dense search: inner product of unit vectors, exact up to 100,000 of them, an HNSW graph above.

The exact vectors are a memory-mapped `.npy` file; the graph is faiss's own file. Both are built the same on every
machine: the graph in one thread, for its shape depends on the order of insertion.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .files import write_array
from .ranking import rank

if TYPE_CHECKING:
    import numpy as np

#: Above this many vectors a graph replaces exact search.
FLAT_LIMIT = 100_000
VECTORS = "vectors.npy"
GRAPH = "vectors.hnsw"

_LINKS = 32
_EF_BUILD = 200
_EF_SEARCH = 256
_LISTED = 2_000


def build(vectors: "np.ndarray", folder: Path) -> None:
    """Write the vectors to a folder as the file that their number asks for."""
    if len(vectors) <= FLAT_LIMIT:
        write_array(folder / VECTORS, vectors)
        return
    import faiss

    graph = faiss.IndexHNSWFlat(vectors.shape[1], _LINKS, faiss.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction = _EF_BUILD
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        graph.add(vectors)
    finally:
        faiss.omp_set_num_threads(threads)
    try:
        faiss.write_index(graph, str(folder / GRAPH))
    except RuntimeError as error:  # faiss says no more than that the write failed
        raise OSError(f"writing {GRAPH} failed: {error}") from error


class DenseSearch:
    """Searches the vectors that `build` wrote. Safe from many threads."""

    def __init__(self, folder: Path) -> None:
        """Map the vectors.

        Raises:
            ValueError, OSError, RuntimeError: The file cannot be read as what it should be.
        """
        self._vectors: Any = None
        self._graph: Any = None
        if (folder / VECTORS).exists():
            import numpy as np

            self._vectors = np.load(folder / VECTORS, mmap_mode="r", allow_pickle=False)
            if self._vectors.ndim != 2 or self._vectors.dtype != np.float32:
                raise ValueError("not a matrix of float32")
        else:
            import faiss

            self._graph = faiss.read_index(str(folder / GRAPH), faiss.IO_FLAG_MMAP_IFC)

    def __len__(self) -> int:
        return int(len(self._vectors) if self._graph is None else self._graph.ntotal)

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self._vectors.shape[1] if self._graph is None else self._graph.d)

    def stored_vectors(self) -> "np.ndarray":
        """All vectors in the order of their rows, float32 of shape (rows, dimension): mapped from disk, read-only."""
        import numpy as np

        if self._graph is None:
            mapped: np.ndarray = self._vectors
            return mapped
        import faiss

        storage: Any = faiss.downcast_index(self._graph.storage)
        flat = faiss.rev_swig_ptr(storage.get_xb(), len(self) * self.dimension)
        stored = np.asarray(_Held(flat.reshape(len(self), self.dimension), self._graph))
        stored.flags.writeable = False
        return stored

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
            rows, scores = self._nearest(query, wanted)
            ranked = rank(rows, scores, len(rows))
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

        if self._graph is None:
            products: np.ndarray = self._vectors @ np.asarray(query, dtype=np.float32)
            return products
        rows, scores = self._nearest(query, min(len(self), _LISTED))
        listed = np.full(len(self), scores.min() if len(scores) else 0.0, dtype=np.float32)
        listed[rows] = scores
        return listed

    def _nearest(self, query: "np.ndarray", wanted: int) -> "tuple[np.ndarray, np.ndarray]":
        import faiss
        import numpy as np

        queries = np.ascontiguousarray(query, dtype=np.float32)[None, :]
        if self._graph is None:
            scores, rows = faiss.knn(queries, self._vectors, wanted, metric=faiss.METRIC_INNER_PRODUCT)
        else:
            library: Any = faiss  # its stubs lack this class
            parameters = library.SearchParametersHNSW(efSearch=max(_EF_SEARCH, 2 * wanted))
            scores, rows = self._graph.search(queries, wanted, params=parameters)
        # faiss fills up with row -1 and an absurd score; a query that is not finite gives nothing else.
        real = rows[0] >= 0
        return rows[0][real], scores[0][real]


class _Held:
    """An array over memory of another object, which is kept as long as the array is."""

    def __init__(self, array: "np.ndarray", owner: object) -> None:
        self.__array_interface__ = array.__array_interface__
        self._owner = owner


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
