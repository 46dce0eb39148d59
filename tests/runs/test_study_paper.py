"""The paper's figures stand where they belong, and nowhere else."""

import pytest

from executionrag.runs.study import paper


@pytest.mark.parametrize(
    ("kind", "encoder", "system", "text"),
    [
        ("musique", paper.MINILM, "executionrag", "50.2 %"),
        ("musique", paper.MINILM, "executionrag-static", "48.3 %"),
        ("2wiki", paper.QWEN3, "a-rag", "55.2 %"),
    ],
)
def test_llm_acc_by_benchmark_encoder_and_system(kind, encoder, system, text):
    assert paper.llm_acc(kind, encoder, system).text == text


def test_what_the_paper_does_not_give_is_none():
    assert paper.llm_acc("minihop", paper.MINILM, "executionrag") is None
    assert paper.llm_acc("musique", paper.MINILM, "a-rag") is None
    assert paper.failures("hotpotqa", paper.MINILM, "a-rag", "Missing Evidence") is None
    assert paper.missing_by_hops("musique", paper.MINILM, "a-rag", 3) is None


def test_qwen3_counts_agree_with_the_accuracy_of_the_same_runs():
    """Missing Evidence as a count over its share is the number of errors, and so is 1,000 less those right."""
    for system in ("executionrag", "a-rag"):
        count, share = paper.failures("musique", paper.QWEN3, system, "Missing Evidence").text.split(", ")
        errors = int(count) / (float(share.split()[0]) / 100)
        right = float(paper.llm_acc("musique", paper.QWEN3, system).text.split()[0]) * 10
        assert errors == pytest.approx(1000 - right, abs=1)
