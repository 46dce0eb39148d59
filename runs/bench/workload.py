"""The workload that benchmarks share: MiniHop's questions over and over, each time under another id and wording.

Everything is the product's own (index, program, runner, records on disk) but the LM, which is the scripted reader.
"""

import dataclasses
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import thread_time
from typing import Any

import dspy
from dspy.lm15 import Message, Request, Response, TextPart, Usage

from ...metrics.record import GoldPassage, QuestionRecord
from ...program.systems import make_system
from ...retrievers.corpus import passages_from_rows
from ...retrievers.index import Index
from ..benchmarks.minihop import MiniHop
from ..benchmarks.record import BenchmarkQuestion
from ..evaluation import Evaluation
from ..run_folder import RunFolder
from .reader import Reader

SYSTEM = "executionrag"


class ReaderEngine:
    """A DSPy engine that replies as the reader does; it counts calls and the CPU time inside them, in seconds."""

    def __init__(self, reader: Reader) -> None:
        """Reply as this reader does."""
        self._reader = reader
        self._lock = threading.Lock()
        self.calls = 0
        self.cpu = 0.0
        self.keep = 0
        self.kept: list[tuple[str, str]] = []

    def complete(self, request: Request) -> Response:
        """Reply to a request; the first `keep` prompts are kept as (system, user)."""
        began = thread_time()
        system = _text(request.system)
        user = _text(request.messages[-1].parts)
        text = self._reader.reply(system, user)
        response = Response(
            id="scripted",
            model=request.model,
            message=Message(role="assistant", parts=(TextPart(text=text),)),
            finish_reason="stop",
            usage=Usage(input_tokens=len(system + user) // 4, output_tokens=max(1, len(text) // 4)),
        )
        with self._lock:
            self.calls += 1
            if len(self.kept) < self.keep:
                self.kept.append((system, user))
            self.cpu += thread_time() - began
        return response

    def stream(self, request: Request) -> Any:
        """Not offered."""
        raise NotImplementedError

    def close(self) -> None:
        """Nothing is held."""


class TimedIndex:
    """An index that counts the CPU time of its searches, encoding included, in seconds."""

    def __init__(self, index: Index) -> None:
        """Search in this index."""
        self._index = index
        self._lock = threading.Lock()
        self.cpu = 0.0

    def semantic_search(self, query: str, k: int) -> Any:
        """As the index does."""
        return self._timed(self._index.semantic_search, query, k)

    def keyword_search(self, query: str, k: int) -> Any:
        """As the index does."""
        return self._timed(self._index.keyword_search, query, k)

    def _timed(self, search: Callable[[str, int], Any], query: str, k: int) -> Any:
        began = thread_time()
        try:
            return search(query, k)
        finally:
            with self._lock:
                self.cpu += thread_time() - began

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    def __deepcopy__(self, memo: dict[int, Any]) -> "TimedIndex":
        return self


class TimedEvaluation(Evaluation):
    """The product's runner, which counts the CPU time of answering, the row's writing included, in seconds."""

    cpu = 0.0
    _cpu_lock = threading.Lock()

    def answer(self, question_id: str) -> float:
        """As the runner does."""
        began = thread_time()
        try:
            return super().answer(question_id)
        finally:
            with self._cpu_lock:
                self.cpu += thread_time() - began


@dataclasses.dataclass
class Workload:
    """A prepared run: `run` answers its questions."""

    folder: RunFolder
    evaluation: TimedEvaluation
    engine: ReaderEngine
    index: TimedIndex
    lm: dspy.LM

    def run(self, threads: int) -> None:
        """Answer all questions, their rows on disk."""
        with self.folder.appending(), dspy.context(lm=self.lm, adapter=dspy.ChatAdapter()):
            self.evaluation.run(threads)


def questions(count: int) -> list[BenchmarkQuestion]:
    """MiniHop's 40 questions, round after round, no two of the same id or wording."""
    known = (*MiniHop.dev, *MiniHop.train)
    rounds = ((number // len(known), known[number % len(known)]) for number in range(count))
    return [
        dataclasses.replace(one, id=f"{one.id}-{turn}", question=f"{one.question} (round {turn})")
        for turn, one in rounds
    ]


@contextmanager
def minihop_index() -> Iterator[TimedIndex]:
    """MiniHop's passages, indexed in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        yield TimedIndex(Index.build(passages_from_rows(MiniHop.corpus), Path(folder) / "index"))


@contextmanager
def workload(
    count: int, finished: Callable[[QuestionRecord], None] = lambda _: None, index: TimedIndex | None = None
) -> Iterator[Workload]:
    """A run of so many questions in a temporary folder.

    Args:
        count: Questions.
        finished: Told of each row once it is on disk.
        index: What is searched; MiniHop's own passages, indexed for this run, where it is not given.
    """
    asked = questions(count)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        searched = index or stack.enter_context(minihop_index())
        run = RunFolder.create(Path(folder) / "run", {}, "bench", [question.id for question in asked])
        engine = ReaderEngine(Reader(asked))
        evaluation = TimedEvaluation(
            run,
            make_system(SYSTEM, searched),  # type: ignore[arg-type]
            searched,  # type: ignore[arg-type]
            asked,
            {question.id: _gold(question) for question in asked},
            benchmark="minihop",
            system=SYSTEM,
            finished=finished,
        )
        yield Workload(run, evaluation, engine, searched, scripted_lm(engine))


def scripted_lm(engine: ReaderEngine) -> dspy.LM:
    """An LM that asks this engine; nothing is cached, nothing retried."""
    return dspy.LM("scripted/reader", engine=engine, cache=False, num_retries=0)


def _gold(question: BenchmarkQuestion) -> tuple[GoldPassage, ...]:
    return tuple(
        GoldPassage(title=paragraph.title, passage_id=MiniHop.passage_id(paragraph))
        for paragraph in question.supporting
    )


def _text(content: Any) -> str:
    """A part of a prompt as one string."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(getattr(part, "text", "") for part in content)
