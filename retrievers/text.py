"""Text that can be encoded: lone surrogates replaced, and the folding that query keys and tokens share."""

import re
import unicodedata

_SURROGATE = re.compile(r"[\ud800-\udfff]")


def replace_surrogates(text: str) -> tuple[str, int]:
    """Replace lone surrogates, which no encoder, tokenizer or LM client accepts, by U+FFFD.

    Returns:
        The clean text and the number of replacements.
    """
    return _SURROGATE.subn("�", text)


def fold(text: str) -> str:
    """NFKC and case-folded text, free of lone surrogates: full-width and ligature forms become plain ones."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", replace_surrogates(text)[0]).casefold())


def squeeze(text: str) -> str:
    """Folded text with each run of punctuation and white space made one space, for telling repeated queries.

    A text of punctuation alone keeps it, so that "?" and "!" stay different.
    """
    folded = fold(text)
    kept = "".join(" " if unicodedata.category(char).startswith("P") else char for char in folded)
    return " ".join(kept.split()) or " ".join(folded.split())
