"""`executionrag judge`, as a person uses it, against a stand-in server."""

import json
import signal
import subprocess
import sys
import time
from functools import partial

import pytest

from executionrag.metrics.record import QuestionRecord
from executionrag.runs.cli import main
from executionrag.runs.run_folder import RunFolder


def reply(verdict):
    return f"[[ ## reasoning ## ]]\nCompared.\n\n[[ ## verdict ## ]]\n{verdict}\n\n[[ ## completed ## ]]"


@pytest.fixture(autouse=True)
def surroundings(command_line):
    """An empty working folder and cache, and no keys."""
    command_line.setenv("COLUMNS", "110")


@pytest.fixture
def make_run(tmp_path):
    def make(lm="openai/local-model", answers=("Ana Kell", "Joren Pask")):
        ids = [f"q{number}" for number in range(len(answers))]
        folder = RunFolder.create(tmp_path / "run", {"lm": lm}, "digest", ids)
        with folder.appending():
            for id, answer in zip(ids, answers, strict=True):
                known = {"benchmark": "minihop", "type": "bridge", "hops": 2, "gold": ()}
                one = QuestionRecord(id=id, question=f"Who, {id}?", answers=("Ana Kell",), answer=answer, **known)
                folder.append(one, {})
        return folder

    return make


@pytest.fixture
def judge(capsys):
    def run(*options):
        code = main(["judge", "run", *options])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_it_prints_llm_acc_with_its_n_and_what_it_cost(make_run, judge, lm_stub):
    lm_stub.reply = reply("right")
    folder = make_run()
    code, out, err = judge("--judge-lm", "openai/local-model", "--judge-api-base", lm_stub.root, "--threads", "1")
    assert (code, len(lm_stub.completions)) == (0, 2)
    assert out.splitlines() == [
        "LLM-Acc 1.000 (2 right, n = 2), judge openai/local-model@127.0.0.1",
        "Judged now 2, kept from before 0; judging now cost unknown, 6 prompt and 2 completion tokens",
    ]
    assert "judges its own answers" in err
    assert {found.judge for found in folder.verdicts().values()} == {"openai/local-model@127.0.0.1"}


def test_the_default_judge_is_the_answering_lm_with_a_warning(make_run, judge, lm_stub):
    lm_stub.reply = reply("right")
    make_run()
    code, out, err = judge("--judge-api-base", lm_stub.root)
    assert code == 0
    assert "warning: openai/local-model judges its own answers; name another judge with --judge-lm" in err
    assert "LLM-Acc 1.000" in out


def test_another_lm_judges_without_a_warning(make_run, judge, lm_stub):
    lm_stub.reply = reply("wrong")
    lm_stub.models = [{"id": "other-model"}]
    make_run()
    code, out, err = judge("--judge-lm", "openai/other-model", "--judge-api-base", lm_stub.root)
    assert (code, err) == (0, "")
    assert "LLM-Acc 0.000 (0 right, n = 2), judge openai/other-model@127.0.0.1" in out


def test_the_same_line_again_asks_nothing(make_run, judge, lm_stub):
    lm_stub.reply = reply("right")
    make_run()
    options = ("--judge-lm", "openai/local-model", "--judge-api-base", lm_stub.root)
    judge(*options)
    code, out, _ = judge(*options)
    assert (code, len(lm_stub.completions)) == (0, 2)
    assert "LLM-Acc 1.000" in out
    assert "Judged now 0, kept from before 2; judging now cost $0.0000, 0 prompt" in out


def test_again_asks_anew_past_every_cache(make_run, judge, lm_stub):
    lm_stub.reply = reply("right")
    make_run()
    options = ("--judge-lm", "openai/local-model", "--judge-api-base", lm_stub.root)
    judge(*options)
    lm_stub.reply = reply("wrong")
    code, out, _ = judge(*options, "--again")
    assert (code, len(lm_stub.completions)) == (0, 4)
    assert "LLM-Acc 0.000 (0 right, n = 2)" in out


def test_what_could_not_be_judged_is_said_with_both_bounds(make_run, judge, lm_stub):
    lm_stub.reply = "It looks fine."
    make_run(answers=("Ana Kell", ""))
    code, out, _ = judge("--judge-lm", "openai/local-model", "--judge-api-base", lm_stub.root)
    assert code == 0
    assert "LLM-Acc 0.000 (0 right, n = 1)" in out
    assert "1 answer could not be judged and stand" in out
    assert "0.000 if all were wrong, 0.500 if all were right (n = 2)" in out
    assert "First of them, q0: AdapterParseError: the judge's replies could not be read" in out


