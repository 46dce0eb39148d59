"""A loopback LM in a process of its own: chat completions as OpenAI serves them, the scripted reader's, after a delay.

It answers any number of requests at once, keeps connections open, and tells at `GET /served` what it served and what
that took it. `python -m executionrag.runs.bench.loopback_lm 500 0.5` knows the first 500 questions of the workload and
takes half a second a call; it prints its address and ends with the process that started it.
"""

import asyncio
import contextlib
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from time import monotonic, process_time, time
from typing import Any

from .reader import Reader, read_prompt
from .workload import questions

MODEL = "reader"


@dataclass
class Served:
    """What a server did for a reader's steps; other requests count as connections only.

    Attributes:
        calls: Completions.
        most: Largest number of them at once.
        connections: Opened in all.
        cpu: CPU seconds of its process, those of its start left out.
        began: When the first was asked for, in seconds of the system's clock; 0 before.
        seconds: How long the completions of each question took in all, from the request read to the reply sent.
    """

    calls: int = 0
    most: int = 0
    connections: int = 0
    cpu: float = 0.0
    began: float = 0.0
    seconds: dict[str, float] = field(default_factory=dict)


class LoopbackLM:
    """Answers what the reader can, each call after the same delay."""

    def __init__(self, reader: Reader, delay: float) -> None:
        """Answer as this reader, `delay` seconds after a request was read."""
        self._reader, self._delay = reader, delay
        self._started = process_time()
        self._now = 0
        self.served = Served()

    async def connection(self, requests: asyncio.StreamReader, replies: asyncio.StreamWriter) -> None:
        """Serve one connection until the client closes it."""
        self.served.connections += 1
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                head = (await requests.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = next((line[15:] for line in head.lower().split("\r\n") if line[:15] == "content-length:"), "0")
                body = await requests.readexactly(int(length))
                method, path, _ = head.split(" ", 2)
                await self._answer(method, path, body, replies)
        replies.close()

    async def _answer(self, method: str, path: str, body: bytes, replies: asyncio.StreamWriter) -> None:
        if path == "/served":
            self.served.cpu = process_time() - self._started
            await _send(replies, asdict(self.served))
        elif path.endswith("/models"):
            await _send(replies, {"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "bench"}]})
        elif method == "POST":
            await self._complete(json.loads(body)["messages"], replies)
        else:
            await _send(replies, {"error": {"message": "no such page"}}, "404 Not Found")

    async def _complete(self, messages: list[dict[str, Any]], replies: asyncio.StreamWriter) -> None:
        began = monotonic()
        served = self.served
        served.began = served.began or time()
        self._now += 1
        served.most = max(served.most, self._now)
        system, user = messages[0]["content"], messages[-1]["content"]
        reply = _completion(self._reader.reply(system, user), len(system + user))
        question = read_prompt(system, user)[1]["question"]
        await asyncio.sleep(began + self._delay - monotonic())
        self._now -= 1
        await _send(replies, reply)
        served.calls += 1
        served.seconds[question] = served.seconds.get(question, 0.0) + monotonic() - began


def _completion(text: str, prompt_length: int) -> dict[str, Any]:
    prompt, reply = prompt_length // 4, max(1, len(text) // 4)
    message = {"role": "assistant", "content": text}
    return {
        "id": "scripted",
        "object": "chat.completion",
        "created": 1,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": reply, "total_tokens": prompt + reply},
    }


async def _send(replies: asyncio.StreamWriter, body: Mapping[str, Any], status: str = "200 OK") -> None:
    data = json.dumps(body).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    replies.write(head.encode() + data)
    await replies.drain()


@dataclass(frozen=True)
class Server:
    """A loopback LM that is running, by its address."""

    address: str

    def served(self) -> Served:
        """What it served so far."""
        with urllib.request.urlopen(f"{self.address}/served", timeout=60) as reply:
            return Served(**json.load(reply))


@contextmanager
def serving(count: int, delay: float) -> Iterator[Server]:
    """A loopback LM for so many questions of the workload, in a process of its own.

    Args:
        count: Questions that it knows.
        delay: Seconds a call.
    """
    command = [sys.executable, "-m", __name__, str(count), str(delay)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            if not (address := process.stdout.readline().strip()):
                raise RuntimeError("the loopback LM did not start")
            yield Server(address)
        finally:
            process.kill()


async def _serve(count: int, delay: float) -> None:
    lm = LoopbackLM(Reader(questions(count)), delay)
    server = await asyncio.start_server(lm.connection, "127.0.0.1", 0, backlog=1_024)
    sys.stdout.write(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    # It ends with its parent, which holds the other end of stdin.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), float(sys.argv[2])))
