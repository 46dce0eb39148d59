"""Dense search: exact ("flat") and by graph ("HNSW"), one query at a time and from 16 question threads at once.

The reference is what one would write first, in turns with ours: the numpy product of all vectors with the query and a
full sort of the scores. Queries are the embeddings of real questions, encoded beforehand, for the top 5; vectors are
those of real passages, above 15,000 with small noise. "16 threads" is the time of a query when 16 threads ask at once,
each its next question as soon as it has its answer. Recall is the share of the exact top 5 that the graph finds for
these questions; `efSearch` was chosen without them, by probes that are made from the passages, as in any index.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from ...retrievers import dense
from ...retrievers.encoder import get_encoder
from ...retrievers.encoder_files import DEFAULT_ENCODER
from . import corpora
from .measured import Measured
from .setting import Setting
from .timing import seconds, seconds_from_threads, timed, times_faster

if TYPE_CHECKING:
    import numpy as np

_SIZES = (6_000, 100_000)
_LARGE = 1_000_000
_K = 5
_THREADS = 16
_RECALL_QUERIES = 500
#: What has to be reached at 100,000 vectors and above.
_THREADS_FLOOR = 3.0
_RECALL_FLOOR = 0.98


def measure(setting: Setting) -> list[Measured]:
    """Time both kinds at each size.

    Args:
        setting: Where and how far.
    """
    queries = question_vectors(setting)
    return [
        row
        for count in (*_SIZES, *((_LARGE,) if setting.large else ()))
        for row in _at_size(setting, corpora.vectors(setting, count), queries)
    ]


def question_vectors(setting: Setting) -> "np.ndarray":
    """The real questions as queries, in a fixed shuffled order, float32 of shape (questions, 384)."""
    import numpy as np

    kept = setting.cache / "real-question-vectors.npy"
    if not kept.exists():
        encoder = get_encoder(DEFAULT_ENCODER)
        kept.parent.mkdir(parents=True, exist_ok=True)
        np.save(kept, np.stack([encoder.encode_query(question) for question in corpora.real_questions(setting)]))
    known: np.ndarray = np.load(kept, allow_pickle=False)
    return known[np.random.default_rng(corpora.SEED).permutation(len(known))]


@dataclass
class _Times:
    """Seconds a query, round by round; `each` of every single query one at a time."""

    reference: list[float] = field(default_factory=list)
    one: list[float] = field(default_factory=list)
    many: list[float] = field(default_factory=list)
    each: list[float] = field(default_factory=list)


def _at_size(setting: Setting, vectors: "np.ndarray", queries: "np.ndarray") -> list[Measured]:
    size = f"{len(vectors):,}"
    with _opened(setting, len(vectors), "flat") as flat, _opened(setting, len(vectors), "hnsw") as graph:
        searches = {"flat": flat, "HNSW": graph}
        times = _take_turns(searches, vectors, queries, setting.rounds)
        recall = _recall(flat, graph, queries[:_RECALL_QUERIES])
        ef_search = graph.ef_search or 0
    one = times["flat"].one
    against = "numpy dot and full sort"
    rows = [timed(f"{size}: numpy dot and full sort", times["flat"].reference)]
    for kind, these in times.items():
        floor = _THREADS_FLOOR if kind == "flat" and len(vectors) == 100_000 else None
        rows += [
            times_faster(f"{size} {kind}: one at a time", these.one, these.reference, note=against),
            Measured(f"{size} {kind}: p50 of one query", median(these.each) * 1e3, "ms"),
            times_faster(f"{size} {kind}: {_THREADS} threads", these.many, these.reference, note=against),
            times_faster(
                f"{size} {kind}: {_THREADS} threads, to flat one at a time",
                these.many,
                one,
                floor=floor,
                note="queries a second, of this run's flat search one at a time",
            ),
            Measured(f"{size} {kind}: queries/s from {_THREADS} threads", 1 / median(these.many)),
        ]
    floor = _RECALL_FLOOR if len(vectors) >= 100_000 else None
    note = f"{min(len(queries), _RECALL_QUERIES)} real questions"
    rows.append(Measured(f"{size} HNSW: recall@{_K}", recall, floor=floor, note=f"exact search, {note}"))
    rows.append(Measured(f"{size} HNSW: efSearch", ef_search))
    return rows


def _take_turns(
    searches: dict[str, dense.DenseSearch], vectors: "np.ndarray", queries: "np.ndarray", rounds: int
) -> dict[str, _Times]:
    """Time reference, one at a time and threads after one another, so often, for each kind."""
    few, many = (8, 32) if len(vectors) >= _LARGE else (32, 128)
    times = {kind: _Times() for kind in searches}
    _reference(vectors, queries[0])
    for search in searches.values():
        _from_threads(search, queries[:_THREADS])  # warm-up
    for number in range(rounds):
        draw = queries.take(range(number * many, (number + 1) * many), axis=0, mode="wrap")
        for kind, search in searches.items():
            these = times[kind]
            these.reference.append(sum(_one_by_one(partial(_reference, vectors), draw[:few])) / few)
            each = _one_by_one(partial(search.search, k=_K), draw[:few])
            these.each += each
            these.one.append(sum(each) / few)
            these.many.append(_from_threads(search, draw))
    return times


def _one_by_one(answer: Callable[["np.ndarray"], Any], queries: "np.ndarray") -> list[float]:
    return [seconds(partial(answer, query)) for query in queries]


def _reference(vectors: "np.ndarray", query: "np.ndarray") -> "np.ndarray":
    import numpy as np

    top: np.ndarray = np.argsort(-(vectors @ query))[:_K]
    return top


def _from_threads(search: dense.DenseSearch, queries: "np.ndarray") -> float:
    """Seconds a query when 16 threads ask at once, from the first question to the last answer."""
    return seconds_from_threads(_THREADS, partial(search.search, k=_K), queries) / len(queries)


def _recall(flat: dense.DenseSearch, graph: dense.DenseSearch, queries: "np.ndarray") -> float:
    """Share of the exact best that the graph finds as well; a score that ties with the last counts as found."""
    found = 0
    for query in queries:
        exact = flat.search(query, _K)
        found += sum(score >= exact[-1][1] for _, score in graph.search(query, _K))
    return found / (_K * len(queries))


@contextmanager
def _opened(setting: Setting, count: int, kind: corpora.DenseKind) -> Iterator[dense.DenseSearch]:
    """A search of so many vectors; the large ones are built once and kept."""
    if count >= _LARGE:
        yield dense.DenseSearch(corpora.dense_index(setting, count, kind))
        return
    with tempfile.TemporaryDirectory() as folder:
        corpora.build_dense(setting, count, kind, Path(folder))
        yield dense.DenseSearch(Path(folder))
