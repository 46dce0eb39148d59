"""What indexing costs beside encoding, and how much is encoded again when a corpus changes or a build is interrupted.

Over 1,000 real passages and the default encoder, which is loaded before anything is timed, as are the libraries.
Encoding is timed inside the very build that it is compared with. Then 1 % of the passages is added and 1 % removed, by
an update of the standing index, beside a fresh build of the same passages; and a build is interrupted half way and run
again. Of the older commit, which had no update, the whole index is made again, as its user had to.
"""

import contextlib
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from ...retrievers.encoder import Encoder
from ...retrievers.index import Index
from ...retrievers.passage import Passage
from .corpora import real_passages
from .measured import Measured
from .setting import Setting
from .timing import quartiles, seconds

MOST = 1.10
_PASSAGES = 1_000
_SHARE = 100  # one passage of so many is added or removed
_BUILDS = 3


class _Watch:
    """What is encoded while it looks on.

    Attributes:
        texts: How many texts were encoded.
        seconds: How long that took, without what the caller does as they are finished.
    """

    def __init__(self) -> None:
        self.texts = 0
        self.seconds = 0.0


@contextlib.contextmanager
def _watching() -> Iterator[_Watch]:
    """Look on while passages are encoded."""
    watch = _Watch()
    original = Encoder.encode_blocks

    def watched(self: Encoder, texts: Sequence[str], **options: Any) -> Iterator[Any]:
        blocks = original(self, texts, **options)
        while True:
            began = perf_counter()
            block = next(blocks, None)
            watch.seconds += perf_counter() - began
            if block is None:
                return
            watch.texts += len(block[0])
            yield block

    Encoder.encode_blocks = watched  # type: ignore[method-assign]
    try:
        yield watch
    finally:
        Encoder.encode_blocks = original  # type: ignore[method-assign]


def measure(setting: Setting, count: int = _PASSAGES) -> list[Measured]:
    """Build, update, interrupt and resume.

    Args:
        setting: Where and how far.
        count: Passages.
    """
    few = count // _SHARE
    real = real_passages(setting.need_data())[: count + few]
    fewer, more = real[:count], real
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        Index.build(real[:2], place / "warm")
        ratios, times = [], []
        for turn in range(_BUILDS):
            with _watching() as watch:
                times.append(_timed_build(more, place / f"fresh-{turn}"))
            ratios.append(times[-1] / watch.seconds)
        Index.build(fewer, place / "index")
        with _watching() as adding:
            added = _timed_build(more, place / "index", update=True)
        with _watching() as removing:
            removed = _timed_build(fewer, place / "index", update=True)
        again = _embedded_again(fewer, place / "resumed")
    fresh = statistics.median(times)
    return [
        Measured(
            "index time as a multiple of the encoding in it",
            statistics.median(ratios),
            "x",
            MOST,
            None,
            quartiles(ratios),
        ),
        Measured("texts embedded for each passage added (1 % of them)", adding.texts / few, "", 1.01, 1),
        Measured("update with 1 % added, times faster than a fresh build", fresh / added, "x"),
        Measured("texts embedded when 1 % are removed", removing.texts, "", 1),
        Measured("update with 1 % removed, times faster than a fresh build", fresh / removed, "x"),
        Measured("texts embedded again after an interruption half way", again, "", 1),
    ]


def _timed_build(passages: Sequence[Passage], out: Path, **options: Any) -> float:
    """Seconds that a build takes."""
    return seconds(lambda: Index.build(passages, out, **options))


def _embedded_again(passages: Sequence[Passage], out: Path) -> int:
    """How many texts are embedded twice when a build is interrupted half way and run again."""

    def interrupt(done: int, total: int) -> None:
        if 2 * done >= total:
            raise KeyboardInterrupt

    with _watching() as first, contextlib.suppress(KeyboardInterrupt):
        Index.build(passages, out, progress=interrupt)
    with _watching() as second:
        Index.build(passages, out)
    return first.texts + second.texts - len(passages)
