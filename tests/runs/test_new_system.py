"""Every system goes through `evaluate` as it is, and so does one that is added: a class, and a line in the table."""

import json
from pathlib import Path

import pytest

from executionrag import Index, MiniHop
from executionrag.program.baseline import Baseline
from executionrag.program.systems import SYSTEMS
from executionrag.retrievers.corpus import passages_from_rows
from executionrag.runs.cli import main
from executionrag.runs.run_folder import RunFolder
from executionrag.signatures.answer_question import AnswerQuestion
from executionrag.signatures.choose_action import ChooseAction
from executionrag.signatures.initialize_register import InitializeRegister
from executionrag.signatures.next_thought import NextThought
from executionrag.signatures.write_query import WriteQuery

# One reply to whatever is asked: no requirement, no tool call, a thought that is the last.
FIELDS = [one.output_fields for one in (InitializeRegister, WriteQuery, ChooseAction, NextThought, AnswerQuestion)]
SECTIONS = {name: "as read" if field.annotation is str else "[]" for fields in FIELDS for name, field in fields.items()}
SECTIONS |= {"abstained": "false", "finished": "true", "tool": "keyword_search", "answer": "Tarn"}
REPLY = "\n\n".join(f"[[ ## {name} ## ]]\n{value}" for name, value in SECTIONS.items())


class KeywordRAG(Baseline):
    """One keyword search, then the answer."""

    def gather(self, state, question, transcript):
        result = yield from state.search("keyword_search", state.question, None)
        transcript.observe(result)
        return "answered"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("systems") / "index"
    Index.build(passages_from_rows(MiniHop.corpus), place)
    return place


@pytest.fixture
def evaluate(place, lm_stub, command_line, capsys):
    lm_stub.reply = REPLY

    def evaluate(system):
        line = ["evaluate", "--benchmark", "minihop", "--index", str(place), "--system", system, "--limit", "2"]
        code = main([*line, "--out", "run", "--lm", "openai/local-model", "--api-base", lm_stub.root])
        assert code == 0, capsys.readouterr().err
        return [json.loads(row) for row in Path("run/records.jsonl").read_text(encoding="utf-8").splitlines()]

    return evaluate


def test_a_new_system_of_a_few_lines_takes_part_without_change_elsewhere(evaluate, monkeypatch, capsys):
    monkeypatch.setitem(SYSTEMS, "keyword-rag", KeywordRAG)
    rows = evaluate("keyword-rag")
    assert [row["system"] for row in rows] == ["keyword-rag"] * 2
    assert {(row["stop_reason"], row["answer"], row["failure"]) for row in rows} == {("answered", "Tarn", None)}
    assert {found["tool"] for row in rows for found in row["retrieved"]} == {"keyword_search"}
    assert RunFolder.open(Path("run")).settings["system"] == "keyword-rag"
    for command in ("report", "failures"):
        assert main([command, "run"]) == 0
    assert "2" in capsys.readouterr().out


@pytest.mark.parametrize("system", sorted(SYSTEMS))
def test_each_system_of_the_table_writes_rows_that_report_and_failures_read(evaluate, system):
    rows = evaluate(system)
    assert [row["failure"] for row in rows] == [None, None]
    expected = "no_requirements" if system.startswith("executionrag") else "answered"
    assert {row["stop_reason"] for row in rows} == {expected}
    assert [main([command, "run"]) for command in ("report", "failures")] == [0, 0]


def test_an_overflow_without_an_answer_is_a_failed_row(evaluate, place, lm_stub):
    lm_stub.status = 400
    lm_stub.error = {"error": {"message": "maximum context length is 4096 tokens", "type": "invalid_request_error"}}
    line = ["evaluate", "--benchmark", "minihop", "--index", str(place), "--system", "a-rag", "--limit", "1"]
    assert main([*line, "--out", "run", "--lm", "openai/local-model", "--api-base", lm_stub.root]) == 1
    row = json.loads(Path("run/records.jsonl").read_text(encoding="utf-8"))
    assert (row["stop_reason"], row["failure"]["step"]) == ("context_overflow", "force_answer")
