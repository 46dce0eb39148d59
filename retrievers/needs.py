"""Memory and disk that a build needs, estimated before its work begins, against what the machine has left.

Memory is told on Linux (what is available, and the limit of the control group); elsewhere it is not looked at.

The constants are upper bounds. They were set by sampling the resident memory and the files of whole builds: of real
passages by the default encoder with torch in both dtypes and with ONNX, and of 100,000 and 300,000 passages, and the
sentences of 100,000, whose vectors were made beforehand. Vectors that are mapped from disk are not counted as memory,
for the system takes that back when it is short of it; libraries are, for they are in use.
"""

import dataclasses
import json
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ..errors import UserError
from .passage import Passage

# Bytes. The encoder's libraries and the longest texts that it has in hand, beside its weights.
_LIBRARIES = 820_000_000
# Weights as they are read and as they are computed with, and once more: the copy that ONNX computes with, or that of
# the query encoder, which a graph's probes need. With both there is a fourth.
_WEIGHTS = 3
# A text's digest and place in the tables, and what the keyword index leaves scattered once it is made.
_PER_TEXT = 1_000
# A graph's links and the working space of making it, a vector.
_LINKS = 320
# The keyword index a byte of text: its tokens in memory while it is made.
_KEYWORD_MEMORY = 6
# On disk a byte of text is in the passages and in the keyword index; a text has a record's head and places beside it.
_TEXT_DISK = 2.25
_PER_TEXT_DISK = 160
# How often vectors are on disk at most, beside the finished embeddings: gathered, and in a graph.
_COPIES, _COPIES_OF_GRAPH = 1, 2


@dataclasses.dataclass(frozen=True, slots=True)
class Needs:
    """What a build takes beside the corpus, which is in memory already.

    Attributes:
        memory: Bytes of memory at its highest.
        disk: Bytes of disk at its highest.
    """

    memory: int
    disk: int


def estimate(
    texts: int,
    text_bytes: int,
    dimension: int,
    weights: int,
    *,
    graph: bool,
    onnx: bool = False,
    missing: int | None = None,
) -> Needs:
    """Estimate what a build needs.

    Args:
        texts: How many texts have a vector.
        text_bytes: Size of all of them in UTF-8.
        dimension: Length of a vector.
        weights: Size of the encoder's weights, in bytes.
        graph: Whether a graph is made, which holds the vectors in memory.
        onnx: Whether ONNX computes them.
        missing: How many of the texts are embedded now; all where nothing is said.
    """
    vectors = texts * dimension * 4
    base = texts * _PER_TEXT + text_bytes
    keyword = text_bytes * _KEYWORD_MEMORY
    encoding = _LIBRARIES + (_WEIGHTS + (onnx and graph)) * weights
    linked = encoding + vectors + texts * _LINKS if graph else encoding
    finished = (texts if missing is None else missing) * dimension * 4
    copies = finished + vectors * (_COPIES_OF_GRAPH if graph else _COPIES)
    disk = int(text_bytes * _TEXT_DISK) + copies + texts * (_PER_TEXT_DISK + (_LINKS if graph else 0))
    return Needs(base + max(keyword, encoding, linked), disk)


def require_room(
    passages: Sequence[Passage],
    texts: Sequence[str],
    encoder: Path,
    *,
    graph: bool,
    onnx: bool,
    missing: int,
    out: Path,
) -> None:
    """Refuse a build for which memory or disk will not do; `estimate` says what `graph`, `onnx` and `missing` are.

    Raises:
        UserError: Too little of either; the message has figures and an alternative.
    """
    text_bytes = sum(len(text.encode()) for text in texts)
    weights = sum(file.stat().st_size for file in Path(encoder).glob("*.safetensors"))
    dimension = _dimension(encoder)
    estimated = partial(estimate, len(texts), text_bytes, dimension, weights, onnx=onnx, missing=missing)
    needs = estimated(graph=graph)
    what = f"indexing {len(passages):,} passages ({len(texts):,} vectors of {dimension})"
    available = available_memory()
    if available is not None and needs.memory > available:
        other = estimated(graph=False).memory
        instead = "index a smaller corpus, or on a machine with more"
        if graph and other <= available:
            instead = f"give --dense flat, which needs about {_size(other)}, or use a machine with more"
        raise UserError(
            f"{what} needs about {_size(needs.memory)} of memory, and {_size(available)} are available; {instead}"
        )
    free = free_disk(out)
    if free is not None and needs.disk > free:
        raise UserError(
            f"{out}: {what} needs about {_size(needs.disk)} of disk, and {_size(free)} are free; free some space, or "
            "give another --out"
        )


def _size(count: int) -> str:
    """Bytes as a person reads them."""
    unit, name = next(((unit, name) for unit, name in ((1e9, "GB"), (1e6, "MB")) if count >= unit), (1e3, "kB"))
    return f"{count / unit:.1f} {name}"


def available_memory() -> int | None:
    """Bytes of memory that can be had, the control group's limit considered; None where it cannot be told."""
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        available = int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, ValueError, KeyError, IndexError):
        return None
    limit = _group_memory()
    return available if limit is None else min(available, limit)


def free_disk(out: Path) -> int | None:
    """Bytes that can be written beside a place, which need not exist; None where it cannot be told."""
    place = out.absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        return shutil.disk_usage(place).free
    except OSError:
        return None


def _group_memory() -> int | None:
    """What is left of the control group's limit (version 2, else 1), where it has one."""
    root = Path("/sys/fs/cgroup")
    for limit, used, cache in (
        (root / "memory.max", root / "memory.current", root / "memory.stat"),
        (root / "memory/memory.limit_in_bytes", root / "memory/memory.usage_in_bytes", root / "memory/memory.stat"),
    ):
        try:
            most = int(limit.read_text())  # "max" where there is none
            stat = dict(line.split() for line in cache.read_text().splitlines())
            reclaimable = int(stat.get("total_inactive_file", stat.get("inactive_file", "0")))
            return max(0, most - int(used.read_text()) + reclaimable)
        except (OSError, ValueError):
            continue
    return None


def _dimension(encoder: Path) -> int:
    """Length of the encoder's vectors by its configuration; that of the default one where it does not say."""
    try:
        return int(json.loads((Path(encoder) / "config.json").read_bytes())["hidden_size"])
    except (OSError, ValueError, KeyError, TypeError):
        return 384