def test_a_judge_that_can_say_nothing_exits_with_1(make_run, judge, lm_stub):
    lm_stub.reply = "It looks fine."
    make_run()
    code, out, _ = judge("--judge-lm", "openai/local-model", "--judge-api-base", lm_stub.root)
    assert code == 1
    assert "LLM-Acc: none, for none of 2 answers could be judged" in out


def test_without_an_address_the_error_says_whose_lm_it_was(make_run, judge):
    make_run()
    code, out, err = judge()
    assert (code, out) == (1, "")
    assert err == (
        "error: --judge-lm openai/local-model has no API key: set OPENAI_API_KEY (the judge is the LM that answered, "
        "for --judge-lm names none)\n"
    )


class TestBadInput:
    def test_no_run(self, judge):
        code, out, err = judge()
        assert (code, out) == (1, "")
        assert "run: no run there" in err
        assert err.count("\n") == 1

    def test_a_run_without_answers(self, make_run, judge):
        make_run(answers=())
        assert judge()[2] == "error: run: no question is answered yet; evaluate goes on with it\n"

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (("--judge-lm", "some-model"), "--judge-lm some-model lacks its provider"),
            (
                ("--judge-lm", "openai/m", "--judge-api-key-env", "NO_SUCH"),
                "--judge-api-key-env NO_SUCH: that environment",
            ),
            (("--judge-lm", "openai/m", "--judge-api-key", "sk-x"), "name a variable with --judge-api-key-env"),
            (("--judge-lm", "openai/m"), "--judge-lm openai/m has no API key: set OPENAI_API_KEY"),
            (
                ("--judge-lm", "local", "--judge-api-base", "http://x"),
                "--judge-lm local runs in this process and takes no",
            ),
            (("--threads", "0"), "'0' is no whole number of at least 1"),
        ],
    )
    def test_what_is_wrong_is_said_in_the_options_of_the_judge(self, options, said, make_run, judge):
        make_run()
        code, out, err = judge(*options)
        assert (code in (1, 2), out) == (True, "")
        assert said in err.splitlines()[-1]
        assert err.count("error:") == 1

    def test_a_server_that_is_not_there(self, make_run, judge):
        make_run()
        code, _, err = judge("--judge-lm", "openai/m", "--judge-api-base", "http://127.0.0.1:9/v1")
        assert code == 1
        assert "cannot be reached" in err

    def test_nothing_is_written_before_the_judge_answers(self, make_run, judge):
        folder = make_run()
        judge("--judge-lm", "openai/m", "--judge-api-base", "http://127.0.0.1:9/v1")
        assert not (folder.path / "verdicts.jsonl").exists()


def test_no_key_is_written(make_run, judge, lm_stub, monkeypatch):
    monkeypatch.setenv("JUDGE_KEY", "sk-very-secret-judge-key")
    lm_stub.reply = reply("right")
    lm_stub.key = "sk-very-secret-judge-key"
    folder = make_run()
    options = ("--judge-lm", "openai/local-model", "--judge-api-base", lm_stub.root, "--judge-api-key-env", "JUDGE_KEY")
    assert judge(*options)[0] == 0
    assert all("very-secret" not in file.read_text() for file in folder.path.iterdir())
    assert json.loads((folder.path / "verdicts.jsonl").read_text().splitlines()[0])["verdict"] == "right"


def test_a_reply_from_the_cache_costs_nothing_and_says_so(make_run, judge, lm_stub):
    lm_stub.reply = reply("right")
    folder = make_run()
    options = ("--judge-lm", "openai/local-model", "--judge-api-base", lm_stub.root)
    judge(*options)
    (folder.path / "verdicts.jsonl").unlink()
    assert "Judged now 2, kept from before 0; judging now cost $0.0000, 0 prompt" in judge(*options)[1]
    assert len(lm_stub.completions) == 2
    assert all(found.cached for found in folder.verdicts().values())


def test_ctrl_c_in_a_real_process_keeps_what_was_said(make_run, judge, lm_stub):
    lm_stub.reply, lm_stub.hang = reply("right"), 0.3
    folder = make_run(answers=[f"Answer {number}" for number in range(8)])
    options = ("--judge-lm", "openai/local-model", "--judge-api-base", lm_stub.root, "--threads", "1")
    command = [sys.executable, "-m", "executionrag.runs.cli", "judge", "run", *options]
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a job in the background would ignore it
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed)
    for _ in range(600):
        if len(lm_stub.completions) >= 3:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err.splitlines()[-1]) == (130, "", "interrupted")
    assert "Traceback" not in err
    asked = len(lm_stub.completions)
    assert len(folder.verdicts()) == asked < 8  # the one in flight was waited for
    assert judge(*options)[0] == 0
    assert (len(folder.verdicts()), len(lm_stub.completions)) == (8, 8)
