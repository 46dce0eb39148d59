"""The order of search results: by score rounded to 1e-5, then by id.

Rounding keeps batching, which moves the last bits of a vector, from flipping ties. Passages are stored in the order of
their ids, so the row number stands for the id here, and the order of a corpus file never shows.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

DECIMALS = 5


def rank(rows: "np.ndarray", scores: "np.ndarray", k: int) -> list[tuple[int, float]]:
    """The best `k` rows as (row, rounded score), best first, equal scores by row."""
    import numpy as np

    rounded = np.round(scores.astype(np.float64), DECIMALS)
    if k < len(rounded):
        # Keep whatever ties with the k-th best, then order these few exactly.
        floor = np.partition(rounded, len(rounded) - k)[len(rounded) - k]
        kept = rounded >= floor
        rows, rounded = rows[kept], rounded[kept]
    order = np.lexsort((rows, -rounded))[:k]
    return [(int(rows[place]), float(rounded[place])) for place in order]
