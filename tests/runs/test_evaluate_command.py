"""`executionrag evaluate`, as a person uses it, against a stand-in server that settles each question in two replies."""

import json
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from executionrag import Index, MiniHop
from executionrag.retrievers.corpus import passages_from_rows
from executionrag.runs.cli import main
from executionrag.runs.commands import run_options
from executionrag.runs.run_folder import RunFolder
from executionrag.signatures.answer_question import AnswerQuestion
from executionrag.signatures.initialize_register import InitializeRegister
from executionrag.signatures.judge_answer import JudgeAnswer

IDS = [question.id for question in MiniHop.dev]
# One reply for all: no requirement, so straight to the answer; and what a judge says.
FIELDS = {**InitializeRegister.output_fields, **AnswerQuestion.output_fields, **JudgeAnswer.output_fields}
SECTIONS = {name: "as read" if field.annotation is str else "[]" for name, field in FIELDS.items()}
SECTIONS |= {"abstained": "false", "answer": "Tarn", "verdict": "right"}
REPLY = "\n\n".join(f"[[ ## {name} ## ]]\n{value}" for name, value in SECTIONS.items())
# Its first search is of its own choosing, and here it makes none: no encoder is loaded.
SYSTEM = "executionrag-question-init"
CALLS = 2


@pytest.fixture(scope="session")
def minihop_place(tmp_path_factory):
    place = tmp_path_factory.mktemp("evaluated") / "index"
    Index.build(passages_from_rows(MiniHop.corpus), place)
    return place


@pytest.fixture(autouse=True)
def surroundings(command_line, lm_stub):
    lm_stub.reply = REPLY


@pytest.fixture
def line(minihop_place, lm_stub):
    def make(*options):
        known = ["--benchmark", "minihop", "--index", str(minihop_place), "--system", SYSTEM, "--out", "run"]
        return ["evaluate", *known, "--lm", "openai/local-model", "--api-base", lm_stub.root, *options]

    return make


@pytest.fixture
def run(line, capsys):
    def go(*options):
        code = main(line(*options))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return go


@pytest.fixture
def refused(run):
    """One line on stderr, nothing on stdout, and what must be in it."""

    def go(said, *options, code=1):
        found, out, err = run(*options)
        assert (found, out) == (code, "")
        assert err.startswith("error: ")
        assert err.count("\n") == 1
        assert said in err

    return go


def rows():
    return [json.loads(row) for row in Path("run/records.jsonl").read_text(encoding="utf-8").splitlines()]


def test_the_same_line_resumes_and_a_larger_limit_extends(run, lm_stub):
    code, out, err = run("--limit", "2")
    assert code == 0
    assert out.splitlines()[0].startswith("2 of 2 questions finished: contain 0/2, recall 0.00, cost unknown, 0 failed")
    assert out.splitlines()[-1] == "Next: executionrag report run"
    assert "0 of them done" in err
    assert len(lm_stub.completions) == 2 * CALLS

    code, _, err = run("--limit", "2")
    assert (code, len(lm_stub.completions)) == (0, 2 * CALLS)
    assert "2 of them done" in err

    assert run("--limit", "5")[0] == 0
    assert len(lm_stub.completions) == 5 * CALLS
    assert sorted(row["id"] for row in rows()[:2]) == sorted(IDS[:2])
    assert sorted(row["id"] for row in rows()) == sorted(IDS[:5])

    code, out, _ = run("--limit", "1")
    assert "5 of 5 questions finished" in out, "a smaller limit forgets nothing"
    assert len(lm_stub.completions) == 5 * CALLS


def test_questions_can_be_taken_by_hops(run):
    assert run("--per-hops", "1")[0] == 0
    assert sorted(row["hops"] for row in rows()) == [2, 3, 4]


def test_failed_rows_stay_and_are_counted_and_only_they_are_asked_again(run, lm_stub):
    run("--limit", "1")
    lm_stub.status = 403
    code, out, _ = run("--limit", "3")
    assert code == 1
    assert "3 of 3 questions finished: contain 0/3" in out
    assert "2 failed; the same line with --retry-failed asks them again" in out
    assert {row["failure"]["error"] for row in rows() if row["failure"]} <= {"LMAuthError", "LMInvalidRequestError"}
    assert {row["failure"]["step"] for row in rows() if row["failure"]} == {"initialize"}

    lm_stub.status, asked = 200, len(lm_stub.completions)
    assert run("--limit", "3")[0] == 1
    assert len(lm_stub.completions) == asked, "a failed row is a row"

    code, out, _ = run("--limit", "3", "--retry-failed")
    assert code == 0
    assert ", 0 failed" in out
    assert len(lm_stub.completions) == asked + 2 * CALLS
    assert len(rows()) == 5
    assert [record.failure for record in RunFolder.open("run").records()] == [None] * 3


class TestJudge:
    def test_answers_are_judged_by_the_lm_that_is_named(self, run, lm_stub):
        lm_stub.models += [{"id": "judge-model"}]
        judge = ("--judge-lm", "openai/judge-model", "--judge-api-base", lm_stub.root)
        code, out, _ = run("--limit", "2", *judge)
        assert code == 0
        assert "LLM-Acc 1.000 (2 right, n = 2), judge openai/judge-model@127.0.0.1" in out
        assert out.splitlines()[-1] == "Next: executionrag report run"
        assert [asked["model"] for asked in lm_stub.completions].count("judge-model") == 2
        assert len(RunFolder.open("run").verdicts()) == 2
        run("--limit", "3", *judge)
        assert [asked["model"] for asked in lm_stub.completions].count("judge-model") == 3

    def test_one_that_cannot_be_had_shows_before_anything_is_answered(self, refused, lm_stub):
        refused("cannot be reached", "--quiet", "--judge-lm", "openai/m", "--judge-api-base", "http://127.0.0.1:9/v1")
        assert lm_stub.completions == []

    def test_its_options_want_it_named(self, refused):
        said = "--judge-api-base is for a judge, and --judge-lm names none"
        refused(said, "--judge-api-base", "http://127.0.0.1:9/v1", code=2)


