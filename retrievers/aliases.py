"""Reading the passage aliases that an LM writes: "P3", "p3", "[P3]", "passage 3", "3"; and lists of them."""

import re

from .text import fold

_MARKED = re.compile(r"^\W*(?:passages?|p)[\s#.:_-]*0*(\d{1,6})(?!\w)")
_BARE = re.compile(r"^\W*0*(\d{1,6})\W*$")
_NEIGHBOURS = re.compile(
    r"(?:\+/-|[+±])\s*(\d{1,6})(?:\s*neighbou?rs?)?|neighbou?rs?\s*[=:]?\s*(\d{1,6})|(?<!\w)(\d{1,6})\s+neighbou?rs?(?!\s*[=:]?\s*\d)"
)
_LISTED = re.compile(r"passages?[\s#.:_-]*\d+|[^\s,;|&/\[\]()]*\d[^\s,;|&/\[\]()]*")


def read_alias(written: str) -> int | None:
    """The number of one alias, however it is marked up; None where none can be read."""
    folded = fold(written)
    match = _MARKED.match(folded) or _BARE.match(folded)
    return int(match[1]) if match else None


def parse_reads(written: str) -> tuple[list[str], int]:
    """Read a request such as "P3, P4 +1".

    Returns:
        What stands for aliases in it, as "P3" where a number can be read, and the number of neighbours asked for.
    """
    folded = fold(written)
    neighbours = 0
    if match := _NEIGHBOURS.search(folded):
        neighbours = int(next(group for group in match.groups() if group))
        folded = folded[: match.start()] + " " + folded[match.end() :]
    aliases = []
    for item in _LISTED.findall(folded):
        number = read_alias(item)
        aliases.append(item if number is None else f"P{number}")
    return list(dict.fromkeys(aliases)), neighbours
