"""Memory and disk that a build needs, estimated before its work begins, against what the machine has left.

Memory is told on Linux (what is available, and the limit of the control group); elsewhere it is not looked at.
"""

import dataclasses
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from ..errors import UserError
from .passage import Passage

_GB = 1e9
# Bytes. The encoder's libraries and the texts that it has in hand, beside its weights.
_LIBRARIES = 500_000_000
# A text's digest and place in the tables, and a passage's entries in those of the keyword index beside its tokens.
_PER_TEXT = 600
# A graph's links and the working space of making it, a vector.
_LINKS = 320
# Tokens of the keyword index a byte of text, and what each takes in memory and on disk.
_KEYWORD_MEMORY = 6
_KEYWORD_DISK = 1
# Vectors are there three times at most: finished embeddings, gathered, and in a graph.
_COPIES = 3


@dataclasses.dataclass(frozen=True, slots=True)
class Needs:
    """What a build takes beside the corpus, which is in memory already.

    Attributes:
        memory: Bytes of memory at its highest.
        disk: Bytes of disk at its highest.
    """

    memory: int
    disk: int


def estimate(texts: int, text_bytes: int, dimension: int, weights: int, *, graph: bool) -> Needs:
    """Estimate what a build needs.

    Args:
        texts: How many texts are embedded.
        text_bytes: Size of all of them.
        dimension: Length of a vector.
        weights: Size of the encoder's weights, in bytes.
        graph: Whether a graph is made, which holds the vectors in memory.
    """
    vectors = texts * dimension * 4
    base = texts * _PER_TEXT + text_bytes
    keyword = text_bytes * _KEYWORD_MEMORY
    encoding = _LIBRARIES + 2 * weights
    linked = encoding + vectors + texts * _LINKS if graph else encoding
    disk = text_bytes * (1 + _KEYWORD_DISK) + vectors * _COPIES + texts * (60 + (_LINKS if graph else 0))
    return Needs(base + max(keyword, encoding, linked), disk)


def require_room(passages: Sequence[Passage], texts: Sequence[str], encoder: Path, *, graph: bool, out: Path) -> None:
    """Refuse a build for which memory or disk will not do.

    Raises:
        UserError: Too little of either; the message has figures and an alternative.
    """
    text_bytes = sum(len(text) for text in texts)
    weights = sum(file.stat().st_size for file in Path(encoder).glob("*.safetensors"))
    dimension = _dimension(encoder)
    needs = estimate(len(texts), text_bytes, dimension, weights, graph=graph)
    what = f"indexing {len(passages):,} passages ({len(texts):,} vectors of {dimension})"
    available = available_memory()
    if available is not None and needs.memory > available:
        other = estimate(len(texts), text_bytes, dimension, weights, graph=False).memory
        instead = "index a smaller corpus, or on a machine with more"
        if graph and other < needs.memory:
            instead = f"give --dense flat, which needs about {other / _GB:.1f} GB, or use a machine with more"
        raise UserError(
            f"{what} needs about {needs.memory / _GB:.1f} GB of memory, and {available / _GB:.1f} GB are available; "
            f"{instead}"
        )
    free = free_disk(out)
    if free is not None and needs.disk > free:
        raise UserError(
            f"{out}: {what} needs about {needs.disk / _GB:.2f} GB of disk, and {free / _GB:.2f} GB are free; free some "
            "space, or give another --out"
        )


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
