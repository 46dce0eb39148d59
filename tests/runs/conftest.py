"""A stand-in for an OpenAI-compatible server on a loopback port: answers as told and keeps what it was sent."""

import json
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest


class Stub:
    """What to answer, and what was asked.

    Attributes:
        models: Entries of `GET /v1/models`; None answers 404.
        status: HTTP status of completions, and of the model list where it is 401.
        reply: Text of completions.
        error: Body of a failing completion.
        hang: Seconds to wait before a completion.
        key: Where set, the one bearer key that is let in.
        pages: JSON bodies of other paths, for GET and POST; one that can be called gives its body each time.
        requests: `(path, headers, body)` in order of arrival.
    """

    def __init__(self) -> None:
        self.models: list[dict[str, Any]] | None = [{"id": "local-model", "object": "model", "owned_by": "test"}]
        self.status = 200
        self.reply = "ready"
        self.error: dict[str, Any] = {"error": {"message": "it went wrong", "type": "test"}}
        self.hang = 0.0
        self.key: str | None = None
        self.pages: dict[str, Any] = {}
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.root = ""

    @property
    def completions(self) -> list[dict[str, Any]]:
        return [body for path, _, body in self.requests if path.endswith("/chat/completions")]


@contextmanager
def serve_stub() -> Iterator[Stub]:
    stub = Stub()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

        def send(self, status: int, body: dict[str, Any]) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def page(self) -> bool:
            body = stub.pages.get(self.path)
            if body is not None:
                self.send(200, body() if callable(body) else body)
            return body is not None

        def refused(self) -> bool:
            if stub.key is not None and self.headers.get("Authorization") != f"Bearer {stub.key}":
                self.send(401, {"error": {"message": "Incorrect API key provided: sk-abcdefgh12345678"}})
                return True
            return False

        def do_GET(self) -> None:
            stub.requests.append((self.path, dict(self.headers), {}))
            if self.refused() or self.page():
                return
            if self.path == "/v1/models" and stub.models is not None:
                self.send(200, {"object": "list", "data": stub.models})
            else:
                self.send(404, {"error": {"message": "no such page"}})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            stub.requests.append((self.path, dict(self.headers), body))
            if self.refused() or self.page():
                return
            time.sleep(stub.hang)
            if self.path != "/v1/chat/completions":
                self.send(404, {"error": {"message": "no such page"}})
            elif stub.status != 200:
                self.send(stub.status, stub.error)
            else:
                message = {"role": "assistant", "content": stub.reply}
                self.send(
                    200,
                    {
                        "id": "1",
                        "object": "chat.completion",
                        "created": 1,
                        "model": body["model"],
                        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                        "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4},
                    },
                )

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # a client that gave up waiting is no news
    server.block_on_close = False
    stub.root = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        server.shutdown()
        server.server_close()


# What the command line sets for its process, set beforehand so that it does not outlast a test.
_SETTINGS = {
    "OMP_WAIT_POLICY": "PASSIVE",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
}
_KEYS_AND_ADDRESSES = ("OPENAI_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "SOME_KEY")


@pytest.fixture
def command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[pytest.MonkeyPatch]:
    """An empty working folder and cache, and no keys; what the command line sets for the process is taken back."""
    import dspy

    for name in _KEYS_AND_ADDRESSES:
        monkeypatch.delenv(name, raising=False)
    for name, value in _SETTINGS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("EXECUTIONRAG_CACHE", str(tmp_path / ".cache"))
    monkeypatch.setenv("DSPY_CACHEDIR", str(tmp_path / ".cache" / "replies"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    before, level = dspy.cache, logging.getLogger("dspy").level
    yield monkeypatch
    dspy.cache = before
    logging.getLogger("dspy").setLevel(level)


@pytest.fixture
def lm_stub() -> Iterator[Stub]:
    with serve_stub() as stub:
        yield stub
