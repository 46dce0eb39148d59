"""Loading a benchmark by its spec: `minihop`, `minihop:train`, or `KIND:FILE`.

The kind (`musique`, `hotpotqa`, `2wiki`, `arag`) says whose official rules score it; the layout of the file is told
from its fields, so that a HippoRAG or A-RAG export of MuSiQue is `musique:FILE` too. `KIND:hub:NAME[:CONFIG[:SPLIT]]`
reads a dataset through the `datasets` library, where it is installed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import UsageError, UserError
from ...retrievers.corpus import passages_from_rows
from .benchmark import Benchmark
from .corpus_file import read_corpus
from .layouts import LAYOUTS, read_questions
from .source_rows import SourceRow, read_rows
from .unique import with_unique_ids

if TYPE_CHECKING:
    from ...retrievers.passage import Passage

logger = logging.getLogger(__name__)

SPECS = "minihop (comes with the package), musique:FILE.jsonl, hotpotqa:FILE, 2wiki:FILE, arag:FOLDER"
_NAMES = {"musique": "MuSiQue", "hotpotqa": "HotpotQA", "2wiki": "2WikiMultiHopQA", "arag": "A-RAG's questions"}
_QUESTIONS, _CHUNKS = "questions.json", "chunks.json"


def load_benchmark(spec: str, corpus: Path | str | None = None, *, to_measure: bool = True) -> Benchmark:
    """Load a benchmark.

    Args:
        spec: Which.
        corpus: Its corpus file; default: what comes with it (A-RAG's `chunks.json` in the same folder), else the pooled
            contexts of its questions.
        to_measure: Whether its questions are wanted to measure with: a file named as a train split is then warned of.

    Returns:
        The questions of a file stand in `dev`; those of a train file in `train` as well.

    Raises:
        UsageError: There is no such benchmark.
        UserError: A file cannot be read, a row fits no layout, has no gold answer, or repeats an id.
    """
    kind, _, place = spec.partition(":")
    if kind == "minihop" and place in {"", "train"}:
        return _minihop(place, corpus)
    if kind not in LAYOUTS or not place:
        raise UsageError(f"--benchmark {spec}: unknown; it takes {SPECS}")
    if place.startswith("hub:"):
        from .hub_rows import hub_rows

        rows, found, beside = *hub_rows(place.removeprefix("hub:")), None
        said = place
    else:
        file = Path(place) / _QUESTIONS if Path(place).is_dir() else Path(place)
        rows, found = read_rows(file, f"a question file of {_NAMES[kind]}")
        beside = file.parent / _CHUNKS if file.name == _QUESTIONS else None
        said = file.name
    return _from_rows(
        spec, kind, rows, found, said, to_measure, corpus or (beside if beside and beside.is_file() else None)
    )


def _from_rows(
    spec: str, kind: str, rows: list[SourceRow], digest: str, said: str, to_measure: bool, corpus: Path | str | None
) -> Benchmark:
    questions = tuple(with_unique_ids(read_questions(kind, rows)))
    is_train = re.search(r"(?<![a-z])train(?![a-z])", said.lower().replace("training", "train")) is not None
    if is_train and to_measure:
        logger.warning("%s: the name says train: scores on a train split are no result; measure on the dev split", spec)
    return Benchmark(
        name=_NAMES[kind] + (" (train)" if is_train else ""),
        train=questions if is_train else (),
        dev=questions,
        passages=tuple(one for question in questions for one in question.context),
        prefix=kind,
        kind=kind,
        digest=digest,
        split="train" if is_train else "dev",
        corpus_file=() if corpus is None else tuple(read_corpus(corpus)),
    )


def _minihop(place: str, corpus: Path | str | None) -> Benchmark:
    from .minihop import MiniHop

    benchmark = MiniHop
    if place:
        digest = hashlib.sha256(f"{benchmark.digest} train".encode()).hexdigest()
        benchmark = dataclasses.replace(
            benchmark, name="MiniHop (train)", dev=benchmark.train, split="train", digest=digest
        )
    if corpus is None:
        return benchmark
    return dataclasses.replace(benchmark, corpus_file=tuple(read_corpus(corpus)))


def corpus_passages(benchmark: Benchmark, spec: str, **sizes: int) -> list[Passage]:
    """The corpus that comes with a benchmark, as passages.

    Args:
        benchmark: Whose.
        spec: What the person called it, for the error.
        **sizes: How long texts are cut, as `retrievers.corpus.passages_from_rows` takes them; whole where not said.

    Raises:
        UserError: Its layout has none.
    """
    if not benchmark.corpus_file and not benchmark.passages:
        raise UserError(f"{spec}: its questions come without passages; give the corpus with --corpus FILE")
    if benchmark.corpus_file and not sizes:
        return list(benchmark.corpus_file)
    return passages_from_rows(benchmark.corpus, **sizes)
