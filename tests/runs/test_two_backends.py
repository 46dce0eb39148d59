"""The same questions through two servers, the embedded LM and a loopback stand-in: only settings change."""

import json
from pathlib import Path

import pytest

from executionrag import Index, MiniHop
from executionrag.retrievers.corpus import passages_from_rows
from executionrag.runs.cli import main
from executionrag.signatures.answer_question import AnswerQuestion
from executionrag.signatures.initialize_register import InitializeRegister

pytestmark = pytest.mark.slow

QUESTIONS = [question.id for question in MiniHop.dev][:3]
FIELDS = {**InitializeRegister.output_fields, **AnswerQuestion.output_fields}
SECTIONS = {name: "as read" if field.annotation is str else "[]" for name, field in FIELDS.items()}
SECTIONS |= {"abstained": "false", "answer": "Tarn"}
REPLY = "\n\n".join(f"[[ ## {name} ## ]]\n{value}" for name, value in SECTIONS.items())


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("backends") / "index"
    Index.build(passages_from_rows(MiniHop.corpus), place)
    return place


@pytest.fixture
def evaluate(place, command_line, capsys):
    """Answer the three questions; the options name the LM and nothing else."""

    def evaluate(out, *lm):
        line = ["evaluate", "--benchmark", "minihop", "--index", str(place), "--limit", "3", "--max-loops", "1"]
        assert main([*line, "--no-cache", "--out", out, *lm]) == 0, capsys.readouterr().err
        rows = [json.loads(row) for row in Path(out, "records.jsonl").read_text(encoding="utf-8").splitlines()]
        return {row["id"]: row for row in rows}, json.loads(Path(out, "run.json").read_text(encoding="utf-8"))

    return evaluate


def test_three_questions_go_through_two_servers_by_settings_alone(evaluate, lm_stub):
    lm_stub.reply = REPLY
    stubbed, header = evaluate("stub", "--lm", "openai/local-model", "--api-base", lm_stub.root)
    embedded, other = evaluate("embedded", "--lm", "local")
    assert sorted(stubbed) == sorted(embedded) == sorted(QUESTIONS)
    assert {row["answer"] for row in stubbed.values()} == {"Tarn"}
    steps = [body for body in lm_stub.completions if "[[ ##" in json.dumps(body["messages"])]
    assert len(steps) == 2 * len(QUESTIONS), "the stand-in settles each question in two steps"
    for row in embedded.values():
        assert row["failure"] is None
        assert row["requirements"], "the embedded LM plans, where the stand-in settles at once"
        assert row["usage"]["completion_tokens"] > 0
    differing = {name for name in header["settings"] if header["settings"][name] != other["settings"][name]}
    assert differing == {"lm", "context_window"}
    assert other["settings"]["lm"].startswith("embedded/")
    # What is searched first is the question itself: the same passages, whatever answers.
    for key in QUESTIONS:
        seeds = [
            [found["passage_id"] for step in rows[key]["trajectory"][:1] for found in step["found"]]
            for rows in (stubbed, embedded)
        ]
        assert seeds[0] == seeds[1]
