"""Evidence recall: distinct gold passages retrieved over gold passages that the corpus holds."""

import pytest

from executionrag.metrics.evidence_recall import evidence_recall, found_by_hop


@pytest.mark.parametrize(
    ("gold", "retrieved", "recall"),
    [
        (["a", "b"], ["a", "x", "b"], 1.0),
        (["a", "b"], ["x", "b"], 0.5),
        (["a", "b", "c", "d"], ["d"], 0.25),
        (["a"], [], 0.0),
        (["a", "a", "b"], ["a", "a"], 0.5),  # each passage counts once
        ([], ["a"], None),
    ],
)
def test_recall_is_over_distinct_gold_passages(gold, retrieved, recall):
    assert evidence_recall(gold, retrieved) == recall
    assert evidence_recall(iter(gold), iter(retrieved)) == recall


def test_each_hop_says_whether_its_passage_was_found():
    assert found_by_hop(["a", "b", None, "a"], ["b", "x"]) == (False, True, None, False)
    assert found_by_hop([], ["b"]) == ()
