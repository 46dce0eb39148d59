"""Encoding passages in other numbers or by another library than torch in float32, and encoding queries.

Passages: a fixed sample of real ones, from loaded models, in turns. Beside each way's speed stands how near its vectors
come to those of torch in float32 (cosine of a passage's two vectors), and what that does to evidence recall: the gold
passages found among the five best, for every fourth real question of each benchmark, in the pool of the passages that
the benchmarks show with those questions, embedded both ways; queries are encoded in float32 in each case. bfloat16 has
a target of speed only where the processor has its instructions. ONNX is left out where it is not installed.

Queries: real questions, each alone, by the light encoder that searches use, against sentence-transformers; and from 16
threads at once, each sending its next question when it has the vector of its last. An evaluation leaves numpy's
products no threads of their own, since it has many questions at once.
"""

import statistics
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ...errors import UserError
from ...retrievers.encoder import Encoder, get_encoder
from ...retrievers.encoder_files import DEFAULT_ENCODER
from ...retrievers.passage import titled
from ...retrievers.passage_backend import load_model, require_possible
from ..benchmarks.load import load_benchmark
from ..benchmarks.record import BenchmarkQuestion, Paragraph
from ..evaluation import one_blas_thread
from . import corpora
from .measured import Measured
from .setting import Setting, machine
from .timing import quartiles, seconds, seconds_from_threads, timed, times_faster

if TYPE_CHECKING:
    import numpy as np

FLOOR = 1.8
COSINE_FLOOR = 0.999

_EVERY_PASSAGE = 60
_EVERY_QUESTION = 4
_QUERIES = 96
_THREADS = 16
_K = 5
_REFERENCE = "torch float32"
_WAYS: dict[str, dict[str, Any]] = {
    _REFERENCE: {"backend": "torch", "dtype": "float32"},
    "torch bfloat16": {"backend": "torch", "dtype": "bfloat16"},
    "ONNX float32": {"backend": "onnx", "dtype": "float32"},
}


def measure(setting: Setting) -> list[Measured]:
    """Encode passages each way, then queries.

    Args:
        setting: Where and how far.
    """
    setting.need_data()
    encoder = get_encoder(DEFAULT_ENCODER)
    return [*_passages(setting, encoder), *_queries(setting, encoder)]


def _passages(setting: Setting, encoder: Encoder) -> list[Measured]:
    texts = [passage.embedding_text for passage in corpora.real_passages(setting.need_data())[::_EVERY_PASSAGE]]
    questions = _questions(setting)
    pool = sorted({paragraph for question in questions for paragraph in question.context}, key=_embedded)
    ways = {name: _encoding(encoder, options) for name, options in _WAYS.items() if _possible(options)}
    vectors = {name: encode(texts) for name, encode in ways.items()}  # loads and warms up
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(setting.rounds):
        for name, encode in ways.items():
            times[name].append(seconds(partial(encode, texts)))
    asked = _query_vectors(encoder, [question.question for question in questions])
    recall = {
        name: _recall(questions, pool, encode([_embedded(paragraph) for paragraph in pool]), asked)
        for name, encode in ways.items()
    }
    has_instructions = "bf16" in machine()
    rows = []
    for name in ways:
        rates = [len(texts) / taken for taken in times[name]]
        note = f"{len(texts)} real passages, {len(texts) * len(rates)} in all"
        rows.append(Measured(f"{name}: passages/s", statistics.median(rates), spread=quartiles(rates), note=note))
        if name == _REFERENCE:
            continue
        floor = FLOOR if name == "torch bfloat16" and has_instructions else None
        rows.append(times_faster(f"{name}: speed", times[name], times[_REFERENCE], floor=floor, note=_REFERENCE))
        cosines = (vectors[name] * vectors[_REFERENCE]).sum(axis=1)
        rows.append(Measured(f"{name}: mean cosine", float(cosines.mean()), floor=COSINE_FLOOR, note=_REFERENCE))
        rows.append(Measured(f"{name}: least cosine", float(cosines.min()), note=_REFERENCE))
    note = f"{len(questions)} questions, {len(pool):,} passages"
    for name, found in recall.items():
        if name == _REFERENCE:
            rows.append(Measured(f"{name}: evidence recall@{_K}", 100 * found, "%", note=note))
        else:
            change = 100 * (found - recall[_REFERENCE])
            rows.append(Measured(f"{name}: change in evidence recall@{_K}", change, "points", note=note))
    return rows


