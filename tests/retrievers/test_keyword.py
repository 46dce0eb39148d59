"""Keyword search returns what plain BM25 over all passages returns, and finds every token of its vocabulary."""

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import bm25s
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executionrag.retrievers import keyword, vocabulary
from executionrag.retrievers.ranking import rank
from executionrag.retrievers.tokens import tokens

WORDS = st.sampled_from(["the", "the", "whale", "orlin", "café", "東京", "c++", "x", "?"])
TEXT = st.lists(WORDS, max_size=8).map(" ".join)


def plain(texts, query, k):
    ids: dict[str, int] = {}
    rows = [[ids.setdefault(token, len(ids)) for token in tokens(text)] for text in texts]
    known = [ids[token] for token in dict.fromkeys(tokens(query)) if token in ids]
    if not known:
        return []
    index = bm25s.BM25(backend="numpy")
    index.index((rows, ids), show_progress=False)
    scores = index.get_scores_from_ids(known)
    hits = np.flatnonzero(scores > 0)
    return rank(hits, scores[hits], k)


@settings(deadline=None, max_examples=60)
@given(st.lists(TEXT, min_size=1, max_size=12), TEXT, st.integers(1, 15))
def test_results_are_those_of_plain_bm25(texts, query, k):
    with tempfile.TemporaryDirectory() as folder:
        keyword.build(texts, Path(folder))
        found = keyword.KeywordSearch(Path(folder), len(texts)).search(query + " unheard", k)
    assert found == plain(texts, query, k)


def test_many_threads_find_the_same(tmp_path):
    texts = [f"whale number {n} of {n % 7}" for n in range(300)]
    keyword.build(texts, tmp_path)
    index = keyword.KeywordSearch(tmp_path, len(texts))
    queries = [f"whale {n}" for n in range(100)]
    alone = [index.search(query, 5) for query in queries]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda query: index.search(query, 5), queries)) == alone


def test_a_vocabulary_tells_tokens_of_one_hash_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(vocabulary, "crc32", lambda encoded: len(encoded))
    vocabulary.write({"whale": 0, "orlin": 1, "x": 2}, tmp_path)
    known = vocabulary.Vocabulary(tmp_path)
    assert [known.get(token) for token in ("whale", "orlin", "x", "other", "y", "longer")] == [
        0,
        1,
        2,
        None,
        None,
        None,
    ]


def test_a_vocabulary_of_other_length_than_its_postings_is_refused(tmp_path):
    keyword.build(["whale orlin"], tmp_path)
    vocabulary.write({"whale": 0}, tmp_path / keyword.FOLDER)
    with pytest.raises(ValueError, match="do not belong together"):
        keyword.KeywordSearch(tmp_path, 1)
