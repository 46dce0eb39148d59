"""A-RAG's `predictions.jsonl`: rows as its runner writes them, and what is read out of their words."""

import json

import pytest

from executionrag import Index
from executionrag.retrievers.corpus import passages_from_rows
from executionrag.runs.cli import main
from executionrag.runs.scored_run import ScoredRun

QUESTION = "Who is the mother of the composer of The Salt Choir?"
CHUNKS = ["0:Ana Kell was a composer.", "1:Bettina Moore was a glassblower.", "2:The Quiet Mill is an opera."]


def chunk(loop, tool, arguments, result, **log):
    return {
        "loop": loop,
        "tool_name": tool,
        "arguments": arguments,
        "tool_result": result,
        "retrieved_tokens": 9,
        **log,
    }


TRACE = [
    chunk(
        1, "keyword_search", {"keywords": ["Ana", "Kell"]}, "Chunk ID: 0, Matched keywords in chunk: ... Ana Kell ..."
    ),
    chunk(
        1,
        "semantic_search",
        {"query": "glass", "top_k": 5},
        "Chunk ID: 1 (Similarity: 0.713)\nMatched: ... of glass ...\n\nChunk ID: 0 (Similarity: 0.5)\nMatched: ... see "
        "Chunk ID: 2, there ...",
        chunks_found=2,
    ),
    chunk(2, "keyword_search", {"keywords": ["zz"]}, "No results found for keywords: ['zz']", chunks_found=0),
    chunk(
        2,
        "read_chunk",
        {"chunk_ids": ["1", "7", "0"]},
        "\n====\n[Chunk 1]\n----\nBettina Moore was a glassblower.\n====\n\n[Chunk 7] - Not found\n\n====\n[Chunk 0]\n"
        "(This chunk has been read before)\n====",
    ),
    chunk(3, "read_chunk", {}, "Error executing tool: nothing to read", error="nothing to read"),
]
ARAG = {
    "qid": "q1",
    "question": QUESTION,
    "trajectory": TRACE,
    "gold_answer": "Bettina Moore",
    "pred_answer": "Her mother is Bettina Moore.",
    "total_cost": 0.0125,
    "loops": 4,
    "total_retrieved_tokens": 45,
    "retrieval_logs": [{"tool_name": "semantic_search", "tokens": 9, "metadata": {"query": "glass"}}],
    "chunks_read_count": 2,
    "chunks_read_ids": ["0", "1"],
}


@pytest.fixture(scope="module")
def chunk_index(tmp_path_factory):
    rows = [(key, "", text) for key, _, text in (one.partition(":") for one in CHUNKS)]
    return Index.build(passages_from_rows(rows), tmp_path_factory.mktemp("chunks") / "idx").path


@pytest.fixture
def bring(tmp_path, chunk_index, capsys):
    """`bring(row, index)` -> (exit code, stderr) of importing one row of A-RAG's file; its chunks are no gold."""
    asked = {"_id": "q1", "question": QUESTION, "answer": "Bettina Moore", "type": "b", "supporting_titles": ["Lost"]}
    (tmp_path / "q.jsonl").write_text(json.dumps(asked) + "\n")

    def call(row, index=chunk_index):
        (tmp_path / "preds.jsonl").write_text(json.dumps(row) + "\n")
        line = ["import-predictions", str(tmp_path / "preds.jsonl"), "--layout", "arag", "--allow-missing-gold"]
        line += ["--benchmark", f"2wiki:{tmp_path / 'q.jsonl'}", "--index", str(index)]
        return main([*line, "--out", str(tmp_path / "run")]), capsys.readouterr().err

    return call


@pytest.fixture
def arag(bring, tmp_path):
    """`arag(...)` -> record and score of the row with these changes."""

    def call(**changes):
        code, err = bring(ARAG | changes)
        assert code == 0, err
        run = ScoredRun.open(tmp_path / "run")
        return run.records[0], run.scores[0]

    return call


def test_arags_trace_is_read_as_its_runner_writes_it(arag):
    record, score = arag()
    assert [(step.loop, step.tool, step.query) for step in record.searches] == [
        (1, "keyword_search", "Ana, Kell"),
        (1, "semantic_search", "glass"),
        (2, "keyword_search", "zz"),
        (2, "read_passages", "1, 7, 0"),
        (3, "read_passages", ""),
    ]
    found = [[one.passage_id for one in step.found] for step in record.searches]
    assert found == [["0"], ["1", "0"], [], ["1", "0"], []]
    assert {one.passage_id: one.full for one in record.retrieved} == {"0": True, "1": True}
    assert record.searches[4].note == "nothing to read"
    assert (record.usage.cost, record.usage.loops, record.usage.retrieved_tokens_arag) == (0.0125, 4, 45)
    assert (record.system, record.stop_reason, score.right) == ("a-rag-published", "answered", True)


def test_an_answer_after_a_last_turn_with_tools_was_forced(arag):
    assert arag(loops=3)[0].stop_reason == "budget_loops"


def test_what_a_fork_says_of_the_end_stands(arag):
    assert arag(token_budget_exceeded=True)[0].stop_reason == "budget_tokens"


def test_without_a_trajectory_the_logs_stand_in_and_reads_count(arag):
    logs = [
        {"tool_name": "semantic_search", "tokens": 9, "metadata": {"query": "glass", "chunk_ids": ["1"]}},
        {"tool_name": "read_chunk", "tokens": 9, "metadata": {"chunk_ids_requested": ["1"], "new_chunks_read": ["1"]}},
    ]
    record, _ = arag(trajectory=[], retrieval_logs=logs, chunks_read_ids=["1", "2"])
    assert record.retrieved_ids == ("1", "2")
    assert [(step.tool, step.query) for step in record.searches[:2]] == [
        ("semantic_search", "glass"),
        ("read_passages", "1"),
    ]


def test_a_row_that_its_runner_gave_up_on_is_failed_and_its_cost_unknown(arag):
    record, score = arag(pred_answer="Error: 'choices'", error="'choices'", trajectory=[], total_cost=0, loops=0)
    assert record.failure.message == "'choices'"
    assert (record.usage.cost, score.category) == (None, "Not scored")


def test_a_last_call_that_failed_is_an_error_in_disguise(arag):
    record, _ = arag(pred_answer="Error: Maximum loops exceeded and failed to generate final answer.")
    assert record.failure.error == "DisguisedError"
    assert record.retrieved_ids == ("0", "1")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"trajectory": [{"tool_name": "x"}]}, "field `trajectory.0.loop`"),
        ({"loops": "many"}, "field `loops`"),
        ({"chunks_read_ids": "0"}, "field `chunks_read_ids`"),
    ],
)
def test_a_bad_field_of_arags_is_named(bring, changes, said):
    code, err = bring(ARAG | changes)
    assert code == 1
    assert f"preds.jsonl:1: {said}" in err
    assert "A-RAG's predictions.jsonl" in err


def test_arags_ids_in_another_index_are_refused(bring, small_index):
    code, err = bring(ARAG, small_index.path)
    assert code == 1
    assert "none of the 2 retrieved passage ids" in err
