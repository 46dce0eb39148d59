"""As many questions are asked of a server at once as there are threads."""

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import dspy
import pytest

from executionrag.program.usage import Usage
from executionrag.runs.backends import make_lm
from executionrag.runs.benchmarks.record import BenchmarkQuestion
from executionrag.runs.evaluation import Evaluation
from executionrag.runs.run_folder import RunFolder


class Gathering:
    """An LM server that replies only once so many requests are waiting; it counts them."""

    def __init__(self, wanted):
        self.gate = threading.Barrier(wanted, timeout=30)
        self.lock = threading.Lock()
        self.calls = self.now = self.most = 0

    def wait(self):
        with self.lock:
            self.calls += 1
            self.now += 1
            self.most = max(self.most, self.now)
        with contextlib.suppress(threading.BrokenBarrierError):  # too few came: `most` says so
            self.gate.wait()
        with self.lock:
            self.now -= 1


@pytest.fixture
def gathering():
    servers = []

    def start(wanted):
        said = Gathering(wanted)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                said.wait()
                message = {"role": "assistant", "content": "ready"}
                reply = {
                    "id": "1",
                    "object": "chat.completion",
                    "model": body["model"],
                    "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4},
                }
                data = json.dumps(reply).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        class Server(ThreadingHTTPServer):
            daemon_threads, block_on_close, request_queue_size = True, False, 256

        server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        servers.append(server)
        return said, f"http://127.0.0.1:{server.server_address[1]}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


class Asks(dspy.Module):
    """Asks the LM twice a question, the second time after the first reply, as a system does."""

    def forward(self, question):
        for turn in (1, 2):
            assert dspy.settings.lm(f"{question} ({turn})") == ["ready"]
        known = {"explanation": "", "abstained": False, "requirements": (), "citations": [], "trajectory": []}
        return dspy.Prediction(answer="ready", stop_reason="answered", usage=Usage(), **known)


def asked(count):
    return [BenchmarkQuestion(f"q{i}", f"Question {i}?", "ready", (), 1, "", (), (), ()) for i in range(count)]


def evaluation_of(folder, questions, program):
    texts = SimpleNamespace(passage=None)
    gold = {question.id: () for question in questions}
    return Evaluation(folder, program, texts, questions, gold, benchmark="minihop", system="test")


@pytest.mark.parametrize("threads", [32, 64])
def test_every_thread_has_a_call_in_flight(threads, gathering, tmp_path):
    server, address = gathering(threads)
    questions = asked(2 * threads)
    folder = RunFolder.create(tmp_path / "run", {}, "digest", [question.id for question in questions])
    backend = make_lm("openai/m", api_base=address, cache=False, num_retries=0)
    with folder.appending(), dspy.context(lm=backend.lm):
        evaluation_of(folder, questions, Asks()).run(threads)
    assert [record.failure for record in folder.records()] == [None] * len(questions)
    assert server.calls == 2 * len(questions)
    assert server.most == threads


def test_numpy_multiplies_in_the_asking_thread_while_questions_run(tmp_path):
    import numpy as np
    from threadpoolctl import ThreadpoolController, threadpool_limits

    def of_numpy():
        np.ones((2, 2)) @ np.ones((2, 2))
        pools = ThreadpoolController().select(user_api="blas").info()
        # Not that of faiss, where it is loaded: OpenMP counts for each thread apart.
        return {pool["num_threads"] for pool in pools if pool.get("threading_layer") != "openmp"}

    class Looks(Asks):
        def forward(self, question):
            seen.append(of_numpy())
            raise ValueError("seen enough")

    seen = []
    questions = asked(2)
    folder = RunFolder.create(tmp_path / "run", {}, "digest", [question.id for question in questions])
    with threadpool_limits(2, user_api="blas"), folder.appending():
        before = of_numpy()
        evaluation_of(folder, questions, Looks()).run(2)
        assert of_numpy() == before  # and what was set before is set again
    assert seen == [{1}, {1}]
