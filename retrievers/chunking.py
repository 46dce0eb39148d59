"""Sentences and chunks of a text, cut where sentences end.

`sentencex` finds the sentences: it knows abbreviations and initials ("J. R. R. Tolkien", "e.g.", "Fig. 3"), decimals
and the full stops of other scripts, and keeps every character. Chunks are whole sentences packed up to a limit; a
sentence longer than the limit is cut between words, a word longer than the limit between characters. Nothing of a text
is lost: the pieces joined are the text.
"""

import re
from collections.abc import Iterable, Iterator

from .text import replace_surrogates

# The segmenter's time grows with the square of the number of sentences: a long text is read through a window, and the
# last sentence in it, which may go on, is read again with what follows.
_WINDOW = 5_000
_ENOUGH = 200_000

# Scripts written without spaces between words count a token a character.
_TOKEN = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
    r"|[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]{1,7}|[^\w\s]"
)
_WORDS = re.compile(r"\s*\S+\s*")


def estimate_tokens(text: str) -> int:
    """Roughly the number of tokens that an encoder sees, without loading one, so that chunks do not depend on it."""
    return sum(1 for _ in _TOKEN.finditer(text))


def sentences(text: str) -> list[str]:
    """Cut a text into sentences that, joined, give the text back.

    White space stays with the sentence before it (at the very start, with the first).
    """
    pieces: list[str] = []
    for piece in _segments(text):
        if pieces and (not piece.strip() or not pieces[-1].strip()):
            pieces[-1] += piece
        else:
            pieces.append(piece)
    return pieces


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Start and end (in characters) of each sentence, without the white space around it; blank ones left out."""
    spans, start = [], 0
    for sentence in sentences(text):
        bare = sentence.strip()
        if bare:
            first = start + len(sentence) - len(sentence.lstrip())
            spans.append((first, first + len(bare)))
        start += len(sentence)
    return spans


def chunks(text: str, limit: int) -> list[str]:
    """Cut a text into chunks of at most `limit` tokens (as `estimate_tokens` has them) that, joined, give it back.

    Chunks of one text are of about equal length, so that no stub is left at its end.
    """
    total = estimate_tokens(text)
    if total <= limit:
        return [text] if text else []
    target = -(-total // -(-total // limit))
    packed: list[str] = []
    current: list[str] = []
    size = 0
    for piece in _pieces(text, limit):
        length = estimate_tokens(piece)
        if current and (size >= target or size + length > limit):
            packed.append("".join(current))
            current, size = [], 0
        current.append(piece)
        size += length
    packed.append("".join(current))
    return packed


def _segments(text: str) -> Iterator[str]:
    import sentencex

    start, width = 0, _WINDOW
    while start < len(text):
        window = text[start : start + width]
        found = list(sentencex.segment("en", replace_surrogates(window)[0]))
        if sum(map(len, found)) != len(window):  # never seen; a lost character would be worse than a long sentence
            found = [window]
        ended = start + width >= len(text)
        if not ended and len(found) == 1 and width < _ENOUGH:
            width *= 2
            continue
        for piece in found if ended or len(found) == 1 else found[:-1]:
            yield text[start : start + len(piece)]
            start += len(piece)
        width = _WINDOW


def _pieces(text: str, limit: int) -> Iterator[str]:
    """Parts of a text that each fit the limit: sentences, else words, else characters."""
    for sentence in sentences(text):
        if estimate_tokens(sentence) <= limit:
            yield sentence
        else:
            yield from _fitting(_WORDS.findall(sentence) or [sentence], limit)


def _fitting(words: Iterable[str], limit: int) -> Iterator[str]:
    for word in words:
        if estimate_tokens(word) <= limit:
            yield word
        else:
            # A token has at least one character, so this many characters always fit.
            yield from (word[start : start + limit] for start in range(0, len(word), limit))
