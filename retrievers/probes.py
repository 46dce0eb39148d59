"""Probe queries of a corpus, by which a graph's settings are chosen before anybody has asked anything.

A question of several hops names one thing and asks for another, so that it lies between the passages of both, near to
none. A probe is made likewise: the title of one passage with a sentence of another, both drawn at random.
"""

import random
from collections.abc import Sequence

from .chunking import sentences
from .passage import Passage

COUNT = 256
_SEED = 29
# Of a passage without title so many first words name it.
_WORDS = 8


def probe_texts(passages: Sequence[Passage], count: int = COUNT) -> list[str]:
    """The texts of the probes, the same each time.

    Args:
        passages: The corpus, not empty.
        count: How many at most; no passage is named twice.
    """
    draw = random.Random(_SEED)
    named = draw.sample(passages, min(count, len(passages)))
    return [f"{_name(passage)} {draw.choice(sentences(draw.choice(passages).text))}" for passage in named]


def _name(passage: Passage) -> str:
    return passage.title.strip() or " ".join(passage.text.split()[:_WORDS])
