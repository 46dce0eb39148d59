"""Tokens of keyword search: what makes "C++", "X", "U.S." and 東京 searchable.

Text is folded (NFKC, case). Words of one character count. Scripts without spaces between words give each character and
each pair of neighbours. Accents are dropped where plain letters remain ("Glénan" is found by "glenan"), and such words
are stemmed as English; other words stay as they are. No stop words: "The The" and "The Who" are names, and BM25 weighs
common words down by itself.
"""

import re
import threading
import unicodedata
from collections.abc import Iterator
from typing import Any

from .text import fold

_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
_TOKEN = re.compile(
    rf"(?P<unspaced>[{_UNSPACED}\U00020000-\U0003ffff]+)"
    r"|(?P<initials>(?<!\w)(?:[a-z]\.){2,})"
    rf"|(?P<word>[^\W_{_UNSPACED}\U00020000-\U0003ffff]+)(?P<sign>[+#]+(?!\w))?"
)

_local = threading.local()


def tokens(text: str) -> list[str]:
    """The tokens of a passage or query, in order, repeats included."""
    return list(_tokens(fold(text)))


def _tokens(text: str) -> Iterator[str]:
    for match in _TOKEN.finditer(text):
        if run := match["unspaced"]:
            yield from run
            yield from (run[place : place + 2] for place in range(len(run) - 1))
        elif initials := match["initials"]:
            letters = initials.replace(".", "")
            yield from letters
            yield letters
        else:
            yield _stem(_plain(match["word"]))
            if match["sign"]:
                yield match["word"] + match["sign"]


def _plain(word: str) -> str:
    if word.isascii():
        return word
    bare = "".join(char for char in unicodedata.normalize("NFKD", word) if not unicodedata.combining(char))
    return bare if bare.isascii() and bare else word


def _stem(word: str) -> str:
    if not (word.isascii() and word.isalpha()) or len(word) < 3:
        return word
    stemmer: Any = getattr(_local, "stemmer", None)
    if stemmer is None:  # a stemmer has a cache that threads must not share
        import Stemmer

        stemmer = _local.stemmer = Stemmer.Stemmer("english")
    return str(stemmer.stemWord(word))
