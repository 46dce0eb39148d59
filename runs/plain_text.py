"""Texts from corpora and language models made harmless before they are shown.

A corpus or an LM can hold terminal escape sequences, control characters and marks that reverse the reading direction:
shown as they are, they could recolour, overwrite or disguise what stands on the screen.
"""

import re

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x9b[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|$)"  # OSC and other strings
    r"|\x1b[ -/]*[0-~]"
)
_CONTROLS = re.compile(
    r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufff9-\ufffb]"
)


def clean(text: str) -> str:
    """The text without escape sequences, control characters and direction marks; line breaks stay."""
    return _CONTROLS.sub("", _ESCAPES.sub("", text))


def clean_line(text: str) -> str:
    """`clean`, on one line."""
    return " ".join(clean(text).split())


def shorten(text: str, length: int) -> str:
    """The text on one line, cut at a word to at most `length` characters."""
    line = clean_line(text)
    if len(line) <= length:
        return line
    cut = line[: length - 1]
    words = cut.rsplit(" ", 1)[0] if " " in cut[length // 2 :] else cut
    return words.rstrip(" ,;:.-") + "…"


def count(number: int, noun: str) -> str:
    """A number with its noun: `1 passage`, `2,000 passages`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
