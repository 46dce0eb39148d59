"""Exact search: the inner product of a query with every vector.

Queries that wait while others are searched are searched together as one matrix product, block by block of the vectors.
Such a product's last bits depend on what was multiplied with it, so it only picks candidates, with a margin; these are
scored again one by one in float64, always in the same order. A result never depends on what else was asked.
"""

import threading
from concurrent.futures import Future
from time import sleep
from typing import TYPE_CHECKING

from .ranking import DECIMALS, rank

if TYPE_CHECKING:
    import numpy as np

# Scores that are in memory at a time: queries x vectors of a block.
_SCORES = 1 << 16
_LEAST_BLOCK = 1 << 10
# Up to so many queries one product each is faster than one for all.
_ONE_BY_ONE = 2
_SCORED_AT_ONCE = 1 << 12
# Numbers in a matrix that is searched faster than a thread waits for another.
_SMALL = 1 << 22
# Seconds to wait for company where there was some before: far less than a search takes.
_GATHER = 2e-4


class FlatSearch:
    """Searches a matrix of unit vectors. Safe from many threads."""

    def __init__(self, vectors: "np.ndarray") -> None:
        """Search these rows: float32 of shape (rows, dimension), no longer than 1."""
        self.vectors = vectors
        self._lock = threading.Lock()
        self._waiting: list[_Asked] = []
        self._searching = False
        self._crowd = 1  # how many were answered together the last time

    def best(self, query: "np.ndarray", count: int) -> list[tuple[int, float]]:
        """The best rows for a query.

        Args:
            query: float32 of shape (dimension,).
            count: How many.

        Returns:
            (row, rounded score), best first, ties by row; nothing for a query that is not finite.
        """
        import numpy as np

        query = np.ascontiguousarray(query, dtype=np.float32)
        count = min(count, len(self.vectors))
        if count < 1 or not np.isfinite(query).all():
            return []
        rows = self._candidates(query, count)
        return rank(rows, fixed_scores(self.vectors, rows, query), count)

    def best_of_many(self, queries: "np.ndarray", count: int) -> list[list[tuple[int, float]]]:
        """`best` of each of the finite queries, (queries, dimension), 16 at a time."""
        count = min(count, len(self.vectors))
        found = []
        for start in range(0, len(queries), 16):
            part = list(queries[start : start + 16])
            several = candidates(self.vectors, part, [count] * len(part))
            for query, rows in zip(part, several, strict=True):
                found.append(rank(rows, fixed_scores(self.vectors, rows, query), count))
        return found

    def _candidates(self, query: "np.ndarray", count: int) -> "np.ndarray":
        """Rows among which are the best `count`: found by this thread, or by the one that searches at the moment."""
        if self.vectors.size <= _SMALL:
            return candidates(self.vectors, [query], [count])[0]
        mine = _Asked(query, count)
        with self._lock:
            self._waiting.append(mine)
            wait = self._searching
            self._searching = True
        if wait and (rows := mine.answer.result()) is not None:
            return rows
        return self._answer_all(mine)

    def _answer_all(self, mine: "_Asked") -> "np.ndarray":
        """Search for all that wait, this thread's own query among them; then the first that came later does."""
        if self._crowd > 1:
            sleep(_GATHER)  # those that were just answered are about to ask again
        with self._lock:
            batch, self._waiting = self._waiting, []
            self._crowd = len(batch)
        others = [asked for asked in batch if asked is not mine]
        try:
            rows, *found = candidates(
                self.vectors,
                [mine.query, *(asked.query for asked in others)],
                [mine.count, *(asked.count for asked in others)],
            )
            for asked, its in zip(others, found, strict=True):
                asked.answer.set_result(its)
        except BaseException as error:
            for asked in others:
                if not asked.answer.done():
                    asked.answer.set_exception(error)
            raise
        finally:
            with self._lock:
                self._searching = bool(self._waiting)
                following = self._waiting[0] if self._waiting else None
            if following is not None:
                following.answer.set_result(None)
        return rows


