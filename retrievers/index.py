"""The index: a corpus made searchable, in one folder on disk.

The folder holds the passages, their vectors, an inverted index and a manifest that says of what corpus, by what encoder
and how it was made, with the size and hash of every file. It is written whole or not at all, holds nothing pickled, and
is memory-mapped: loading it is quick, threads and optimiser copies share it. It refuses an encoder other than its own
and files other than those written. The encoder's weights are read at the first semantic search.
"""

import dataclasses
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UserError
from . import dense, graph_store, keyword, sentence_store, store
from .building import build_index
from .encoder import Encoder, get_encoder
from .encoder_files import DEFAULT_ENCODER
from .files import check, damaged
from .graph import EntityGraph
from .manifest import MANIFEST, Granularity, Manifest, read_manifest
from .passage import Passage
from .passage_backend import Backend, DType

if TYPE_CHECKING:
    import numpy as np

__all__ = ["DEFAULT_ENCODER", "Granularity", "Index", "Match"]


@dataclasses.dataclass(frozen=True, slots=True)
class Match:
    """One passage that a search found.

    Attributes:
        passage_id: Which.
        score: Cosine (semantic), BM25 (keyword) or share of the best passage's PageRank (graph), rounded to 1e-5; at
            sentence granularity the cosine of the best sentence.
        snippets: The matching sentences in the order of the text, at sentence granularity; else empty.
    """

    passage_id: str
    score: float
    snippets: tuple[str, ...] = ()


