"""An OpenAI-compatible server on loopback that fails by plan, and else says what a reader would say.

It decides by the question and the step in a prompt and by how often that step was asked before, so the order of threads
plays no part.
"""

import json
import threading
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from executionrag.runs.bench.reader import Reader, read_prompt

# Faults that are an HTTP error: status and body.
REFUSALS = {
    "429": (429, {"error": {"message": "Rate limit reached", "type": "requests"}}),
    "500": (500, {"error": {"message": "The server had an error", "type": "server_error"}}),
    "503": (503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}),
    "refused": (400, {"error": {"message": "temperature must be at most 2", "type": "invalid_request_error"}}),
    "bad key": (401, {"error": {"message": "Incorrect API key provided: sk-abcdefgh12345678"}}),
    "llama.cpp": (
        400,
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size, try increasing it",
                "type": "exceed_context_size_error",
            }
        },
    ),
    "vLLM": (
        400,
        {
            "object": "error",
            "message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
            "type": "BadRequestError",
            "code": 400,
        },
    ),
}
PROSE = "I am sorry, but I would rather talk about the weather, which is fine today."
ALL = "every step"
# Seconds that a client of this server should wait; "hangs" is longer, "hangs briefly" shorter.
TIMEOUT = 2.0


class FaultyServer:
    """An OpenAI-compatible server on loopback that follows a plan: question -> (kind, step, how often)."""

    def __init__(self, questions, plan):
        self.plan = plan
        self.reader = Reader(questions)
        self.asked = Counter()
        self.lock = threading.Lock()
        self.over = threading.Event()

    def answer(self, handler, body):
        system, user = (message["content"] for message in body["messages"][-2:])
        step, inputs = read_prompt(system, user)
        question = inputs["question"]
        with self.lock:
            self.asked[question, step] += 1
            number = self.asked[question, step]
        kind, where, times = self.plan.get(question, ("well", ALL, 0))
        healthy = self.reader.reply(system, user)
        if where not in (ALL, step) or number > times:
            kind = "well"
        if kind in REFUSALS:
            status, said = REFUSALS[kind]
            handler.send(status, said, **({"Retry-After": "7"} if status == 429 else {}))
        elif kind == "hangs":
            self.over.wait(10 * TIMEOUT)
        elif kind == "hangs briefly":
            self.over.wait(TIMEOUT / 10)
            handler.complete(healthy)
        elif kind == "cut body":
            handler.complete(healthy, cut=True)
        elif kind == "truncated":
            handler.complete(healthy[: len(healthy) // 3].replace("[[ ## completed ## ]]", ""), finish="length")
        elif kind == "cut short":  # every field is there, the last one not to its end
            handler.complete(healthy.replace("\n\n[[ ## completed ## ]]", "")[:-3], finish="length")
        elif kind == "prose":
            handler.complete(PROSE)
        elif kind == "empty":
            handler.complete("")
        elif kind == "wrong ids":
            outputs = self.reader.outputs(step, inputs)
            update = {**outputs["updates"][0], "support": ["P99", "Q7"], "answer": "Nowhere", "status": "resolved"}
            unknown = {**update, "requirement": "R77"}
            handler.complete(Reader.write({**outputs, "updates": [update, unknown]}, as_json="JSON object" in user))
        else:
            handler.complete(healthy)


@contextmanager
def serve(server):
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args):
            pass

        def do_POST(self):
            server.answer(self, json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def do_GET(self):
            self.send(404, {"error": {"message": "no such page"}})

        def send(self, status, body, *, cut=False, **headers):
            data = json.dumps(body).encode()
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", "Content-Length": len(data), **headers}.items():
                self.send_header(name, str(value))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2] if cut else data)
            self.close_connection = self.close_connection or cut

        def complete(self, text, *, finish="stop", cut=False):
            message = {"role": "assistant", "content": text}
            choices = [{"index": 0, "message": message, "finish_reason": finish}]
            usage = {"prompt_tokens": 900, "completion_tokens": 50, "total_tokens": 950}
            self.send(
                200, {"id": "1", "object": "chat.completion", "model": "m", "choices": choices, "usage": usage}, cut=cut
            )

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads, http.block_on_close = True, False
    http.handle_error = lambda *_: None  # a client that gave up waiting is no news
    threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{http.server_address[1]}"
    finally:
        server.over.set()
        http.shutdown()
        http.server_close()
