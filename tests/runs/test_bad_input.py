"""Bad input at the command line: one clear line with the remedy, the right exit code, nothing half-written."""

import dataclasses
import json
import resource
import shutil
import subprocess
import sys

import pytest

from executionrag.retrievers.manifest import MANIFEST, read_manifest
from executionrag.runs.cli import main

CLI = [sys.executable, "-m", "executionrag.runs.cli"]


@pytest.fixture(autouse=True)
def surroundings(command_line):
    """An empty working folder and cache, and no keys."""


@pytest.fixture
def fails(capsys):
    """`fails(code, said, *arguments)`: the command ends with the code and one error line that says this."""

    def check(code, said, *arguments):
        assert main(list(arguments)) == code
        out, err = capsys.readouterr()
        errors = [line for line in err.splitlines() if line.startswith("error: ")]
        assert len(errors) == 1
        assert said in errors[0]
        assert err.splitlines()[-1] == errors[0]
        assert "Traceback" not in out + err
        return out

    return check


@pytest.fixture
def place(small_index, tmp_path):
    """A copy of the small index to damage."""
    shutil.copytree(small_index.path, tmp_path / "idx")
    return tmp_path / "idx"


USAGE = [
    (["ask", "", "--index", "idx", "--lm", "local"], "the question is blank"),
    (["ask", " \n\t ", "--index", "idx", "--lm", "local"], "the question is blank"),
    (["ask", "\u2003", "--index", "idx", "--lm", "local"], "the question is blank"),
    (["ask"], "required: question"),
    (["ask", "Who?", "--lm", "local"], "name the index folder with --index DIR"),
    (["ask", "Who?", "--index", "idx", "--k", "0"], "argument --k: '0' is no whole number of at least 1"),
    (["ask", "Who?", "--index", "idx", "--k", "many"], "argument --k: 'many' is no whole number"),
    (["ask", "Who?", "--index", "idx", "--max-loops", "-1"], "'-1' is no whole number of at least 0"),
    (["ask", "Who?", "--index", "idx", "--max-context-tokens", "0"], "'0' is no whole number of at least 1"),
    (["ask", "Who?", "--index", "idx", "--temperature", "nan"], "'nan' is no number of at least 0"),
    (["ask", "Who?", "--index", "idx", "--temperature", "-1"], "'-1' is no number of at least 0"),
    (["ask", "Who?", "--index", "idx", "--timeout", "0"], "'0' is no number above 0"),
    (["ask", "Who?", "--index", "idx", "--html", "."], "--html . is a folder"),
    (["ask", "Who?", "--index", "idx", "--ind", "x"], "unrecognized arguments: --ind x"),
    (["index"], "give the documents with --corpus PATH"),
    (["benchmark", "hotpot"], "it takes minihop"),
    (["benchmark", "musique"], "musique:FILE.jsonl"),
    (["benchmark", " "], "name the benchmark"),
    (["benchmark", "minihop", "--corpus", "a", "--index", "b"], "not allowed with argument"),
    (["index", "--corpus", "a"], "--out DIR"),
    (["index", "--benchmark", "hotpot", "--out", "x"], "it takes minihop"),
    (["index", "--benchmark", "musique", "--out", "x"], "musique:FILE.jsonl"),
    (["index", "--benchmark", "minihop:x", "--out", "x"], "it takes minihop"),
    (["index", "--corpus", "a", "--out", "x", "--granularity", "word"], "invalid choice: 'word'"),
    (["index", "--corpus", "a", "--out", "x", "--chunk-tokens", "0"], "no whole number of at least 1"),
    (["demo", "--questions", "nope"], "MiniHop has no question 'nope'"),
    (["demo", "--questions", " , "], "--questions names none"),
    (["frobnicate"], "invalid choice: 'frobnicate'"),
    (["doctor", "--lm"], "expected one argument"),
]


@pytest.mark.parametrize(("arguments", "said"), USAGE)
def test_wrong_calls_end_with_2(arguments, said, fails):
    fails(2, said, *arguments)


@pytest.mark.parametrize(
    ("lm", "code", "said"),
    [
        ("", 2, "--lm is blank"),
        ("gpt-4o-mini", 2, "did you mean openai/gpt-4o-mini"),
        ("openai/", 2, "provider/model"),
        ("model.gguf", 2, "did you mean --lm local:model.gguf"),
        ("local:", 2, "lacks the path of a GGUF file"),
        ("local:missing.gguf", 1, "cannot read the model file missing.gguf"),
        ("openai/gpt-4o-mini", 1, "has no API key: set OPENAI_API_KEY"),
        ("anthropic/claude-sonnet-4", 1, "has no API key: set ANTHROPIC_API_KEY"),
    ],
)
def test_an_lm_that_cannot_be_made_is_explained(lm, code, said, fails, place):
    fails(code, said, "ask", "Who?", "--index", "idx", "--lm", lm)


