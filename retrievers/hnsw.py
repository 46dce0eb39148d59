"""Approximate search: an HNSW graph over the vectors (faiss), for more of them than exact search is quick for.

The graph is built in one thread, for its shape depends on the order of insertion. How far a search looks (`efSearch`)
is chosen once it stands: the smallest of 32, 64, … that finds what exact search finds for a sample of probe queries,
or as good as all that any finds. It is written beside the graph with the recall that it was chosen for.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .files import write_bytes
from .flat_search import FlatSearch, fixed_scores
from .ranking import DECIMALS, rank

if TYPE_CHECKING:
    import numpy as np

GRAPH = "vectors.hnsw"
SETTINGS = "dense.json"

#: The share of the exact best 5, and of the best 20, that a search has to find.
RECALL = 0.99
_DEPTHS = (5, 20)
_STEPS = (32, 64, 128, 256, 512, 1024, 2048, 4096)
# Where no step finds that much (rows that near copies of others hide): what a further step must find to be worth it.
_WORTH = 0.005
# Of graphs that were built before settings were written.
_EF_SEARCH_BEFORE = 256
_LINKS = 32
_EF_BUILD = 200
_PROBES = 256
# Length of the noise that makes a probe of a row where no better probes are given. A probe near its row is easier to
# answer than a question, and the search would look too little: these lie far off.
_NOISE = 2.0
_SEED = 29


def build(vectors: "np.ndarray", folder: Path, probes: "np.ndarray | None" = None) -> None:
    """Write graph and settings.

    Args:
        vectors: Unit vectors, float32 of shape (rows, dimension).
        folder: Where to.
        probes: Unit vectors like those of queries to come (at most 256 are used); default: rows with noise.

    Raises:
        OSError: The graph cannot be written.
    """
    _write_graph(vectors, folder)
    tune(vectors, folder, probes)


def _write_graph(vectors: "np.ndarray", folder: Path) -> None:
    import faiss
    import numpy as np

    graph = faiss.IndexHNSWFlat(vectors.shape[1], _LINKS, faiss.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction = _EF_BUILD
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        graph.add(np.ascontiguousarray(vectors, dtype=np.float32))
    finally:
        faiss.omp_set_num_threads(threads)
    try:
        faiss.write_index(graph, str(folder / GRAPH))
    except RuntimeError as error:  # faiss says no more than that the write failed
        raise OSError(f"writing {GRAPH} failed: {error}") from error


def tune(vectors: "np.ndarray", folder: Path, probes: "np.ndarray | None" = None) -> None:
    """Choose how far a search of a graph that stands looks, and write the settings; arguments as of `build`."""
    import numpy as np

    asked = _noisy(vectors) if probes is None or not len(probes) else np.asarray(probes[:_PROBES], dtype=np.float32)
    ef_search, recall = _choose(HnswSearch(folder, _STEPS[0]), FlatSearch(vectors), asked)
    settings = {
        "kind": "hnsw",
        "links": _LINKS,
        "ef_construction": _EF_BUILD,
        "ef_search": ef_search,
        "recall": {str(depth): round(found, 4) for depth, found in recall.items()},
        "probes": len(asked),
        "probes_from": "rows with noise" if probes is None or not len(probes) else "texts",
    }
    write_bytes(folder / SETTINGS, (json.dumps(settings, indent=1) + "\n").encode())


class HnswSearch:
    """Searches a graph that `build` wrote. Safe from many threads."""

    def __init__(self, folder: Path, ef_search: int | None = None) -> None:
        """Map the graph.

        Args:
            folder: Where it is.
            ef_search: How many candidates a search keeps; default: as written beside the graph.

        Raises:
            ValueError, OSError, RuntimeError: A file cannot be read as what it should be.
        """
        import faiss
        import numpy as np

        self.ef_search = _read_ef_search(folder) if ef_search is None else ef_search
        library: Any = faiss  # its stubs lack much of the graph
        self._graph = library.read_index(str(folder / GRAPH), faiss.IO_FLAG_MMAP_IFC)
        storage = library.downcast_index(self._graph.storage)
        shape = (int(self._graph.ntotal), int(self._graph.d))
        flat = library.rev_swig_ptr(storage.get_xb(), shape[0] * shape[1])
        #: The stored vectors, mapped from disk, read-only.
        self.vectors: np.ndarray = np.asarray(_Held(flat.reshape(shape), self._graph))
        self.vectors.flags.writeable = False

    def best(self, query: "np.ndarray", count: int) -> list[tuple[int, float]]:
        """As `FlatSearch.best`, but one or the other row may be missed; scores are exact."""
        import faiss
        import numpy as np

        query = np.ascontiguousarray(query, dtype=np.float32)
        if count < 1 or not np.isfinite(query).all():
            return []
        library: Any = faiss
        parameters = library.SearchParametersHNSW(efSearch=max(self.ef_search, 2 * count))
        _, found = self._graph.search(query[None, :], count, params=parameters)
        rows = found[0][found[0] >= 0]  # faiss fills up with -1
        return rank(rows, fixed_scores(self.vectors, rows, query), len(rows))


class _Held:
    """An array over memory of another object, which is kept as long as the array is."""

    def __init__(self, array: "np.ndarray", owner: object) -> None:
        self.__array_interface__ = array.__array_interface__
        self._owner = owner


def _read_ef_search(folder: Path) -> int:
    if not (folder / SETTINGS).exists():
        return _EF_SEARCH_BEFORE
    try:
        settings = json.loads((folder / SETTINGS).read_bytes())
    except ValueError as error:
        raise ValueError(f"{SETTINGS} is not JSON") from error
    ef_search = settings.get("ef_search") if isinstance(settings, dict) else None
    if not isinstance(ef_search, int) or isinstance(ef_search, bool) or ef_search < 1:
        raise ValueError(f"{SETTINGS} has no usable ef_search")
    return ef_search


def _noisy(vectors: "np.ndarray") -> "np.ndarray":
    """Probes made of rows, the same each time."""
    import numpy as np

    draw = np.random.default_rng(_SEED)
    rows = np.sort(draw.choice(len(vectors), size=min(_PROBES, len(vectors)), replace=False))
    noise = draw.standard_normal((len(rows), vectors.shape[1]), dtype=np.float32)
    made = vectors[rows] + noise * np.float32(_NOISE / vectors.shape[1] ** 0.5)
    probes: np.ndarray = made / np.maximum(np.linalg.norm(made, axis=1, keepdims=True), np.float32(1e-12))
    return probes


def _choose(graph: HnswSearch, flat: FlatSearch, probes: "np.ndarray") -> tuple[int, dict[int, float]]:
    """The least efSearch that finds enough at each depth (else about as much as any finds), and what it finds."""
    exact = flat.best_of_many(probes, max(_DEPTHS))
    recalls: dict[int, dict[int, float]] = {}
    for ef_search in _STEPS:
        graph.ef_search = ef_search
        found = [graph.best(probe, max(_DEPTHS)) for probe in probes]
        recalls[ef_search] = {depth: _recall(found, exact, depth) for depth in _DEPTHS}
        if min(recalls[ef_search].values()) >= RECALL:
            return ef_search, recalls[ef_search]
    enough = max(min(recall.values()) for recall in recalls.values()) - _WORTH
    return next((step, recall) for step, recall in recalls.items() if min(recall.values()) >= enough)


def _recall(found: list[list[tuple[int, float]]], exact: list[list[tuple[int, float]]], depth: int) -> float:
    """Share of the exact best that were found; a score that ties with the last of them counts as found."""
    shares = []
    for ours, theirs in zip(found, exact, strict=True):
        wanted = theirs[:depth]
        hits = sum(score >= wanted[-1][1] - 10.0**-DECIMALS / 2 for _, score in ours[:depth]) if wanted else 0
        shares.append(hits / len(wanted) if wanted else 1.0)
    return sum(shares) / len(shares)