def _queries(setting: Setting, encoder: Encoder) -> list[Measured]:
    questions = corpora.real_questions(setting)
    questions = questions[:: len(questions) // _QUERIES][:_QUERIES]
    model = load_model(encoder.folder, encoder.name)
    full = partial(model.encode_query, show_progress_bar=False, normalize_embeddings=True)
    ours: list[float] = []
    theirs: list[float] = []
    for encode in (encoder.encode_query, full):
        _each(encode, questions[:_THREADS])  # warms up
    for question in questions:
        ours += _each(encoder.encode_query, [question])
        theirs += _each(full, [question])
    alone, together, evaluating = [], [], []
    for _ in range(setting.rounds):
        alone.append(seconds(partial(_each, encoder.encode_query, questions)) / len(questions))
        together.append(seconds_from_threads(_THREADS, encoder.encode_query, questions) / len(questions))
        with one_blas_thread():
            evaluating.append(seconds_from_threads(_THREADS, encoder.encode_query, questions) / len(questions))
    one = "the light encoder, one at a time"
    note = f"{len(questions)} questions, each alone"
    return [
        timed("query: light encoder, p50", ours, note=note),
        timed("query: sentence-transformers, p50", theirs, note=note),
        times_faster("query: light encoder, speed", ours, theirs, note="sentence-transformers"),
        times_faster(f"query: {_THREADS} threads, queries/s", together, alone, note=one),
        times_faster(f"query: {_THREADS} threads, as an evaluation has them, queries/s", evaluating, alone, note=one),
    ]


def _query_vectors(encoder: Encoder, queries: Sequence[str]) -> "np.ndarray":
    """The vectors of queries, float32 of shape (queries, dimension)."""
    import numpy as np

    return np.stack([encoder.encode_query(query) for query in queries])


def _questions(setting: Setting) -> list[BenchmarkQuestion]:
    folder = setting.need_data()
    specs = [f"{kind}:{folder / f'{kind}_dev.jsonl'}" for kind in ("musique", "hotpotqa", "2wiki")]
    return [question for spec in specs for question in load_benchmark(spec, to_measure=False).dev[::_EVERY_QUESTION]]


def _embedded(paragraph: Paragraph) -> str:
    return titled(paragraph.title, paragraph.text)


def _encoding(encoder: Encoder, options: dict[str, Any]) -> "Callable[[Sequence[str]], np.ndarray]":
    return lambda texts: encoder.encode_passages(texts, **options)


def _possible(options: dict[str, Any]) -> bool:
    try:
        require_possible(**options)
    except UserError:  # a package is not installed
        return False
    return True


def _recall(
    questions: Sequence[BenchmarkQuestion], pool: Sequence[Paragraph], passages: "np.ndarray", asked: "np.ndarray"
) -> float:
    """Mean over the questions of the share of their gold passages among the best by rounded score, then place."""
    import numpy as np

    scores = np.round(asked @ passages.T, 5)
    best = np.argsort(-scores, axis=1, kind="stable")[:, :_K]
    shares = []
    for question, rows in zip(questions, best, strict=True):
        found = {pool[row] for row in rows}
        shares.append(sum(gold in found for gold in question.supporting) / len(question.supporting))
    return statistics.mean(shares)


def _each(encode: Callable[[str], object], queries: Sequence[str]) -> list[float]:
    """The seconds of each query."""
    return [seconds(partial(encode, query)) for query in queries]
