"""Ctrl-C in a real process, at any moment: one line, exit code 130, nothing half-written."""

import json
import shutil
import signal
import subprocess
import sys
import time

import pytest

CLI = [sys.executable, "-m", "executionrag.runs.cli"]


@pytest.fixture(autouse=True)
def surroundings(monkeypatch, tmp_path, tmp_path_factory):
    """An empty working folder, and a cache folder elsewhere."""
    monkeypatch.setenv("EXECUTIONRAG_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)


def heed_interrupts():
    """A job that a shell starts in the background ignores Ctrl-C, and hands that down: not what is tested here."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(*arguments):
    return subprocess.Popen(
        [*CLI, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts
    )


@pytest.fixture
def indexing(tmp_path):
    """A process that indexes a corpus which takes it a while."""
    rows = (json.dumps({"title": f"t{n}", "text": f"Word {n} " + "and some more of it " * 40}) for n in range(5_000))
    (tmp_path / "docs.jsonl").write_text("\n".join(rows))
    process = start("index", "--corpus", "docs.jsonl", "--out", "idx")
    assert "5,000 passages to index" in process.stderr.readline()
    yield process
    process.kill()


@pytest.mark.parametrize("seconds", [0.2, 2.0])
def test_while_indexing_nothing_half_written_stays(seconds, indexing, tmp_path):
    time.sleep(seconds)
    indexing.send_signal(signal.SIGINT)
    out, err = indexing.communicate(timeout=60)
    assert (indexing.returncode, out, err) == (130, "", "interrupted\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docs.jsonl"]


def test_a_signal_to_end_clears_up_too(indexing, tmp_path):
    time.sleep(1)
    indexing.terminate()
    indexing.communicate(timeout=60)
    assert indexing.returncode == 143
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docs.jsonl"]


def test_while_the_lm_is_waited_for(tmp_path, small_index, lm_stub):
    shutil.copytree(small_index.path, tmp_path / "idx")
    options = ["--lm", "openai/local-model", "--api-base", lm_stub.root, "--html", "story.html"]
    lm_stub.hang = 30.0
    process = start("ask", "Who composed The Salt Choir?", "--index", "idx", *options)
    for _ in range(600):
        if lm_stub.completions:
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "interrupted"
    assert "Traceback" not in err
    assert not (tmp_path / "story.html").exists()