class Index:
    """A searchable corpus. Make one with `Index.build`, open one with `Index.load`; safe from many threads."""

    def __init__(self, path: Path, manifest: Manifest, encoder: str | None = None) -> None:
        """Open the files of a checked folder; use `Index.load`."""
        self.path = path
        self._manifest = manifest
        self._encoder_name = encoder or manifest.encoder
        self._lock = threading.Lock()
        self._encoder: Encoder | None = None
        self._graph_lock = threading.Lock()
        self._graph: EntityGraph | None = None
        part = path
        try:
            part = path / store.PASSAGES
            self._store = store.PassageStore(path)
            part = path / (dense.GRAPH if (path / dense.GRAPH).exists() else dense.VECTORS)
            self._dense = dense.DenseSearch(path)
            part = path / keyword.FOLDER
            self._keyword = keyword.KeywordSearch(path, len(self._store))
            part = path / sentence_store.SENTENCES
            self._sentences = sentence_store.SentenceStore(path) if manifest.granularity == "sentence" else None
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, EOFError) as error:
            raise damaged(part, " ".join(str(error).split())[:120]) from error
        vectors = len(self._store) if self._sentences is None else len(self._sentences)
        if len(self._store) != manifest.passages or len(self._dense) != vectors:
            raise damaged(path / MANIFEST, "its files do not belong together")

    @classmethod
    def build(
        cls,
        passages: Iterable[Passage],
        out: Path | str,
        *,
        encoder: str = DEFAULT_ENCODER,
        granularity: Granularity = "passage",
        progress: Callable[[int, int], None] | None = None,
        overwrite: bool = False,
        update: bool = False,
        dense_kind: dense.Kind = "auto",
        backend: Backend = "torch",
        dtype: DType = "float32",
    ) -> "Index":
        """Embed and index passages, write the folder, and open it.

        Args:
            passages: The corpus; ids must be unique and texts not blank.
            out: The folder to make. An existing one is refused unless it is empty.
            encoder: A sentence-transformers name or folder.
            backend: The library that computes the vectors, torch or onnx.
            dtype: The numbers that it computes in, float32 (the same index on every machine) or bfloat16 (faster).
            granularity: What is embedded: whole passages, or their sentences (searches then give snippets).
            progress: Called with (done, total) of the texts embedded.
            overwrite: Replace an index that stands at `out`. Nothing but an index is ever replaced.
            update: Embed only what an index that stands at `out` does not hold; the result equals a new one.
            dense_kind: How vectors are searched: flat (exactly), hnsw (by a graph), or auto (a graph above
                `dense.FLAT_LIMIT`).

        Raises:
            UserError: The corpus, the place or the encoder cannot be used, or the disk is full. Nothing half written
                is left; finished embeddings are, in `OUT.embedded`, which the same call takes up.
        """
        build_index(
            passages,
            out,
            encoder=encoder,
            granularity=granularity,
            progress=progress,
            overwrite=overwrite,
            update=update,
            backend=backend,
            dtype=dtype,
            dense_kind=dense_kind,
        )
        return cls.load(out)

    @classmethod
    def load(cls, path: Path | str, *, encoder: str | None = None, verify: bool = False) -> "Index":
        """Open an index folder.

        Args:
            path: The folder.
            encoder: Another name or place of the encoder that made the index; default: the one that it remembers.
            verify: Check the hash of every file, not of the small ones only (sizes always are).

        Raises:
            UserError: No index there, a damaged one, or one that another encoder made.
        """
        path = Path(path)
        manifest = read_manifest(path)
        check(path, manifest.files, everything=verify)
        index = cls(path, manifest, encoder)
        if encoder is not None:
            index._model()
        return index

    @property
    def passages(self) -> Sequence[Passage]:
        """All passages in the order of their ids, read from disk as they are asked for."""
        return self._store

    @property
    def digest(self) -> str:
        """Identity of corpus, encoder, granularity and dtype: equal digests give equal search results.

        (A graph finds nearly what exact search finds; whether there is one does not count.)
        """
        return self._manifest.digest

    @property
    def corpus_digest(self) -> str:
        """Identity of the passages, whatever their order was."""
        return self._manifest.corpus_digest

    @property
    def encoder_name(self) -> str:
        """Name or folder of the encoder."""
        return self._encoder_name

    @property
    def encoder_digest(self) -> str:
        """Identity of the encoder's weights and pooling."""
        return self._manifest.encoder_digest

    @property
    def granularity(self) -> Granularity:
        """What is embedded."""
        return self._manifest.granularity

    def __len__(self) -> int:
        return len(self._store)

    def __contains__(self, passage_id: object) -> bool:
        return isinstance(passage_id, str) and self._store.find(passage_id) is not None

    def passage(self, passage_id: str) -> Passage:
        """The passage with that id.

        Raises:
            KeyError: There is none.
        """
        return self._store[self._row(passage_id)]

    def neighbours(self, passage_id: str, n: int) -> list[Passage]:
        """The other chunks of the same document within `n` positions, in order; none for a one-passage document.

        Raises:
            KeyError: There is no such passage.
        """
        return self._store.neighbours(self._row(passage_id), n)

    def semantic_search(self, query: str, k: int) -> list[Match]:
        """The `k` passages nearest in meaning, best first; fewer in a smaller corpus, none for a blank query."""
        if not query.strip() or k < 1:
            return []
        vector = self._model().encode_query(query)
        if self._sentences is None:
            return [Match(self._store[row].id, score) for row, score in self._dense.search(vector, k)]
        return self._by_sentence(vector, k)

    def keyword_search(self, query: str, k: int) -> list[Match]:
        """The `k` best passages by BM25 among those that share a word with the query, best first."""
        matches = []
        for row, score in self._keyword.search(query, k):
            passage = self._store[row]
            snippets = () if self._sentences is None else self._sentences.with_words(row, passage, query)
            matches.append(Match(passage.id, score, snippets))
        return matches

    def graph_search(self, query: str, k: int) -> list[Match]:
        """The `k` best passages by PageRank over the entity graph, from the query's entities and nearest passages.

        Whole passages at either granularity, best first; none for a blank query.
        """
        if not query.strip() or k < 1:
            return []
        near = self._dense.similarities(self._model().encode_query(query))
        if self._sentences is not None:
            near = self._sentences.best_of_passages(near, len(self))
        return [Match(self._store[row].id, score) for row, score in self.graph.search(query, near, k)]

    @property
    def graph(self) -> EntityGraph:
        """The entity graph, made at first use and stored beside the index's own files."""
        with self._graph_lock:
            if self._graph is None:
                self._graph = graph_store.open_graph(self.path, self.digest, self._store)
            return self._graph

    def _by_sentence(self, vector: "np.ndarray", k: int) -> list[Match]:
        """Group sentences by passage; a passage scores as its best sentence."""
        assert self._sentences is not None
        found = self._dense.search(vector, k, group=self._sentences.owners)
        best: dict[int, float] = {}
        hits: dict[int, list[tuple[int, int]]] = {}
        for sentence, score in found:
            row, start, end = self._sentences.span(sentence)
            best.setdefault(row, score)
            hits.setdefault(row, []).append((start, end))
        ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))[:k]
        matches = []
        for row, score in ranked:
            passage = self._store[row]
            matches.append(Match(passage.id, score, tuple(passage.text[start:end] for start, end in sorted(hits[row]))))
        return matches

    def _row(self, passage_id: str) -> int:
        row = self._store.find(passage_id)
        if row is None:
            raise KeyError(passage_id)
        return row

    def _model(self) -> Encoder:
        with self._lock:
            if self._encoder is None:
                model = get_encoder(self._encoder_name)
                if model.digest != self.encoder_digest:
                    raise UserError(
                        f"{self.path}: the index was made by another encoder than {self._encoder_name!r} (weights or "
                        f"pooling differ from its {self._manifest.encoder!r}); give that one, or build the index again"
                    )
                self._encoder = model
            return self._encoder

    def __copy__(self) -> "Index":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Index":
        # Optimisers copy programs for every candidate: the index is read-only and shared.
        return self

    def __repr__(self) -> str:
        return f"Index({str(self.path)!r}, {len(self)} passages, {self.encoder_name}, {self.granularity})"
