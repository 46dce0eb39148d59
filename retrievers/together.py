"""Calls that wait for one another are answered together.

Where the work for many requests costs less than as many times the work for one, threads that ask at the same time
should share it. The first to ask answers its own request at once; whoever asks meanwhile waits, and the first of these
then answers for all that wait. Whoever answers does so for one batch and makes way for the next: nobody serves for
long, requests are answered in the order of their coming, and a thread that asks alone waits for nothing (the first to
come after a crowd waits once for the others, as `gather` allows).

Each call gets its own answer or its own error: requests that fail together are tried one by one. An interrupt (what is
no `Exception`) is a matter of the thread that it hits: what that thread was to answer for others, the next one answers.
"""

import threading
from collections.abc import Callable, Sequence
from time import perf_counter, sleep
from typing import Generic, TypeVar

Request = TypeVar("Request")
Answer = TypeVar("Answer")

# Waiting for company goes in steps of so many seconds.
_MOMENT = 5e-5


class Together(Generic[Request, Answer]):
    """Answers the requests of many threads, those that wait at the same time in one go."""

    def __init__(
        self, answer_all: Callable[[list[Request]], Sequence[Answer]], *, most: int, gather: float = 0.0
    ) -> None:
        """Answer by a function, which never runs in two threads at once.

        Args:
            answer_all: Gives one answer a request, in their order.
            most: How many requests it is given at most.
            gather: Where several asked at about the same time, wait for as many again, up to this share of the time
                that the last answers took: threads that were just answered often ask again at once.
        """
        self._answer_all = answer_all
        self._most = most
        self._gather = gather
        self._lock = threading.Lock()
        self._waiting: list[_Call[Request, Answer]] = []
        # The call whose thread answers at the moment, and the calls that it answers.
        self._leader: _Call[Request, Answer] | None = None
        self._batch: list[_Call[Request, Answer]] = []
        self._crowd = 1  # how many asked at about the same time, when last seen
        self._took = 0.0  # seconds that the last answers took

    def ask(self, request: Request) -> Answer:
        """The answer to a request.

        Raises:
            Exception: What the function raises for this request alone.
        """
        mine: _Call[Request, Answer] = _Call(request)
        try:
            with self._lock:
                self._waiting.append(mine)
                if self._leader is None:
                    self._leader = mine
            if self._leader is not mine:
                mine.turn.acquire()
            if self._leader is mine:
                self._lead()
        finally:
            # Here and not in a function of its own, at whose entry an interrupt would get by.
            interrupt, left = None, False
            while not left:
                try:
                    self._leave(mine)
                    left = True
                except BaseException as hit:  # one that comes just here: who waits must be woken all the same
                    interrupt = hit
            if interrupt is not None:
                raise interrupt
        if mine.error is not None:
            try:
                raise mine.error
            finally:
                del mine  # else error and call would hold one another
        return mine.answer[0]

    def _lead(self) -> None:
        """Answer the first of those that wait, this thread's own call among them."""
        began = perf_counter()
        while len(self._waiting) < min(self._crowd, self._most) and perf_counter() - began < self._took * self._gather:
            sleep(_MOMENT)
        with self._lock:
            self._batch, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
        began = perf_counter()
        self._answer(self._batch)
        self._took = perf_counter() - began
        self._crowd = len(self._batch) + len(self._waiting)

    def _answer(self, calls: "list[_Call[Request, Answer]]") -> None:
        try:
            answers = self._answer_all([call.request for call in calls])
            for call, answer in zip(calls, answers, strict=True):
                call.answer = [answer]
            return
        except Exception as error:
            if len(calls) == 1:
                calls[0].error = error
                return
        # Out of the handler, which would keep what the failed attempt holds and chain its error to those of others.
        for call in calls:
            self._answer([call])

    def _leave(self, mine: "_Call[Request, Answer]") -> None:
        """Wait no longer; whoever has led, or was to lead, wakes those that it answered and makes way for the next.

        An interrupt can end it anywhere; called once more, it does what is left to do.
        """
        with self._lock:
            if not mine.done:  # interrupted
                mine.gone = True
                self._waiting = [call for call in self._waiting if call is not mine]
            if self._leader is mine:
                for call in self._batch:
                    if call.done and call is not mine:
                        call.wake()
                unanswered = [call for call in self._batch if not (call.done or call.gone)]
                waiting = [*unanswered, *self._waiting]
                # No call among these, so nothing comes between them.
                mine.successor = waiting[0] if waiting else None
                self._waiting, self._batch, self._leader = waiting, [], mine.successor
            if mine.successor is not None:
                mine.successor.wake()


class _Call(Generic[Request, Answer]):
    """A request that waits until its `turn` comes: it has been answered, or its thread is the next to answer."""

    __slots__ = ("answer", "error", "gone", "request", "successor", "turn")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.answer: list[Answer] = []  # one, once there is one
        self.error: Exception | None = None
        self.gone = False  # its thread waits no longer
        self.successor: _Call[Request, Answer] | None = None  # who leads after it
        self.turn = threading.Lock()
        self.turn.acquire()

    def wake(self) -> None:
        """End its wait; once more does no harm. One thread at a time, which the lock of all sees to."""
        if self.turn.locked():
            self.turn.release()

    @property
    def done(self) -> bool:
        """Whether it has its answer or its error."""
        return bool(self.answer) or self.error is not None
