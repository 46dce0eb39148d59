"""Corpora and vectors of any size for the benchmarks, made from the real passages of benchmark files.

The smallest size is one real corpus; up to about 15,000 the passages and their vectors are real. Beyond, a passage
joins sentences of two real ones under a made-up name, so that the vocabulary grows with the corpus, and its vector is a
real one with small noise. Everything is drawn with a fixed seed. The big
indexes are assembled once and kept in the cache.
"""

import os
import random
import shutil
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ...retrievers import dense, keyword, store
from ...retrievers.encoder import get_encoder
from ...retrievers.encoder_files import DEFAULT_ENCODER
from ...retrievers.files import describe, replacing, sha256_of, write_bytes
from ...retrievers.manifest import MANIFEST, VERSION, Manifest
from ...retrievers.passage import Passage
from ...retrievers.probes import probe_texts
from ..benchmarks.corpus_file import read_corpus
from ..benchmarks.load import load_benchmark
from .setting import Setting

if TYPE_CHECKING:
    import numpy as np

DenseKind = Literal["flat", "hnsw"]

SEED = 20_261
#: Length of the noise vector that tells a made-up unit vector from the real one it came from.
NOISE = 0.3

_FILES = ("2wiki_corpus.jsonl", "hotpotqa_dev_pooled_corpus.jsonl", "musique_dev_pooled_corpus.jsonl")
_QUESTIONS = (
    "musique:musique_dev.jsonl",
    "hotpotqa:hotpotqa_dev.jsonl",
    "2wiki:2wiki_dev.jsonl",
)
_SYLLABLES = ["ka", "lo", "mi", "ren", "tas", "vel", "dor", "in", "as", "per", "ul", "gar", "ned", "os", "tri", "bel"]


def real_questions(setting: Setting) -> list[str]:
    """The texts of the real dev questions, benchmark by benchmark."""
    folder = setting.need_data()
    found = []
    for spec in _QUESTIONS:
        kind, name = spec.split(":")
        found += [question.question for question in load_benchmark(f"{kind}:{folder / name}", to_measure=False).dev]
    return found


@lru_cache(maxsize=1)
def real_passages(folder: Path) -> tuple[Passage, ...]:
    """The passages of the three real corpora, one after another, under ids that sort in that order."""
    passages = [passage for name in _FILES for passage in read_corpus(str(folder / name))]
    return tuple(_renamed(passage, number) for number, passage in enumerate(passages))


def passages(setting: Setting, count: int) -> list[Passage]:
    """So many passages: the first real ones, then made-up ones."""
    real = real_passages(setting.need_data())
    made = list(real[:count])
    draw = random.Random(SEED)
    while len(made) < count:
        first, second = real[draw.randrange(len(real))], real[draw.randrange(len(real))]
        name = "".join(draw.choice(_SYLLABLES) for _ in range(draw.randint(2, 4))).capitalize()
        half, other = first.text.split(". "), second.text.split(". ")
        text = ". ".join([*half[: len(half) // 2 + 1], *other[len(other) // 2 :]])
        made.append(_renamed(Passage("", f"{name} {first.title}", text, "", 0), len(made)))
    return made


def vectors(setting: Setting, count: int) -> "np.ndarray":
    """So many unit vectors, float32 of shape (count, 384): of the first real passages, then real ones with noise."""
    import numpy as np

    kept = setting.cache / "real-vectors.npy"
    real = real_passages(setting.need_data())
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        np.save(kept, get_encoder(DEFAULT_ENCODER).encode_passages([passage.embedding_text for passage in real]))
    known: np.ndarray = np.load(kept, allow_pickle=False)
    if count <= len(known):
        return known[:count].copy()
    draw = np.random.default_rng(SEED)
    made = np.empty((count, known.shape[1]), dtype=np.float32)
    made[: len(known)] = known
    for start in range(len(known), count, 50_000):
        end = min(start + 50_000, count)
        noise = draw.standard_normal((end - start, known.shape[1]), dtype=np.float32)
        made[start:end] = known[draw.integers(0, len(known), end - start)] + noise * np.float32(
            NOISE / known.shape[1] ** 0.5
        )
        made[start:end] /= np.linalg.norm(made[start:end], axis=1, keepdims=True)
    return made


def keyword_index(setting: Setting, count: int) -> Path:
    """The folder of a keyword index of so many passages, built where it is not kept yet."""

    def build(folder: Path) -> None:
        keyword.build((passage.embedding_text for passage in passages(setting, count)), folder)

    return _kept(setting, f"keyword-{count}-format-{VERSION}", build)


def dense_index(setting: Setting, count: int, kind: DenseKind) -> Path:
    """The folder of a dense index of so many vectors, built where it is not kept yet."""
    return _kept(setting, f"dense-{kind}-{count}-format-{VERSION}", lambda out: build_dense(setting, count, kind, out))


def build_dense(setting: Setting, count: int, kind: DenseKind, folder: Path) -> None:
    """Write a dense index of so many vectors; a graph is tuned by probes made from the passages, as in the product."""
    import numpy as np

    probes = None
    if kind == "hnsw":
        encoder = get_encoder(DEFAULT_ENCODER)
        probes = np.stack([encoder.encode_query(text) for text in probe_texts(passages(setting, count))])
    dense.build(vectors(setting, count), folder, kind, probes)


def indexed(setting: Setting, count: int) -> Path:
    """The folder of an index of so many passages and vectors, assembled where it is not kept yet."""

    def assemble(folder: Path) -> None:
        made = passages(setting, count)
        store.write(made, folder)
        kind: DenseKind = "hnsw" if dense.is_graph("auto", count) else "flat"
        for part in (keyword_index(setting, count), dense_index(setting, count, kind)):
            shutil.copytree(part, folder, copy_function=os.link, dirs_exist_ok=True)
        manifest = Manifest(
            corpus_digest=sha256_of(folder / store.PASSAGES),
            encoder=DEFAULT_ENCODER,
            encoder_digest=get_encoder(DEFAULT_ENCODER).digest,
            granularity="passage",
            passages=count,
            vectors=count,
            dimension=get_encoder(DEFAULT_ENCODER).encode_query("?").shape[0],
            files=describe(folder),
        )
        write_bytes(folder / MANIFEST, manifest.to_json().encode())

    return _kept(setting, f"index-{count}-format-{VERSION}", assemble)


def _kept(setting: Setting, name: str, make: Callable[[Path], None]) -> Path:
    """The folder of that name in the cache, made where it is not there yet; an unfinished one never is."""
    out = setting.cache / name
    if not out.exists():
        with replacing(out.absolute()) as folder:
            make(folder)
    return out


def _renamed(passage: Passage, number: int) -> Passage:
    name = f"{number:08d}"
    return Passage(name, passage.title, passage.text, name, 0)
