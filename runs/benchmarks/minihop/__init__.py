"""MiniHop: 40 multi-hop questions over 165 short passages about people, places and works that do not exist.

No language model can know these facts, so an answer shows what was retrieved and read. 12 questions are for training
and 28 for development, with no hop or gold passage in common. 31 are chains of two to four hops; the others compare two
things or ask yes or no, some of them through a chain. Titles and names repeat on purpose. The files are in MuSiQue's
layout with two additions, `type` of a question and `subject` of a hop. They are read at the first use of `MiniHop`.
"""

import hashlib
import json
from functools import cache
from importlib.resources import as_file, files
from typing import Any

from ..benchmark import Benchmark
from ..musique import load_musique
from ..record import Paragraph

__all__ = ["DEMO_QUESTIONS", "MiniHop"]

MiniHop: Benchmark

#: Three questions of the dev split to show to a newcomer: two hops, three hops, and a comparison.
DEMO_QUESTIONS: tuple[str, ...] = ("2hop__mh_dev_22", "3hop__mh_dev_11", "2hop__mh_dev_15")


def __getattr__(name: str) -> Any:
    if name == "MiniHop":
        return _load()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _load() -> Benchmark:
    folder = files(__name__)
    with as_file(folder / "train.jsonl") as path:
        train = tuple(load_musique(path))
    with as_file(folder / "dev.jsonl") as path:
        dev = tuple(load_musique(path))
    # File iteration splits on line feeds only, unlike str.splitlines.
    with (folder / "corpus.jsonl").open(encoding="utf-8") as lines:
        passages = tuple(Paragraph(**json.loads(line)) for line in lines)
    digest = hashlib.sha256((folder / "train.jsonl").read_bytes() + (folder / "dev.jsonl").read_bytes()).hexdigest()
    return Benchmark("MiniHop", train, dev, passages, prefix="mh", kind="minihop", digest=digest)
