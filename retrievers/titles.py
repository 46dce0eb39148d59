"""Titles found in other texts, however they are written: "person-centered therapy" names the passage of that title.

Titles of one word are left out: written small, most of them are ordinary words, and with a capital they are found as
names.
"""

from collections import defaultdict
from collections.abc import Iterable

from .entities import entity_key

_LONGEST = 8


class TitleFinder:
    """Finds the titles of a corpus in a text."""

    def __init__(self, keys: Iterable[str]) -> None:
        """Take the keys of the titles, as `title_keys` gives them."""
        lengths: dict[str, set[int]] = defaultdict(set)
        self._keys = set()
        for key in keys:
            words = key.split()
            if 2 <= len(words) <= _LONGEST:
                self._keys.add(key)
                lengths[words[0]].add(len(words))
        self._lengths = {first: sorted(found, reverse=True) for first, found in lengths.items()}

    def find(self, text: str) -> list[str]:
        """The keys found in a text, in its order, each once: the longest ones, none within another."""
        words = entity_key(text).split()
        found, place = [], 0
        while place < len(words):
            for length in self._lengths.get(words[place], ()):
                key = " ".join(words[place : place + length])
                if key in self._keys:
                    found.append(key)
                    place += length - 1
                    break
            place += 1
        return list(dict.fromkeys(found))
