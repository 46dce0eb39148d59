"""The encoder: texts to unit vectors, by any sentence-transformers model.

Queries of a model whose shape is plain are encoded without that library, whose import would be most of a start.
Nothing is imported or read until it is needed, and one process loads a model once, whatever names it goes by.

Calls are safe from many threads: light queries are encoded side by side, as many as there are cores; the library holds
a lock, and the queries that wait for it are encoded together.
"""

import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .encoder_files import DEFAULT_ENCODER, digest, locate
from .passage_backend import Backend, DType, load_model
from .query_encoder import LightEncoder, open_light
from .text import replace_surrogates
from .together import Together

if TYPE_CHECKING:
    import numpy as np

logger = logging.getLogger(__name__)

_BATCH = 32
# Texts of like length are encoded together; progress is reported this often.
_BLOCK = 128

_encoders: dict[Path, "Encoder"] = {}
_encoders_lock = threading.Lock()


def get_encoder(name: str = DEFAULT_ENCODER) -> "Encoder":
    """The process's one encoder of that name or folder; its weights are not read yet.

    Raises:
        UserError: There is no such encoder, here or on the hub.
    """
    folder = locate(name)
    with _encoders_lock:
        if folder not in _encoders:
            _encoders[folder] = Encoder(name, folder)
        return _encoders[folder]


class Encoder:
    """One encoder model. Get it by `get_encoder`, which shares it."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self._lock = threading.RLock()
        # Not the lock above, which is held as long as passages are encoded.
        self._reading = threading.Lock()
        # The light encoder has no state, so several threads may use it: as many as can really compute.
        self._cores = threading.BoundedSemaphore(os.cpu_count() or 1)
        self._models: dict[tuple[Backend, DType], Any] = {}
        self._queries: Together[str, np.ndarray] = Together(self._encode_queries, most=_BATCH)

    @cached_property
    def digest(self) -> str:
        """Identity of weights and pooling; reads the weights file, not the model."""
        return digest(self.folder)

    def _load(self, backend: Backend = "torch", dtype: DType = "float32") -> Any:
        """The model that computes so, read at the first call; the caller holds the lock."""
        if (backend, dtype) not in self._models:
            self._models[backend, dtype] = load_model(self.folder, self.name, backend, dtype)
        return self._models[backend, dtype]

    @cached_property
    def _light(self) -> LightEncoder | None:
        return open_light(self.folder)

    def encode_passages(
        self,
        texts: Sequence[str],
        progress: Callable[[int, int], None] | None = None,
        *,
        backend: Backend = "torch",
        dtype: DType = "float32",
    ) -> "np.ndarray":
        """Encode texts as passages.

        Args:
            texts: What to embed.
            progress: Called with (done, total) after each block.
            backend: The library that computes.
            dtype: The numbers that it computes in; the vectors are float32 in each case.

        Returns:
            float32 unit vectors, one row a text, in the order of `texts`.
        """
        import numpy as np

        vectors = np.zeros((len(texts), 0), dtype=np.float32)
        done = 0
        for rows, block in self.encode_blocks(texts, backend=backend, dtype=dtype):
            if not done:
                vectors = np.zeros((len(texts), block.shape[1]), dtype=np.float32)
            vectors[rows] = block
            done += len(rows)
            if progress is not None:
                progress(done, len(texts))
        return vectors

    def encode_blocks(
        self, texts: Sequence[str], *, backend: Backend = "torch", dtype: DType = "float32"
    ) -> "Iterator[tuple[list[int], np.ndarray]]":
        """Encode texts as passages, block by block as they are asked for, so that finished ones can be kept on disk.

        Args:
            texts: What to embed.
            backend: The library that computes.
            dtype: The numbers that it computes in; the vectors are float32 in each case.

        Yields:
            The rows of some of the texts, and their float32 unit vectors, of shape (rows, dimension).
        """
        # Longest first: texts of one batch are padded alike, and a lack of memory shows at once.
        order = sorted(range(len(texts)), key=lambda row: (-len(texts[row]), row))
        for start in range(0, len(order), _BLOCK):
            rows = order[start : start + _BLOCK]
            with self._lock:
                block = self._load(backend, dtype).encode_document(
                    [replace_surrogates(texts[row])[0] for row in rows],
                    batch_size=_BATCH,
                    show_progress_bar=False,
                    convert_to_numpy=True,
                    normalize_embeddings=True,
                )
            yield rows, _unit(_finite(block)) if dtype == "bfloat16" else _finite(block)

    def encode_query(self, text: str) -> "np.ndarray":
        """Encode one query, with the model's query prompt where it defines one.

        Returns:
            A float32 unit vector of shape (dimension,). Where the model is not light, its last bits can depend on what
            was encoded with it.
        """
        clean, _ = replace_surrogates(text)
        with self._reading:
            light = self._light
        if light is None:
            return self._queries.ask(clean)
        with self._cores:
            vector: np.ndarray = _finite(light.encode_queries([clean]))[0]
        return vector

    def _encode_queries(self, texts: list[str]) -> "list[np.ndarray]":
        with self._lock:
            vectors = self._load().encode_query(
                texts,
                batch_size=_BATCH,
                show_progress_bar=False,
                convert_to_numpy=True,
                normalize_embeddings=True,
            )
            return list(_finite(vectors))

    def __deepcopy__(self, memo: dict[int, Any]) -> "Encoder":
        return self


def _unit(vectors: "np.ndarray") -> "np.ndarray":
    """Rows brought to length 1: in bfloat16 they are off by up to a hundredth."""
    import numpy as np

    unit: np.ndarray = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-12))
    return unit


def _finite(vectors: Any) -> "np.ndarray":
    """float32, with a zero vector (which matches nothing) in place of one that is not finite."""
    import numpy as np

    vectors = np.asarray(vectors, dtype=np.float32)
    broken = ~np.isfinite(vectors).all(axis=1)
    if broken.any():
        logger.warning("%d texts have no finite vector and will not be found by semantic search", int(broken.sum()))
    cleaned: np.ndarray = np.where(broken[:, None], np.float32(0), vectors)
    return cleaned
