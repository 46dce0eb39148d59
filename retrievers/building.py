"""Building an index: what is known already is taken, the rest embedded, everything else made anew.

Embeddings are known by encoder (digest), dtype and the digest of the embedded text. They come from the index that is
updated, where one is, and from what an interrupted build finished (`embedded.py`). Keyword index, stores and graph are
always made of the whole corpus, so that the result has the same files and digest as a new build. Vectors that are kept
are equal bit for bit; one that is newly embedded can differ from a new build's in its last bits (below 1e-6), for it
is padded with other texts than there.
"""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UserError
from . import dense, keyword, sentence_store, store
from .embedded import EmbeddedPlace, text_digest
from .encoder import Encoder, get_encoder
from .encoder_files import DEFAULT_ENCODER
from .files import DiskFull, describe, replacing, sha256_of, write_bytes
from .known import KnownVectors
from .manifest import MANIFEST, Granularity, Manifest, read_manifest
from .needs import require_room
from .passage import Passage
from .passage_backend import Backend, DType, require_possible
from .probes import probe_texts
from .standing import Standing
from .text import replace_surrogates

if TYPE_CHECKING:
    import numpy as np

# Where the vectors of a graph lie while it is made.
_GATHERED = "gathered.npy"


@dataclasses.dataclass(frozen=True, slots=True)
class Changes:
    """What a build does with the texts of its corpus.

    Attributes:
        embedded: How many are embedded.
        kept: How many of their vectors come from the index that is updated.
        resumed: How many come from a build that was interrupted.
        removed: How many texts of the index that is updated are no longer there.
        unchanged: The index stands as it should be, and is left alone.
    """

    embedded: int
    kept: int = 0
    resumed: int = 0
    removed: int = 0
    unchanged: bool = False


def build_index(
    passages: Iterable[Passage],
    out: Path | str,
    *,
    encoder: str = DEFAULT_ENCODER,
    granularity: Granularity = "passage",
    progress: Callable[[int, int], None] | None = None,
    overwrite: bool = False,
    update: bool = False,
    backend: Backend = "torch",
    dtype: DType = "float32",
    dense_kind: dense.Kind = "auto",
    planned: Callable[[Changes], None] | None = None,
) -> Changes:
    """Make or update an index folder, as `Index.build` says, without opening it.

    Args:
        passages: The corpus.
        out: The folder.
        encoder: Name or folder.
        granularity: What is embedded.
        overwrite: Replace an index that stands there.
        update: Take from an index that stands there what it holds.
        backend: The library that embeds.
        dtype: The numbers that it computes in.
        dense_kind: How vectors are searched.
        progress: Called with (done, total) of the texts that are embedded now.
        planned: Told what will be done before anything is embedded.

    Raises:
        UserError: As in `Index.build`.
    """
    out = Path(out)
    if out.is_symlink():
        out = out.resolve()
    if update and overwrite:
        raise UserError("an index is either updated or built again from nothing: give update or overwrite, not both")
    _require_free(out, overwrite or update)
    require_possible(backend, dtype)
    ordered = _checked(passages)
    model = get_encoder(encoder)
    standing = Standing(out) if update and (out / MANIFEST).is_file() else None
    if standing is not None:
        standing.require_same(encoder, model.digest, granularity, dtype)
    spans = sentence_store.all_spans(ordered) if granularity == "sentence" else None
    texts = list(sentence_store.embedded_texts(ordered, spans))
    graph = dense.is_graph(dense_kind, len(texts))
    place = EmbeddedPlace(out.absolute(), model.digest, backend, dtype)
    known = KnownVectors([text_digest(text) for text in texts])
    if standing is not None:
        known.take_standing(standing)
        if not known.missing and standing.holds(ordered, graph):
            place.remove()
            return dataclasses.replace(_changes(known), unchanged=True)
    known.take_finished(place)
    changes = _changes(known)
    onnx, missing = backend == "onnx", changes.embedded
    require_room(ordered, texts, model.folder, graph=graph, onnx=onnx, missing=missing, out=out)
    if planned is not None:
        planned(changes)
    try:
        with replacing(out.absolute()) as folder:
            store.write(ordered, folder)
            keyword.build((passage.embedding_text for passage in ordered), folder)
            if spans is not None:
                sentence_store.write(spans, folder)
            _embed(model, texts, known, place, progress, backend, dtype)
            dimension = known.write(folder / (_GATHERED if graph else dense.VECTORS))
            if graph:
                _make_graph(folder, model.encode_query, ordered)
            local = Path(encoder).expanduser()
            manifest = Manifest(
                corpus_digest=sha256_of(folder / store.PASSAGES),
                encoder=str(local.resolve()) if local.is_dir() else encoder,
                encoder_digest=model.digest,
                granularity=granularity,
                passages=len(ordered),
                vectors=len(texts),
                dimension=dimension,
                files=describe(folder),
                backend=known.computed_by,
                dtype=dtype,
            )
            write_bytes(folder / MANIFEST, manifest.to_json().encode())
    except DiskFull as error:
        if place.appended or known.resumed:
            raise DiskFull(f"{error}: it goes on from what is embedded, which is kept in {place.folder}") from error
        raise
    finally:
        place.close()
    known.forget()
    place.remove()
    return changes