class TestBadInput:
    def test_no_question(self, refused):
        refused("argument --limit: '0' is no whole number of at least 1", "--limit", "0", code=2)

    def test_an_unknown_system(self, refused):
        refused("--system guess: there is none; there are a-rag, direct,", "--system", "guess", code=2)

    def test_an_unknown_benchmark(self, refused):
        refused("--benchmark trivia: ", "--benchmark", "trivia", code=2)

    def test_a_run_of_other_settings_says_which(self, run, refused):
        run("--limit", "1")
        refused(
            "run: holds a run of other settings (k 4, there 5; max_loops 3, there 15)", "--k", "4", "--max-loops", "3"
        )
        assert len(rows()) == 1

    def test_a_folder_that_is_no_run_is_left_alone(self, refused, tmp_path):
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "thesis.txt").write_text("years of work")
        refused("run: exists and is no run; it is left alone")
        assert [path.name for path in (tmp_path / "run").iterdir()] == ["thesis.txt"]

    def test_a_file_where_the_folder_should_be(self, refused, tmp_path):
        (tmp_path / "run").write_text("x")
        refused(f"run: {tmp_path / 'run'} is no folder that can be written to", "--quiet")

    def test_a_read_only_folder_shows_before_the_lm_is_asked(self, refused, monkeypatch, lm_stub, tmp_path):
        monkeypatch.setattr("os.access", lambda place, mode: str(place) != str(tmp_path))
        refused(f"{tmp_path} is no folder that can be written to; give another place")
        assert lm_stub.requests == []

    def test_an_index_without_the_gold(self, run, refused, small_index):
        said = "gold passages of minihop are not in it (the first: "
        refused(said, "--index", str(small_index.path))
        code, _, _ = run("--index", str(small_index.path), "--allow-missing-gold", "--limit", "1")
        assert code == 0
        assert all(gold["passage_id"] is None for gold in rows()[0]["gold"])

    def test_a_second_process(self, run, refused):
        run("--limit", "1")
        before = Path("run/run.json").read_text()
        with RunFolder.open("run").appending():
            refused("run: another process is writing to this run; wait for it", "--limit", "2")
        assert Path("run/run.json").read_text() == before


def test_no_key_is_in_any_file_of_the_run(run, lm_stub, monkeypatch, tmp_path):
    key = "sk-very-secret-and-quite-long-1234"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    lm_stub.error = {"error": {"message": f"key {key} of Bearer {key} may not", "type": "test"}}
    starts = run_options.start_lm

    def ready_then_refusing(args, console, **options):
        backend = starts(args, console, **options)
        lm_stub.status = 403
        return backend

    options = ("--api-key-env", "OPENAI_API_KEY")
    code, out, err = run("--limit", "1", *options)
    monkeypatch.setattr(run_options, "start_lm", ready_then_refusing)
    code, more, worse = run("--limit", "2", *options)
    assert code == 1
    assert any(headers.get("Authorization") == f"Bearer {key}" for _, headers, _ in lm_stub.requests)
    assert "may not" in rows()[1]["failure"]["message"]
    kept = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert len(kept) == 4
    for text in [*(path.read_text() for path in kept), out, err, more, worse]:
        assert "very-secret" not in text


class TestInterrupts:
    @pytest.fixture
    def start(self, line):
        processes = []

        def go(*options):
            heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a job in the background would ignore it
            starting = [sys.executable, "-m", "executionrag.runs.cli", *line(*options)]
            pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
            processes.append(subprocess.Popen(starting, **pipes, text=True, preexec_fn=heed))
            return processes[-1]

        yield go
        for process in processes:
            process.kill()

    @staticmethod
    def wait_for(lm_stub, completions):
        for _ in range(1200):
            if len(lm_stub.completions) >= completions:
                return
            time.sleep(0.05)
        raise AssertionError("the LM was never asked")

    def test_the_first_waits_for_what_is_in_flight_the_second_ends_at_once(self, start, line, lm_stub):
        lm_stub.hang = 0.5
        process = start("--threads", "2")
        self.wait_for(lm_stub, 5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 130
        assert "Traceback" not in err
        waiting = next(said for said in err.splitlines() if said.startswith("interrupted: "))
        assert waiting.startswith("interrupted: waiting for 2 questions in flight (2hop__mh_dev_0")
        assert waiting.endswith("; Ctrl-C again ends at once, with every finished question kept")
        assert out.splitlines()[-1] == "interrupted: the same line again resumes"
        finished = len(RunFolder.open("run").records())
        assert finished * CALLS == len(lm_stub.completions)  # nothing began, and nothing was lost
        assert 2 <= finished < len(IDS)

        lm_stub.hang, asked = 20.0, len(lm_stub.completions)
        process = start("--threads", "2")
        self.wait_for(lm_stub, asked + 2)
        process.send_signal(signal.SIGINT)
        assert any(said.startswith("interrupted: waiting for 2 questions") for said in process.stderr)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=15)
        assert time.monotonic() - began < 5
        assert (process.returncode, err) == (130, "interrupted\n")
        assert len(RunFolder.open("run").records()) == finished

        lm_stub.hang = 0.0
        assert main([*line(), "--quiet"]) == 0
        assert sorted(row["id"] for row in rows()) == sorted(IDS)
