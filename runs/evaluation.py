"""Answer the questions of a benchmark, each exactly once, its row on disk as it finishes.

Questions go through `dspy.Evaluate`, guarded against what it does to a long run: it evaluates a wrapper over examples
that carry an id only; answering, scoring and writing the row happen inside one future an id, so that a straggler which
`Evaluate` starts again waits for the first; an exception becomes a row with its class and step, and never one of
`Evaluate`'s counted errors; what `Evaluate` keeps is one number a question. What would fail every question alike (a
full disk, an LM or an encoder that cannot be had) ends the pass instead: no further question begins, and `run` raises
it.

`Evaluate` runs in a thread of its own, so that Ctrl-C is ours: `stop` lets no new question begin, and those in flight
finish and are kept.
"""

import contextvars
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager

import dspy

from ..errors import UserError
from ..metrics.contain_match import contain_match
from ..metrics.evidence_recall import evidence_recall
from ..metrics.record import GoldPassage, QuestionRecord
from ..retrievers.index import Index
from .answer_record import answered_record, failed_record
from .benchmarks.record import BenchmarkQuestion
from .run_folder import RunFolder

logger = logging.getLogger(__name__)

Finished = Callable[[QuestionRecord], None]
# DSPy keeps whole prompts in histories and traces: a few for the step at hand, none of a thousand questions.
_HISTORY = 16
_SMALL_MEMORY = {"max_history_size": _HISTORY, "trace": None, "max_trace_size": 0}


class Evaluation:
    """One pass over the questions that a run has no row of."""

    def __init__(
        self,
        folder: RunFolder,
        program: dspy.Module,
        index: Index,
        questions: Sequence[BenchmarkQuestion],
        gold: Mapping[str, Sequence[GoldPassage]],
        *,
        benchmark: str,
        system: str,
        finished: Finished = lambda _: None,
    ) -> None:
        """Prepare; nothing is asked yet.

        Args:
            folder: Where rows go; held with `appending` by the caller.
            program: The system: called with `question`, safe from many threads.
            index: What it searches, for the texts of passages.
            questions: What is to be asked, in order.
            gold: The mapped supporting paragraphs of each question, by question id.
            benchmark: The benchmark's kind, written into rows.
            system: The system's name, written into rows.
            finished: Told of each row once it is on disk; called from the thread that answered.
        """
        self._folder, self._program, self._index = folder, program, index
        self._questions = {question.id: question for question in questions}
        self._gold, self._benchmark, self._system = gold, benchmark, system
        self._finished = finished
        self._lock = threading.Lock()
        self._futures: dict[str, Future[float]] = {}
        self._in_flight: dict[str, None] = {}
        self._stopped = threading.Event()
        self._broken: BaseException | None = None

    @property
    def in_flight(self) -> list[str]:
        """The ids of the questions that are being answered."""
        with self._lock:
            return list(self._in_flight)

    def stop(self) -> None:
        """Let no further question begin; those in flight finish."""
        self._stopped.set()

    def run(self, threads: int) -> None:
        """Answer the questions under DSPy's current settings; returns when all rows are written, or when stopped.

        Raises:
            UserError: A row could not be written, or the system lacks what it needs; rows so far are kept.
            dspy.LMConfigurationError: The LM cannot be asked at all.
        """
        if not self._questions:
            return

        def evaluate() -> None:
            examples = [dspy.Example(question_id=key).with_inputs("question_id") for key in self._questions]
            evaluation = dspy.Evaluate(
                devset=examples,
                metric=lambda example, prediction, trace=None: prediction.score,
                num_threads=threads,
                max_errors=len(examples) + 1,
            )
            try:
                with dspy.context(**_SMALL_MEMORY):
                    evaluation(_Once(self.answer))
            except BaseException as error:  # said in the thread that waits
                self._break(error)

        thread = threading.Thread(target=contextvars.copy_context().run, args=(evaluate,), daemon=True)
        with one_blas_thread():
            thread.start()
            try:
                while thread.is_alive():
                    thread.join(0.2)  # in slices, so that Ctrl-C is heard
            finally:
                self.stop()  # left early: what is in flight is not waited for, and nothing more begins
        if self._broken is not None:
            raise self._broken

    def _break(self, error: BaseException) -> None:
        with self._lock:
            self._broken = self._broken or error
        self._stopped.set()

    def answer(self, question_id: str) -> float:
        """Answer one question and write its row, once however often it is called; gives contain-match, 0 or 1."""
        with self._lock:
            future = self._futures.get(question_id)
            mine = future is None
            if future is None:
                if self._stopped.is_set():
                    return 0.0
                future = self._futures[question_id] = Future()
                self._in_flight[question_id] = None
        if not mine:
            return future.result()
        score = 0.0
        try:
            record = self._record(self._questions[question_id])
            score = float(_right(record))
            self._folder.append(record, self._texts(record))
            self._finished(record)
        except BaseException as error:  # not this question's: the next one would fail alike
            self._break(error)
        finally:
            _trim_history()
            with self._lock:
                del self._in_flight[question_id]
            future.set_result(score)
        return score

    def _record(self, question: BenchmarkQuestion) -> QuestionRecord:
        gold = self._gold[question.id]
        try:
            prediction = self._program(question=question.question)
            return answered_record(question, gold, prediction, benchmark=self._benchmark, system=self._system)
        except (UserError, dspy.LMConfigurationError):
            raise
        except Exception as error:
            logger.debug("question %s failed", question.id, exc_info=True)
            return failed_record(question, gold, error, benchmark=self._benchmark, system=self._system)

    def _texts(self, record: QuestionRecord) -> dict[str, tuple[str, str]]:
        texts = {}
        for key in self._folder.unknown((*record.gold_ids, *record.retrieved_ids)):
            passage = self._index.passage(key)
            texts[key] = (passage.title, passage.text)
        return texts


