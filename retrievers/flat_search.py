"""Exact search: the inner product of a query with every vector.

Queries that wait while others are searched are searched together as one matrix product, block by block of the vectors.
Such a product's last bits depend on what was multiplied with it, so it only picks candidates, with a margin; these are
scored again one by one in float64, always in the same order. A result never depends on what else was asked.
"""

from typing import TYPE_CHECKING

from .ranking import DECIMALS, rank
from .together import Together

if TYPE_CHECKING:
    import numpy as np

# Scores that are in memory at a time: queries x vectors of a block.
_SCORES = 1 << 18
_LEAST_BLOCK = 1 << 10
# Up to so many queries one product each is faster than one for all; more are filled up to a multiple of what BLAS
# multiplies at a time.
_ONE_BY_ONE = 2
_FILL = 8
_SCORED_AT_ONCE = 1 << 12
_LEAST_FRESH = 64
# So many queries are searched together at most.
_MOST = 64
# The share of a search's time that it may wait for company: to wait for those that ask again costs less than to search
# twice.
_GATHER = 0.15


class FlatSearch:
    """Searches a matrix of unit vectors. Safe from many threads."""

    def __init__(self, vectors: "np.ndarray") -> None:
        """Search these rows: float32 of shape (rows, dimension), no longer than 1."""
        self.vectors = vectors
        self._together = Together(self._candidates, most=_MOST, gather=_GATHER)

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
        rows = self._together.ask((query, count))
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

    def _candidates(self, asked: "list[tuple[np.ndarray, int]]") -> "list[np.ndarray]":
        return candidates(self.vectors, [query for query, _ in asked], [count for _, count in asked])


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
    filled = asked
    if len(asked) > _ONE_BY_ONE:
        filled = np.zeros((-(-len(asked) // _FILL) * _FILL, asked.shape[1]), dtype=np.float32)
        filled[: len(asked)] = asked
    # A float32 product is off by less than this, on either side of the last one taken; rounding can lift a score too.
    off = vectors.shape[1] * 2.0**-23 * np.linalg.norm(asked.astype(np.float64), axis=1)
    best = [_Best(count, 2 * margin + 10.0**-DECIMALS) for count, margin in zip(counts, off.tolist(), strict=True)]
    step = max(_LEAST_BLOCK, _SCORES // len(filled))
    for start in range(0, len(vectors), step):
        block = vectors[start : start + step]
        if len(asked) <= _ONE_BY_ONE:
            scores = np.stack([block @ query for query in asked])
        else:
            scores = (filled @ block.T)[: len(asked)]
        if start == 0:
            for one, row in zip(best, scores, strict=True):
                one.begin(row)
        floors = np.array([one.floor for one in best], dtype=np.float32)
        places = np.flatnonzero(scores >= floors[:, None])
        bounds = np.searchsorted(places, np.arange(len(asked) + 1) * len(block)).tolist()
        for number, (one, first, last) in enumerate(zip(best, bounds, bounds[1:], strict=False)):
            if first < last:
                columns = places[first:last] - number * len(block)
                one.add(columns + start, scores[number, columns])
    return [one.rows() for one in best]


class _Best:
    """The best rows so far of one query, those within the margin, and some that have fallen behind since."""

    def __init__(self, count: int, margin: float) -> None:
        self._count = count
        self._margin = margin
        self._parts: list[tuple[np.ndarray, np.ndarray]] = []
        self._fresh = 0  # rows added since the floor was set
        #: No row with a lesser score can be among the best.
        self.floor: float = -float("inf")

    def begin(self, scores: "np.ndarray") -> None:
        """Set the floor by scores of rows that are yet to be added."""
        import numpy as np

        if len(scores) > self._count:
            place = len(scores) - self._count
            # One step of float32 lower, for it is compared in float32.
            least = np.float32(np.partition(scores, place)[place] - self._margin)
            self.floor = float(np.nextafter(least, np.float32(-np.inf)))

    def add(self, rows: "np.ndarray", scores: "np.ndarray") -> None:
        """Take rows in that reach the floor; it rises once enough have come."""
        self._parts.append((rows, scores))
        self._fresh += len(rows)
        if self._fresh > self._count + _LEAST_FRESH:
            self._settle()

    def rows(self) -> "np.ndarray":
        """All that may be among the best."""
        self._settle()
        return self._parts[0][0]

    def _settle(self) -> None:
        import numpy as np

        rows, scores = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        self.begin(scores)
        kept = scores >= self.floor
        self._parts = [(rows[kept], scores[kept])]
        self._fresh = 0