def test_without_an_lm_the_choice_is_named(fails, place):
    fails(2, "name the language model with --lm, e.g. --lm local", "ask", "Who?", "--index", "idx")


@pytest.mark.parametrize(
    "key", [["--api-key", "sk-secret-1"], ["--api-key=sk-secret-1"], ["--api-key-env", "sk-secret-1"]]
)
def test_a_key_on_the_command_line_is_refused_and_not_repeated(key, capsys, place):
    assert main(["ask", "Who?", "--index", "idx", "--lm", "openai/x", *key]) == 2
    out, err = capsys.readouterr()
    assert "environment variable" in err
    assert "sk-secret" not in out + err


def test_a_key_variable_that_is_not_set_is_named(fails, place):
    arguments = ["--index", "idx", "--lm", "openai/x", "--api-key-env", "SOME_KEY"]
    fails(1, "SOME_KEY: that environment variable is not set", "ask", "Who?", *arguments)


class TestServer:
    def test_unreachable(self, fails, place):
        arguments = ["--index", "idx", "--lm", "openai/x", "--api-base", "http://127.0.0.1:9"]
        fails(1, "openai/x at http://127.0.0.1:9/v1 cannot be reached", "ask", "Who?", *arguments)

    def test_no_address_at_all(self, fails, place):
        arguments = ["--index", "idx", "--lm", "openai/x", "--api-base", "localhost:8000"]
        fails(2, "is no http address: did you mean http://localhost:8000", "ask", "Who?", *arguments)

    def test_a_wrong_model_name(self, fails, place, lm_stub):
        lm_stub.status = 404
        arguments = ["--index", "idx", "--lm", "openai/local-modle", "--api-base", lm_stub.root]
        fails(1, "did you mean local-model?", "ask", "Who?", *arguments)

    def test_a_wrong_key(self, fails, place, lm_stub, monkeypatch):
        lm_stub.key = "right"
        monkeypatch.setenv("MY_KEY", "sk-wrong-0123456789")
        arguments = ["--index", "idx", "--lm", "openai/local-model", "--api-base", lm_stub.root]
        out = fails(1, "refused the API key", "ask", "Who?", *arguments, "--api-key-env", "MY_KEY")
        assert "sk-" not in out

    def test_a_key_that_was_not_named(self, fails, place, lm_stub):
        lm_stub.key = "right"
        arguments = ["--index", "idx", "--lm", "openai/local-model", "--api-base", lm_stub.root]
        fails(1, "asks for an API key: name the variable that holds it", "ask", "Who?", *arguments)

    def test_a_password_in_the_address(self, fails, place):
        arguments = ["--index", "idx", "--lm", "openai/x", "--api-base", "http://user:pa55@127.0.0.1:9"]
        out = fails(1, "openai/x at http://127.0.0.1:9/v1 cannot be reached", "ask", "Who?", *arguments)
        assert "pa55" not in out

    def test_replies_that_are_nonsense_end_in_an_honest_abstention(self, capsys, place, lm_stub):
        lm_stub.reply = "I would rather not."
        arguments = ["--index", "idx", "--lm", "openai/local-model", "--api-base", lm_stub.root, "--max-loops", "1"]
        assert main(["ask", "Who composed The Salt Choir?", *arguments]) == 0
        out = capsys.readouterr().out
        assert "initialize used its default: AdapterParseError" in out
        assert "Answer  none: the evidence does not give one" in out


CORPORA = [
    ("", "the corpus is empty"),
    ("\n\n", "the corpus is empty"),
    ('{"title": "a"}\n', "docs.jsonl:1: field `text` is missing"),
    ('{"text": "a"}\n{"text": "  "}\n', "docs.jsonl:2: field `text` is blank"),
    ('{"text": 7}\n', "docs.jsonl:1: field `text` is a JSON number"),
    ('{"id": "x", "text": "a"}\n{"id": "x", "text": "b"}\n', "docs.jsonl:2: field `id`: 'x' is used before"),
    ('["a"]\n', "docs.jsonl:1: a JSON array, not an object"),
    ('{"text": "a"\n', "docs.jsonl:1: not valid JSON"),
]


@pytest.mark.parametrize(("content", "said"), CORPORA)
def test_a_corpus_that_cannot_be_used_is_refused_by_file_and_line(content, said, fails, tmp_path):
    (tmp_path / "docs.jsonl").write_text(content)
    fails(1, said, "index", "--corpus", "docs.jsonl", "--out", "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--corpus", "missing.jsonl", "--out", "out"], "missing.jsonl: no such file or folder"),
        (["--corpus", "empty", "--out", "out"], "empty: the corpus is empty (no .txt or .md file with text)"),
        (["--benchmark", "musique:missing.jsonl", "--out", "out"], "missing.jsonl: cannot be read"),
        (["--corpus", "a.txt", "--out", "empty/../a.txt"], "exists and is no folder"),
        (["--corpus", "a.txt", "--out", "full"], "exists and is no index; it is left alone"),
        (["--corpus", "a.txt", "--out", "full", "--overwrite"], "exists and is no index; it is left alone"),
        (["--corpus", "a.txt", "--out", "a.txt/inside"], "cannot be written"),
        (["--corpus", "a.txt", "--out", "out", "--encoder", "./nowhere"], "encoder './nowhere': no such folder"),
    ],
)
def test_places_that_cannot_be_used_are_refused(arguments, said, fails, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("keep me")
    (tmp_path / "a.txt").write_text("One document.")
    fails(1, said, "index", *arguments)
    assert (tmp_path / "full" / "letter.txt").read_text() == "keep me"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != ".cache") == ["a.txt", "empty", "full"]


