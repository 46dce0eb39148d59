"""How long one waits: for `--help`, for the import, and from `executionrag ask` to its first LM call.

Each time is of a fresh process on a warm disk, from its start. `ask` talks to an OpenAI-compatible server on this
machine; its clock stops when the first completion arrives there. The list of models, for which `ask` looks beforehand,
is no LM call. The reference is `import dspy` in a fresh process, in turns with ours: nobody who asks a DSPy program can
wait less. Replies are never cached, for none is given.
"""

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from time import perf_counter

from ...retrievers.corpus import passages_from_rows
from ...retrievers.index import Index
from ..benchmarks.minihop import MiniHop
from . import corpora
from .measured import Measured
from .setting import Setting
from .timing import quartiles, timed

BOUND_SECONDS = 3.0
_PASSAGES = 6_000
_PATIENCE = 300
_COMMAND = "import sys; from executionrag.runs.cli import main; sys.exit(main())"
_MODELS = b'{"object": "list", "data": [{"id": "bench", "object": "model", "owned_by": "bench"}]}'


def measure(setting: Setting) -> list[Measured]:
    """Start each so many times as there are rounds, in turns.

    Args:
        setting: Where and how far; with data `ask` is started over real passages too.
    """
    programs = {
        "python -c pass": "pass",
        "import executionrag": "import executionrag",
        "executionrag --help": "import sys; sys.argv[1:] = ['--help']; " + _COMMAND,
        "executionrag ask --help": "import sys; sys.argv[1:] = ['ask', '--help']; " + _COMMAND,
        "import dspy": "import dspy",
    }
    question = MiniHop.dev[0].question
    with tempfile.TemporaryDirectory() as folder, _server() as server:
        minihop = Path(folder) / "index"
        Index.build(passages_from_rows(MiniHop.corpus), minihop)
        asked = {"MiniHop": minihop}
        if setting.data is not None:
            asked[f"{_PASSAGES:,} real passages"] = corpora.indexed(setting, _PASSAGES)
        environment = {**os.environ, "DSPY_CACHEDIR": str(Path(folder) / "replies")}
        started: dict[str, list[float]] = {name: [] for name in programs}
        called: dict[str, list[float]] = {name: [] for name in asked}
        for round_ in range(-1, setting.rounds):  # the first warms the disk
            for name, code in programs.items():
                took = _run(code)
                if round_ >= 0:
                    started[name].append(took)
            for name, index in asked.items():
                took = server.seconds_to_call(question, index, environment)
                if round_ >= 0:
                    called[name].append(took)
    reference = started["import dspy"]
    rows = [timed(name, values, unit="s") for name, values in started.items()]
    for name, values in called.items():
        what = f"ask to its first LM call, {name}"
        ratios = [one / other for one, other in zip(values, reference, strict=True)]
        rows.append(timed(what, values, unit="s", bound=BOUND_SECONDS))
        rows.append(
            Measured(f"{what}, as a multiple of import dspy", median(ratios), "x", None, None, quartiles(ratios))
        )
    return rows


def _run(code: str) -> float:
    """Seconds from the start of a Python process to its end."""
    began = perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL, timeout=_PATIENCE)
    return perf_counter() - began


class _Server:
    """Knows when a completion was asked for, by this process's clock."""

    def __init__(self) -> None:
        self.address = ""
        self.arrived = 0.0
        self.called = threading.Event()

    def seconds_to_call(self, question: str, index: Path, environment: dict[str, str]) -> float:
        """Seconds from the start of an `ask` process to its first LM call; the process is ended then."""
        self.called.clear()
        options = ["--index", str(index), "--lm", "openai/bench", "--api-base", self.address]
        command = [sys.executable, "-c", _COMMAND, "ask", question, *options]
        began = perf_counter()
        with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            try:
                while not self.called.wait(0.2):
                    if process.poll() is not None or perf_counter() - began > _PATIENCE:
                        process.kill()
                        assert process.stderr is not None
                        raise RuntimeError(f"ask called no LM: {process.stderr.read().decode()[-500:]}")
            finally:
                process.kill()
        return self.arrived - began


@contextmanager
def _server() -> Iterator[_Server]:
    server = _Server()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            """Not on the screen."""

        def do_GET(self) -> None:
            found = self.path.endswith("/models")
            body = _MODELS if found else b"{}"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            if not server.called.is_set():
                server.arrived = perf_counter()
                server.called.set()
            # No reply: who asked is ended.

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, daemon=True)
        thread.start()
        server.address = f"http://127.0.0.1:{http.server_address[1]}/v1"
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()
