"""The page about MiniHop's dev questions says what the records say."""

import json

from executionrag import MiniHop
from executionrag.runs.minihop_pass import page, read_records


def record(question, **changes):
    base = {
        "id": question.id,
        "type": question.type,
        "hops": question.hops,
        "lm": "embedded/test",
        "max_loops": 6,
        "question": question.question,
        "gold": list(question.answers),
        "answer": question.answer,
        "abstained": False,
        "right": True,
        "recall": 1.0,
        "seed_recall": 0.5,
        "found": [True] * question.hops,
        "stop_reason": "resolved",
        "step_errors": [],
        "calls": 4,
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "loops": 2,
        "seconds": 3.0,
    }
    return base | changes


def test_a_torn_last_line_is_no_record_and_the_order_is_the_benchmarks(tmp_path):
    first, second = MiniHop.dev[:2]
    file = tmp_path / "records.jsonl"
    file.write_text(f"{json.dumps(record(second))}\n{json.dumps(record(first))}\n" + '{"id": "torn')
    assert [read["id"] for read in read_records(file)] == [first.id, second.id]


def test_every_figure_comes_from_the_records():
    two = [question for question in MiniHop.dev if question.hops == 2][:2]
    wrong = record(
        two[1],
        right=False,
        answer="a | b",
        recall=0.5,
        found=[True, False],
        stop_reason="budget_loops",
        step_errors=["update: AdapterParseError"],
        loops=6,
        seconds=5.0,
    )
    text = page([record(two[0]), wrong], "the command")
    assert "`the command`" in text
    assert "| 2 hops | 2 | 1 | 0.75 | 0.50 | 4.0 | 4.0 | 4 |" in text
    assert "Stop reasons: budget_loops 1, resolved 1. Abstained: 0." in text
    assert "of 8 LM calls: update: AdapterParseError 1." in text
    assert f"| {two[1].id} | {two[1].question} | {two[1].answer} | a \\| b | wrong | 1/2 | budget_loops |" in text
