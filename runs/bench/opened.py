"""A process that opens an index and tells what it took: `python -m executionrag.runs.bench.opened apart DIR`.

`apart` imports the libraries first and counts the opening alone, `whole` counts them in, `questions DIR N` searches for
each line of stdin and tells the memory after the first N and at the end. Figures are JSON on stdout: bytes and seconds.
"""

import contextlib
import gc
import importlib
import json
import sys
from pathlib import Path
from time import perf_counter

_LIBRARIES = ("numpy", "faiss", "bm25s")
_K = 5
_FIRST = "Where was the director of the film born?"


def memory() -> dict[str, float]:
    """Bytes of this process that are resident, and those of them that are private."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    told = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)

    def size(key: str) -> int:
        return int(told[key].split()[0]) * 1024

    return {"resident": size("VmRSS"), "private": size("RssAnon")}


def opening(folder: str, *, apart: bool) -> dict[str, float]:
    """What `Index.load` takes, the libraries' imports apart or with them, and what the first search does."""
    began = perf_counter()
    from ...retrievers.index import Index

    if apart:
        for library in _LIBRARIES:
            with contextlib.suppress(ImportError):
                importlib.import_module(library)
        began = perf_counter()
    gc.collect()
    before = memory()
    index = Index.load(folder)
    seconds = perf_counter() - began
    after = memory()
    grown = {key: after[key] - before[key] for key in after}
    began = perf_counter()
    assert index.semantic_search(_FIRST, _K)
    assert index.keyword_search(_FIRST, _K)
    searching = perf_counter() - began
    return {"seconds": seconds, **grown, "resident_then": after["resident"], "seconds_searching": searching}


def questions(folder: str, warm: int) -> dict[str, float]:
    """Memory after the first `warm` searches and after all."""
    from ...retrievers.index import Index

    index = Index.load(folder)
    kept: dict[str, float] = {}
    for number, line in enumerate(sys.stdin, start=1):
        index.semantic_search(line.strip(), _K)
        index.keyword_search(line.strip(), _K)
        if number == warm:
            gc.collect()
            kept = {f"{key}_warm": size for key, size in memory().items()}
    gc.collect()
    last = {f"{key}_last": size for key, size in memory().items()}
    return kept | last


def main(what: str, folder: str, *more: str) -> None:
    """Write the figures."""
    found = questions(folder, int(more[0])) if what == "questions" else opening(folder, apart=what == "apart")
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
