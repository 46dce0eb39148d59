import gc

import numpy as np
import pytest

from executionrag.retrievers import dense
from executionrag.retrievers.ranking import rank


def unit(vectors):
    vectors = np.asarray(vectors, dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture
def random_vectors():
    return unit(np.random.default_rng(5).normal(size=(600, 24)))


def test_scores_that_round_alike_are_ordered_by_row():
    rows = np.array([4, 1, 9, 2])
    assert rank(rows, np.array([0.5000001, 0.5000002, 0.9, 0.49]), 3) == [(9, 0.9), (1, 0.5), (4, 0.5)]


def test_all_ties_at_the_edge_are_looked_at_before_the_lowest_rows_are_taken(tmp_path):
    dense.build(unit([[1, 0]] * 300), tmp_path)
    found = dense.DenseSearch(tmp_path).search(np.array([1, 0], dtype=np.float32), 3)
    assert found == [(0, 1.0), (1, 1.0), (2, 1.0)]


@pytest.mark.parametrize("limit", [10, 10_000])
def test_more_than_there_are_gives_all_and_none_gives_none(tmp_path, monkeypatch, random_vectors, limit):
    monkeypatch.setattr(dense, "FLAT_LIMIT", limit)
    dense.build(random_vectors[:20], tmp_path)
    search = dense.DenseSearch(tmp_path)
    rows = [row for row, _ in search.search(random_vectors[3], 1000)]
    assert rows[0] == 3
    assert sorted(rows) == list(range(20))
    assert search.search(random_vectors[3], 0) == []


@pytest.mark.parametrize("limit", [10, 10_000])
def test_a_query_that_is_not_finite_never_gives_a_row_that_is_none(tmp_path, monkeypatch, random_vectors, limit):
    monkeypatch.setattr(dense, "FLAT_LIMIT", limit)
    dense.build(random_vectors[:20], tmp_path)
    found = dense.DenseSearch(tmp_path).search(np.full(24, np.nan, dtype=np.float32), 3)
    assert all(0 <= row < 20 for row, _ in found)


def test_the_graph_finds_what_exact_search_finds(tmp_path, monkeypatch, random_vectors):
    (tmp_path / "flat").mkdir()
    (tmp_path / "graph").mkdir()
    dense.build(random_vectors, tmp_path / "flat")
    monkeypatch.setattr(dense, "FLAT_LIMIT", 100)
    dense.build(random_vectors, tmp_path / "graph")
    assert (tmp_path / "graph" / dense.GRAPH).exists()
    assert not (tmp_path / "graph" / dense.VECTORS).exists()
    flat, graph = dense.DenseSearch(tmp_path / "flat"), dense.DenseSearch(tmp_path / "graph")
    queries = unit(np.random.default_rng(6).normal(size=(40, 24)))
    shared = [
        len({row for row, _ in flat.search(query, 5)} & {row for row, _ in graph.search(query, 5)}) for query in queries
    ]
    assert sum(shared) >= 0.98 * 5 * len(queries)


def test_the_graph_is_the_same_each_time_it_is_built(tmp_path, monkeypatch, random_vectors):
    monkeypatch.setattr(dense, "FLAT_LIMIT", 100)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        dense.build(random_vectors, tmp_path / name)
    assert (tmp_path / "one" / dense.GRAPH).read_bytes() == (tmp_path / "two" / dense.GRAPH).read_bytes()


@pytest.mark.parametrize("limit", [10, 10_000])
def test_the_vectors_come_back_as_they_were_given_and_outlive_the_search(tmp_path, monkeypatch, random_vectors, limit):
    monkeypatch.setattr(dense, "FLAT_LIMIT", limit)
    dense.build(random_vectors, tmp_path)
    stored = dense.DenseSearch(tmp_path).stored_vectors()
    gc.collect()
    assert np.array_equal(stored, random_vectors)
    assert not stored.flags.writeable


def test_grouped_search_covers_as_many_groups_as_asked(tmp_path):
    vectors = unit([[1, 0.001 * number] for number in range(200)])
    dense.build(vectors, tmp_path)
    owners = np.arange(200) // 100
    found = dense.DenseSearch(tmp_path).search(vectors[0], 2, group=lambda rows: owners[rows])
    assert {int(owners[row]) for row, _ in found} == {0, 1}
    assert int(owners[found[-1][0]]) == 1
