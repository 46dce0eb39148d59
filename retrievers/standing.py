"""The index that stands where one is to be updated: what it must have in common with the new one, and its vectors."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UserError
from . import dense, sentence_store, store
from .embedded import text_digest
from .files import check, damaged
from .manifest import KEPT_VERSIONS, MANIFEST, VERSION, Granularity, Manifest, read_manifest
from .passage import Passage
from .passage_backend import DType

if TYPE_CHECKING:
    import numpy as np

logger = logging.getLogger(__name__)


class Standing:
    """An index folder that is to be updated, of this format or of an older one with the same vectors."""

    def __init__(self, path: Path) -> None:
        """Read its manifest.

        Raises:
            UserError: It is of a format whose vectors cannot be kept, or damaged.
        """
        self.path = path
        self.manifest: Manifest = read_manifest(path, versions=KEPT_VERSIONS)
        self._current = self.manifest.version == VERSION

    def require_same(self, encoder: str, encoder_digest: str, granularity: Granularity, dtype: DType) -> None:
        """Refuse to go on with another encoder, granularity or dtype than the index has.

        Raises:
            UserError: Something differs; the message says what, and what to do.
        """
        mine = self.manifest
        differing = []
        if mine.encoder_digest != encoder_digest:
            same_name = " of other weights or pooling" if mine.encoder == encoder else ""
            differing.append(("encoder", f"{mine.encoder!r}{same_name}", repr(encoder)))
        if mine.granularity != granularity:
            differing.append(("granularity", mine.granularity, granularity))
        if mine.dtype != dtype:
            differing.append(("dtype", mine.dtype, dtype))
        if differing:
            said = ", ".join(f"{what} {theirs} instead of {ours}" for what, theirs, ours in differing)
            raise UserError(
                f"{self.path}: cannot be updated, for the index there has {said}; give what it has, or replace it with "
                "--rebuild"
            )

    def embeddings(self) -> "tuple[list[bytes], np.ndarray] | None":
        """The digests of its embedded texts and their vectors, row by row; None where they cannot be kept.

        Raises:
            UserError: Its files are damaged.
        """
        check(self.path, self.manifest.files, everything=True)
        try:
            passages = store.PassageStore(self.path)
            spans = None
            if self.manifest.granularity == "sentence":
                import numpy as np

                spans = np.load(self.path / sentence_store.SENTENCES, mmap_mode="r", allow_pickle=False)
            digests = [text_digest(text) for text in sentence_store.embedded_texts(passages, spans)]
            vectors = dense.DenseSearch(self.path).stored_vectors()
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, EOFError) as error:
            if self._current:
                raise damaged(self.path / MANIFEST, " ".join(str(error).split())[:120]) from error
            logger.warning("%s: the vectors of this older index cannot be read; all are made anew", self.path)
            return None
        if len(vectors) != len(digests):
            raise damaged(self.path / MANIFEST, "its files do not belong together")
        return digests, vectors

    def holds(self, passages: Sequence[Passage], graph: bool) -> bool:
        """Whether it is the index of these passages, ordered by id, in this format and searched the same way."""
        return (
            self._current
            and self.manifest.passages == len(passages)
            and (self.path / dense.GRAPH).exists() == graph
            and all(one == other for one, other in zip(store.PassageStore(self.path), passages, strict=True))
        )
