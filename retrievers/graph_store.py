"""The entity graph on disk: a folder of its own inside the index folder, made when it is first needed.

The index's manifest and digest know nothing of it: it can be made anew from the passages at any time. So one that is
damaged, of another index or of another version is made anew with a line in the log, and where it cannot be stored (a
read-only folder, a full disk) it is used from memory with a warning. It is written under a temporary name and renamed;
while one process makes it, another makes its own in memory, which is the same, rather than wait.
"""

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import UserError
from .files import check, describe, replacing, write_array, write_bytes
from .graph import EntityGraph, build
from .passage import Passage
from .temporaries import locked

FOLDER = "graph"
#: Raised whenever entities, edges or their weights come out otherwise.
VERSION = 1

_ABOUT, _ENTITIES, _EDGES, _WEIGHTS = "graph.json", "entities.json", "edges.npy", "weights.npy"
_log = logging.getLogger(__name__)


def open_graph(index: Path, digest: str, passages: Sequence[Passage]) -> EntityGraph:
    """The graph of an index: the stored one, else a new one, stored where that is possible.

    Args:
        index: The index folder.
        digest: The index's.
        passages: Its passages, in the order of their ids.
    """
    if (stored := _load(index, digest, len(passages))) is not None:
        return stored.prepare()
    with locked(index) as held:
        if held and (stored := _load(index, digest, len(passages))) is not None:
            return stored.prepare()
        _log.info("%s: making the entity graph of %d passages", index, len(passages))
        graph = build(passages)
        if held:
            try:
                _write(graph, index, digest)
            except UserError as error:
                _log.warning("the entity graph is kept in memory only: %s", error)
        return graph.prepare()


def _write(graph: EntityGraph, index: Path, digest: str) -> None:
    with replacing((index / FOLDER).absolute()) as folder:
        write_bytes(folder / _ENTITIES, json.dumps(list(graph.entities), ensure_ascii=False).encode())
        write_array(folder / _EDGES, graph.edges)
        write_array(folder / _WEIGHTS, graph.weights)
        about = {"version": VERSION, "index": digest, "files": describe(folder)}
        write_bytes(folder / _ABOUT, (json.dumps(about, indent=1) + "\n").encode())


def _load(index: Path, digest: str, passages: int) -> EntityGraph | None:
    """The stored graph; None where there is none that can be used."""
    import numpy as np

    folder = index / FOLDER
    if not folder.exists():
        return None
    try:
        about: dict[str, Any] = json.loads((folder / _ABOUT).read_bytes())
        if (about["version"], about["index"]) != (VERSION, digest):
            raise ValueError("of another index or version")
        check(folder, {name: about["files"][name] for name in (_ENTITIES, _EDGES, _WEIGHTS)}, everything=True)
        entities: list[str] = json.loads((folder / _ENTITIES).read_bytes())
        edges = np.load(folder / _EDGES, allow_pickle=False)
        weights = np.load(folder / _WEIGHTS, allow_pickle=False)
    except (OSError, ValueError, KeyError, TypeError, RecursionError, UserError) as error:
        _log.warning("%s: the stored entity graph is made anew (%s)", folder, " ".join(str(error).split())[:120])
        return None
    return EntityGraph(passages, entities, edges, weights)