class _Asked:
    """A query that waits. Its answer is its candidates, or None: then its own thread is the next to search for all."""

    def __init__(self, query: "np.ndarray", count: int) -> None:
        self.query = query
        self.count = count
        self.answer: Future[np.ndarray | None] = Future()


def fixed_scores(vectors: "np.ndarray", rows: "np.ndarray", query: "np.ndarray") -> "np.ndarray":
    """Inner products of some rows with a query, in float64; each depends on its row and the query alone."""
    import numpy as np

    exact = query.astype(np.float64)
    scores = np.empty(len(rows), dtype=np.float64)
    for start in range(0, len(rows), _SCORED_AT_ONCE):
        part = vectors[rows[start : start + _SCORED_AT_ONCE]].astype(np.float64)
        part *= exact
        scores[start : start + len(part)] = part.sum(axis=1)
    return scores


def candidates(vectors: "np.ndarray", queries: "list[np.ndarray]", counts: list[int]) -> "list[np.ndarray]":
    """For each query, rows that hold its best `count` by rounded exact score, and few more.

    Args:
        vectors: Unit vectors, float32 of shape (rows, dimension).
        queries: Each finite, float32 of shape (dimension,).
        counts: How many of each; at least 1 and at most the rows.

    Returns:
        Row numbers, one array a query.
    """
    import numpy as np

    asked = np.stack(queries)
    # A float32 product is off by less than this, on either side of the last one taken; rounding can lift a score too.
    off = vectors.shape[1] * 2.0**-23 * np.linalg.norm(asked.astype(np.float64), axis=1)
    best = [_Best(count, 2 * margin + 10.0**-DECIMALS) for count, margin in zip(counts, off.tolist(), strict=True)]
    floors = np.full(len(asked), -np.inf, dtype=np.float32)
    step = max(_LEAST_BLOCK, _SCORES // len(asked))
    for start in range(0, len(vectors), step):
        block = vectors[start : start + step]
        alone = len(asked) <= _ONE_BY_ONE
        scores = np.stack([block @ query for query in asked]) if alone else asked @ block.T
        if start == 0:
            floors = np.array([one.floor(row) for one, row in zip(best, scores, strict=True)], dtype=np.float32)
        places = np.flatnonzero(scores >= floors[:, None])
        bounds = np.searchsorted(places, np.arange(len(asked) + 1) * len(block)).tolist()
        for number, (one, first, last) in enumerate(zip(best, bounds, bounds[1:], strict=False)):
            if first < last:
                columns = places[first:last] - number * len(block)
                floors[number] = one.add(columns + start, scores[number, columns])
    return [one.rows() for one in best]


class _Best:
    """The best rows so far of one query, and those within the margin."""

    def __init__(self, count: int, margin: float) -> None:
        self._count = count
        self._margin = margin
        self._rows: list[np.ndarray] = []
        self._scores: list[np.ndarray] = []

    def floor(self, scores: "np.ndarray") -> float:
        """The least score that may be among the best, where these are the scores there are."""
        import numpy as np

        if len(scores) <= self._count:
            return -np.inf
        place = len(scores) - self._count
        # One step of float32 below: the floor is compared in float32.
        return float(np.nextafter(np.float32(np.partition(scores, place)[place] - self._margin), np.float32(-np.inf)))

    def add(self, rows: "np.ndarray", scores: "np.ndarray") -> float:
        """Take more rows in; gives the new floor."""
        import numpy as np

        self._rows.append(rows)
        self._scores.append(scores)
        merged, found = np.concatenate(self._rows), np.concatenate(self._scores)
        floor = self.floor(found)
        kept = found >= floor
        self._rows, self._scores = [merged[kept]], [found[kept]]
        return floor

    def rows(self) -> "np.ndarray":
        """All that may be among the best."""
        return self._rows[0]