def test_a_passage_of_a_megabyte_is_cut_and_indexed(tmp_path, capsys):
    text = "\n\n".join(f"Paragraph {number} is about thing {number}. " + "word " * 4_000 for number in range(50))
    assert len(text) > 1_000_000
    (tmp_path / "docs.jsonl").write_text(json.dumps({"title": "long", "text": text}))
    # Few large chunks: what is tested is that it is taken, not how long an encoder needs for it.
    assert main(["index", "--corpus", "docs.jsonl", "--out", "out", "--chunk-tokens", "4000"]) == 0
    assert "passages" in capsys.readouterr().out


def test_lone_surrogates_are_replaced_with_a_warning(tmp_path, capsys):
    (tmp_path / "docs.jsonl").write_text('{"title": "a", "text": "lone \\ud800 here"}\n')
    assert main(["index", "--corpus", "docs.jsonl", "--out", "out"]) == 0
    out, err = capsys.readouterr()
    assert "Indexed 1 passage" in out
    assert "warning: docs.jsonl: 1 characters that are no valid Unicode were replaced" in err


def test_a_question_with_a_lone_surrogate_is_asked(place, lm_stub, capsys):
    lm_stub.reply = "nonsense"
    arguments = ["--index", "idx", "--lm", "openai/local-model", "--api-base", lm_stub.root, "--max-loops", "0"]
    assert main(["ask", "Who \udcff composed it?", "--json", "--quiet", *arguments]) == 0
    assert json.loads(capsys.readouterr().out)["question"] == "Who \ufffd composed it?"


class TestIndexFolder:
    @pytest.fixture
    def ask_fails(self, fails, lm_stub):
        def check(said, folder="idx"):
            arguments = ["--index", folder, "--lm", "openai/local-model", "--api-base", lm_stub.root]
            fails(1, said, "ask", "Who?", *arguments)

        return check

    def test_missing(self, ask_fails):
        ask_fails("nowhere: no such index folder", "nowhere")

    def test_not_an_index(self, ask_fails, tmp_path):
        (tmp_path / "other").mkdir()
        ask_fails("other: not an index", "other")

    def test_truncated(self, ask_fails, place):
        largest = max((file for file in place.rglob("*") if file.is_file()), key=lambda file: file.stat().st_size)
        largest.write_bytes(largest.read_bytes()[:-10])
        ask_fails(f"{largest.name}: the index is damaged")

    def test_a_manifest_cut_short(self, ask_fails, place):
        (place / MANIFEST).write_text((place / MANIFEST).read_text()[:50])
        ask_fails("the index is damaged (it is not valid JSON)")

    def test_made_by_another_encoder(self, ask_fails, place):
        manifest = dataclasses.replace(read_manifest(place), encoder_digest="0" * 64)
        (place / MANIFEST).write_text(manifest.to_json())
        ask_fails("the index was made by another encoder")


def test_a_full_disk_while_indexing_leaves_nothing(tmp_path):
    rows = (json.dumps({"text": f"Word {number} and thing {number}."}) for number in range(300))
    (tmp_path / "docs.jsonl").write_text("\n".join(rows))

    def small_disk():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    command = [*CLI, "index", "--corpus", "docs.jsonl", "--out", "idx"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, preexec_fn=small_disk)
    assert run.returncode == 1
    assert run.stdout == ""
    assert run.stderr.splitlines()[-1].startswith("error: ")
    assert "idx: no room to write the index (disk full?)" in run.stderr.splitlines()[-1]
    assert "Traceback" not in run.stderr
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != ".cache") == ["docs.jsonl"]


def test_a_page_that_cannot_be_written_shows_before_the_lm_is_asked(fails, place, lm_stub, tmp_path):
    (tmp_path / "file").write_text("x")
    arguments = ["--index", "idx", "--lm", "openai/local-model", "--api-base", lm_stub.root]
    said = f"--html file/story.html: {tmp_path / 'file'} is no folder that can be written to"
    fails(1, said, "ask", "Who?", "--html", "file/story.html", *arguments)
    fails(1, "is no folder that can be written to", "demo", "--out", "file/demo")
    assert lm_stub.requests == []
