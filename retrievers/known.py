"""Where each text's vector comes from: the index that is updated, an interrupted build, or this build.

Vectors of torch and of ONNX may stand in one index, for in float32 they agree within 1e-5; it is said, and the manifest
has it. Vectors of another encoder or in another dtype never do.
"""

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .embedded import EmbeddedPlace
from .files import write_rows
from .manifest import ComputedBy
from .standing import Standing

if TYPE_CHECKING:
    import numpy as np

logger = logging.getLogger(__name__)

_SLAB = 10_000
_OWN = -1  # number of the source that this build makes


class KnownVectors:
    """For each row of a corpus its vector's place; at first all are missing.

    Attributes:
        digests: Of the texts, row by row.
        missing: The rows without a vector, in order.
        kept: How many rows have that of the updated index.
        resumed: How many have that of an interrupted build.
        removed: How many texts of the updated index are no longer there.
        own: What this build embedded, once it has.
    """

    def __init__(self, digests: Sequence[bytes]) -> None:
        self.digests = digests
        self.missing: list[int] = list(range(len(digests)))
        self.kept = self.resumed = self.removed = 0
        self.own: np.ndarray | None = None
        self._sources: list[np.ndarray] = []
        self._places: list[tuple[int, int]] = [(_OWN, _OWN)] * len(digests)
        self._computed: set[ComputedBy] = set()

    @property
    def computed_by(self) -> ComputedBy:
        """The library that computed the vectors; "mixed" where there are several."""
        return next(iter(self._computed)) if len(self._computed) == 1 else "mixed"

    def take_standing(self, standing: Standing) -> None:
        """Take what the index that is updated holds.

        Raises:
            UserError: It is damaged.
        """
        found = standing.embeddings()
        if found is None:
            return
        digests, vectors = found
        self.removed = sum((Counter(digests) - Counter(self.digests)).values())
        self.kept = self._take(digests, vectors, standing.manifest.backend)

    def take_finished(self, place: EmbeddedPlace) -> None:
        """Take what interrupted builds finished, and say where what is kept and what is missing differ."""
        for backend, digests, vectors in place.finished():
            if self._sources and self._sources[0].shape[1] != vectors.shape[1]:
                continue
            self.resumed += self._take(digests, vectors, "onnx" if backend == "onnx" else "torch")
        if self.missing and (unfit := place.unfit()):
            logger.warning(
                "%s: what an interrupted run embedded %s does not fit this run and is not used",
                place.folder,
                " and ".join(unfit),
            )
        if self.missing and self._computed - {place.backend}:
            logger.warning(
                "%d vectors are kept that were not all computed by %s, as the %d missing ones are: they agree within "
                '1e-5, and the index will say "mixed"',
                self.kept + self.resumed,
                place.backend,
                len(self.missing),
            )

    def add_rows(self, rows: Sequence[int], first: int, backend: ComputedBy) -> None:
        """Rows that were embedded now, and where the first of them stands in `own`."""
        for place, row in enumerate(rows, start=first):
            self._places[row] = (_OWN, place)
        self._computed.add(backend)

    def write(self, file: Path) -> int:
        """Write all vectors as a `.npy` file, by parts, and give their dimension."""
        dimension = int((self._sources[0] if self.own is None else self.own).shape[1])
        write_rows(file, (len(self.digests), dimension), self._slabs(dimension))
        return dimension

    def forget(self) -> None:
        """Let go of all files."""
        self.own = None
        self._sources.clear()

    def _take(self, digests: Sequence[bytes], vectors: "np.ndarray", computed: ComputedBy) -> int:
        where = {digest: place for place, digest in enumerate(digests) if digest}
        source, still = len(self._sources), []
        for row in self.missing:
            place = where.get(self.digests[row])
            if place is None:
                still.append(row)
            else:
                self._places[row] = (source, place)
        taken = len(self.missing) - len(still)
        if taken:
            self._sources.append(vectors)
            self._computed.add(computed)
        self.missing = still
        return taken

    def _slabs(self, dimension: int) -> "Iterator[np.ndarray]":
        import numpy as np

        sources = dict(enumerate(self._sources))
        if self.own is not None:
            sources[_OWN] = self.own
        for start in range(0, len(self._places), _SLAB):
            places = np.array(self._places[start : start + _SLAB], dtype=np.int64)
            slab = np.empty((len(places), dimension), dtype=np.float32)
            for number, vectors in sources.items():
                mine = places[:, 0] == number
                slab[mine] = vectors[places[mine, 1]]
            yield slab