def _changes(known: KnownVectors) -> Changes:
    return Changes(len(known.missing), known.kept, known.resumed, known.removed)


def _embed(
    model: Encoder,
    texts: Sequence[str],
    known: KnownVectors,
    place: EmbeddedPlace,
    progress: Callable[[int, int], None] | None,
    backend: Backend,
    dtype: DType,
) -> None:
    """Embed what is missing; each block is on disk before the next one is begun."""
    missing, done = list(known.missing), 0
    for places, vectors in model.encode_blocks([texts[row] for row in missing], backend=backend, dtype=dtype):
        rows = [missing[spot] for spot in places]
        place.append([known.digests[row] for row in rows], vectors)
        known.add_rows(rows, place.appended - len(rows), backend)
        done += len(rows)
        if progress is not None:
            progress(done, len(missing))
    if missing:
        known.own = place.vectors()


def _make_graph(folder: Path, encode_query: "Callable[[str], np.ndarray]", passages: Sequence[Passage]) -> None:
    """Make the graph of the gathered vectors, which are mapped rather than read."""
    import numpy as np

    vectors: np.ndarray = np.load(folder / _GATHERED, mmap_mode="r", allow_pickle=False)
    probes = np.stack([encode_query(text) for text in probe_texts(passages)])
    dense.build(vectors, folder, kind="hnsw", probes=probes)
    del vectors
    (folder / _GATHERED).unlink()


def _require_free(out: Path, overwrite: bool) -> None:
    if not out.exists() and not out.is_symlink():
        return
    if not out.is_dir():
        raise UserError(f"{out}: exists and is no folder; give another place for the index")
    if not any(out.iterdir()):
        return
    if not (out / MANIFEST).is_file():
        raise UserError(f"{out}: exists and is no index; it is left alone, give another place for the index")
    if not overwrite:
        raise UserError(
            f"{out}: an index stands there already; update or overwrite it explicitly, or give another place"
        )
    try:
        read_manifest(out, any_version=True)
    except UserError as error:  # which says to make it again: that is being done
        raise UserError(
            f"{out}: its {MANIFEST} does not show that it is an index, so it is left alone; remove the folder, or give "
            "another place"
        ) from error


def _checked(passages: Iterable[Passage]) -> list[Passage]:
    """Passages in the order of their ids, clean and found usable."""
    ordered = sorted((_clean(passage) for passage in passages), key=lambda passage: passage.id)
    if not ordered:
        raise UserError("the corpus is empty; give at least one passage")
    for place, passage in enumerate(ordered):
        if not passage.id.strip():
            raise UserError("a passage has a blank id; give each passage its own")
        if not passage.text.strip():
            raise UserError(f"passage {passage.id!r} has no text; every passage needs one")
        if place and ordered[place - 1].id == passage.id:
            raise UserError(f"passage id {passage.id!r} is used more than once; make ids unique")
    return ordered


def _clean(passage: Passage) -> Passage:
    fields = (passage.id, passage.title, passage.text, passage.document)
    clean = [replace_surrogates(field) for field in fields]
    if not any(count for _, count in clean):
        return passage
    return Passage(clean[0][0], clean[1][0], clean[2][0], clean[3][0], passage.position)
