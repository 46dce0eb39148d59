"""Keyword search against a linear scan that counts the query's words in every passage.

The scan is written as agent tools that search without an index do it: the lower-cased texts lie in memory, each passage
scores the sum of `text.count(word)` over the words of the query, and the passages are sorted by it. Plain Python, no
index, no stemming. Both answer the same real questions, in turns, a few queries at a time: once their names and numbers
alone, as an agent sends them, once the whole question. Up to about 15,000 passages they are real ones, beyond made up
from real sentences. A time is one query's, the median over the queries with its quartiles; the index is warm on disk.
"""

import re
from collections.abc import Callable, Sequence
from time import perf_counter

from ...retrievers import keyword
from . import corpora
from .measured import Measured
from .setting import Setting
from .timing import seconds, timed, times_faster

K = 5
#: How many times faster than the scan, by number of passages.
FLOORS = {12_000: 60.0, 100_000: 200.0}
BOUND_MS = {1_000_000: 25.0}

_QUERIES = 200
_TURN = 10
#: How many of the queries the scan answers: it takes seconds for each among a million passages.
_SCANNED = {6_000: 100, 12_000: 100, 100_000: 30, 1_000_000: 10}

_WORD = re.compile(r"\w+(?:['’.-]\w+)*")


def measure(setting: Setting) -> list[Measured]:
    """Search each size of corpus both ways.

    Args:
        setting: Where and how far.
    """
    questions = corpora.real_questions(setting)
    questions = questions[:: max(1, len(questions) // _QUERIES)][:_QUERIES]
    wordings = {"names": [names(question) for question in questions], "whole question": questions}
    return [row for count in setting.sizes for row in _at(setting, count, wordings)]


def names(question: str) -> str:
    """The words of a question that begin with a capital letter or a digit, but the first; all words where none does."""
    words = _WORD.findall(question)
    return " ".join([word for word in words[1:] if word[0].isupper() or word[0].isdigit()] or words)


def scan(texts: Sequence[str], query: str, k: int) -> list[tuple[int, int]]:
    """The `k` best of lower-cased texts as (row, count), by how often the words of a query occur in them."""
    words = [word.lower() for word in _WORD.findall(query)]
    counts = [(row, sum(text.count(word) for word in words)) for row, text in enumerate(texts)]
    hits = [hit for hit in counts if hit[1]]
    return sorted(hits, key=lambda hit: -hit[1])[:k]


def _at(setting: Setting, count: int, wordings: dict[str, list[str]]) -> list[Measured]:
    texts = [passage.embedding_text for passage in corpora.passages(setting, count)]
    folder = corpora.keyword_index(setting, count)
    for row, text in enumerate(texts):
        texts[row] = text.lower()
    size = sum(file.stat().st_size for file in (folder / keyword.FOLDER).iterdir())
    keyword.KeywordSearch(folder, count)  # imports what it needs
    opening = [seconds(lambda: keyword.KeywordSearch(folder, count)) for _ in range(setting.rounds)]
    index = keyword.KeywordSearch(folder, count)
    rows = [
        Measured(f"{count:,} passages: bytes on disk a passage", size / count, "B"),
        timed(f"{count:,} passages: opening", opening),
    ]
    for wording, queries in wordings.items():
        where = f"{count:,} passages, {wording}"
        for query in queries:
            index.search(query, K)  # warms up
        ours: list[float] = []
        scanned: list[float] = []
        for start in range(0, len(queries), _TURN):
            turn = queries[start : start + _TURN]
            ours += _each(lambda query: index.search(query, K), turn)
            if start < _SCANNED.get(count, 10):
                scanned += _each(lambda query: scan(texts, query, K), turn)
        paired = ours[: len(scanned)]
        many = f"{len(ours)} queries"
        few = f"{len(scanned)} queries"
        rows += [
            timed(f"{where}: search", ours, bound=BOUND_MS.get(count), note=many),
            timed(f"{where}: linear scan", scanned, note=few),
            times_faster(f"{where}: times faster than the scan", paired, scanned, floor=FLOORS.get(count), note=few),
        ]
    return rows


def _each(search: Callable[[str], object], queries: Sequence[str]) -> list[float]:
    """The seconds of each query."""
    times = []
    for query in queries:
        began = perf_counter()
        search(query)
        times.append(perf_counter() - began)
    return times
