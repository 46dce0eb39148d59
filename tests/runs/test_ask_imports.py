"""What a question does not need is not loaded before the first LM call: it would be most of the wait."""

import json
import os
import subprocess
import sys

import pytest

from executionrag.retrievers.corpus import passages_from_rows
from executionrag.retrievers.index import Index
from executionrag.runs.benchmarks.minihop import MiniHop

# Learning, searching by a graph, making indexes, statistics, pages and tracking; scipy.special alone is needed.
UNNEEDED = [
    "bm25s",
    "datasets",
    "faiss",
    "igraph",
    "matplotlib",
    "mlflow",
    "onnx",
    "onnxruntime",
    "optuna",
    "pandas",
    "scipy.sparse",
    "scipy.stats",
    "sentence_transformers",
    "sklearn",
    "statsmodels",
    "torch",
    "transformers",
]

# Ends the process where it is about to send a completion, and says what it has loaded by then.
ASK = """
import json, os, socket, sys

def watched(send):
    def look(self, content, *rest):
        if b"/chat/completions" in bytes(content)[:200]:
            print("loaded " + json.dumps(sorted(sys.modules)), flush=True)
            os._exit(0)
        return send(self, content, *rest)
    return look

socket.socket.send, socket.socket.sendall = watched(socket.socket.send), watched(socket.socket.sendall)
from executionrag.runs.cli import main
main()
print("no LM was called")
"""


@pytest.fixture
def loaded(tmp_path, lm_stub):
    """The names of all modules that `ask` has loaded at its first LM call, over a small index."""
    index = Index.build(passages_from_rows(MiniHop.corpus)[:10], tmp_path / "index")
    options = ["--index", str(index.path), "--lm", "openai/local-model", "--api-base", f"{lm_stub.root}/v1"]
    folders = {"DSPY_CACHEDIR": str(tmp_path / "replies"), "EXECUTIONRAG_CACHE": str(tmp_path / "cache")}
    run = subprocess.run(
        [sys.executable, "-c", ASK, "ask", MiniHop.dev[0].question, *options],
        capture_output=True,
        text=True,
        env={**os.environ, **folders},
        cwd=tmp_path,
        timeout=120,
        check=False,
    )
    said = [line for line in run.stdout.splitlines() if line.startswith("loaded ")]
    assert said, (run.stdout, run.stderr)
    assert lm_stub.requests  # it looked for the model, so it is this server that it would have asked
    return set(json.loads(said[0].removeprefix("loaded ")))


def test_ask_loads_nothing_that_its_first_call_does_not_need(loaded):
    assert {"dspy", "numpy", "executionrag.retrievers.query_encoder"} <= loaded  # it has retrieved and is about to ask
    assert loaded.isdisjoint(UNNEEDED), sorted(loaded & set(UNNEEDED))