class _Once(dspy.Module):
    """What `Evaluate` calls: it hands the id on and keeps one number."""

    def __init__(self, answer: Callable[[str], float]) -> None:
        super().__init__()
        self._answer = answer

    def forward(self, question_id: str) -> dspy.Prediction:
        return dspy.Prediction(score=self._answer(question_id))


def one_blas_thread() -> AbstractContextManager[object]:
    """Keep numpy's products to the thread that asks, for the whole process, while questions run beside one another.

    The matrices of a query are small: BLAS's own threads mostly wait for one another and for a core, several times as
    long as the product takes.
    """
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(1, user_api="blas")
    return limits


def _trim_history() -> None:
    """Cut DSPy's history of the whole process, which no setting bounds: 10,000 calls with their prompts."""
    from dspy.clients.base_lm import GLOBAL_HISTORY

    del GLOBAL_HISTORY[:-_HISTORY]


def _right(record: QuestionRecord) -> bool:
    return record.failure is None and contain_match(record.answers, record.answer, record.abstained)


class Tally:
    """The scores so far, for the progress bar."""

    def __init__(self, records: Sequence[QuestionRecord] = ()) -> None:
        """Begin with the rows that stand."""
        self.n = self.right = self.failed = 0
        self.recalls: list[float] = []
        self.cost: float | None = 0.0
        for record in records:
            self.add(record)

    def add(self, record: QuestionRecord) -> None:
        """Count a row."""
        self.n += 1
        self.right += _right(record)
        self.failed += record.failure is not None
        recall = evidence_recall(record.gold_ids, record.retrieved_ids)
        if recall is not None:
            self.recalls.append(recall)
        cost = record.usage.cost
        self.cost = None if cost is None or self.cost is None else self.cost + cost

    def __str__(self) -> str:
        parts = [f"contain {self.right}/{self.n}"]
        if self.recalls:
            parts.append(f"recall {sum(self.recalls) / len(self.recalls):.2f}")
        parts.append("cost unknown" if self.cost is None else f"${self.cost:.2f}")
        return ", ".join([*parts, f"{self.failed} failed"])


def describe(record: QuestionRecord) -> str:
    """A row in a few words, for a log line."""
    state = "failed" if record.failure else "abstained" if record.abstained else "right" if _right(record) else "wrong"
    found = sum(key in set(record.retrieved_ids) for key in record.gold_ids)
    return f"{record.id} {state}, gold {found}/{len(record.gold_ids)}, {record.usage.seconds:.0f} s"
