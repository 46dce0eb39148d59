"""Calls answered together: each gets its own answer, error or interrupt, and nobody waits for ever."""

import itertools
import random
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from executionrag.retrievers import together as module
from executionrag.retrievers.together import Together

PATIENCE = 30


class Held:
    """Doubles numbers; the first batch is held until it may go on, so that others come to wait."""

    def __init__(self, refuse=lambda batch: None):
        self.batches = []
        self.refuse = refuse
        self.first_is_on = threading.Event()
        self.go_on = threading.Event()

    def __call__(self, batch):
        self.batches.append(list(batch))
        self.first_is_on.set()
        assert self.go_on.wait(PATIENCE)
        self.refuse(batch)
        return [2 * number for number in batch]


def wait_until(condition):
    waited = threading.Event()
    for _ in range(PATIENCE * 1000):
        if condition():
            return
        waited.wait(0.001)
    pytest.fail("it never came to it")


def asked_while_the_first_is_on(answer, together, numbers):
    """Ask 0, and while it is answered the others, in their order; their futures."""
    pool = ThreadPoolExecutor(1 + len(numbers))
    futures = [pool.submit(together.ask, 0)]
    assert answer.first_is_on.wait(PATIENCE)
    for place, number in enumerate(numbers, start=1):
        futures.append(pool.submit(together.ask, number))
        wait_until(lambda place=place: len(together._waiting) == place)
    answer.go_on.set()
    pool.shutdown(wait=False)
    return futures


def test_a_thread_alone_is_answered_at_once_each_time():
    batches = []
    together = Together(lambda batch: batches.append(list(batch)) or [number + 1 for number in batch], most=4)
    assert [together.ask(number) for number in (3, 1, 2)] == [4, 2, 3]
    assert batches == [[3], [1], [2]]


def test_those_that_wait_are_answered_in_their_order_and_never_too_many_at_once():
    answer = Held()
    futures = asked_while_the_first_is_on(answer, Together(answer, most=3), [5, 4, 3, 2, 1])
    assert [future.result(PATIENCE) for future in futures] == [0, 10, 8, 6, 4, 2]
    assert answer.batches == [[0], [5, 4, 3], [2, 1]]


def test_no_answer_is_still_an_answer():
    answer = Held()
    together = Together(lambda batch: [None for _ in answer(batch)], most=3)
    assert [future.result(PATIENCE) for future in asked_while_the_first_is_on(answer, together, [1, 2])] == [None] * 3


def test_a_request_that_fails_fails_alone():
    def refuse(batch):
        if 2 in batch:
            raise ValueError("no twos")

    answer = Held(refuse)
    one, *others = asked_while_the_first_is_on(answer, Together(answer, most=8), [1, 2, 3])
    assert one.result(PATIENCE) == 0
    with pytest.raises(ValueError, match="no twos"):
        others[1].result(PATIENCE)
    assert [others[0].result(PATIENCE), others[2].result(PATIENCE)] == [2, 6]
    assert answer.batches == [[0], [1, 2, 3], [1], [2], [3]]


def test_each_that_fails_has_an_error_of_its_own():
    def refuse(batch):
        if batch != [0]:
            raise MemoryError(f"{batch}")

    answer = Held(refuse)
    together = Together(answer, most=8)
    _, *others = asked_while_the_first_is_on(answer, together, [1, 2])
    for number, other in zip((1, 2), others, strict=True):
        with pytest.raises(MemoryError, match=rf"^\[{number}\]$") as raised:
            other.result(PATIENCE)
        assert raised.value.__context__ is None  # nothing of the others' failure
    assert together.ask(0) == 0


def test_too_few_or_too_many_answers_are_an_error_and_no_one_elses_answer():
    for answers in ([], [1, 2]):
        with pytest.raises(ValueError, match="zip"):
            Together(lambda batch, answers=answers: answers, most=2).ask(0)


@pytest.mark.parametrize("when", ["as it is about to answer for all", "as it answers for all"])
def test_an_interrupt_of_the_one_that_answers_leaves_the_others_their_answers(monkeypatch, when):
    answer = Held(lambda batch: interrupt() if when == "as it answers for all" and batch[0] == 1 else None)
    together = Together(answer, most=3)

    def interrupt():
        raise KeyboardInterrupt

    lead = together._lead

    def interrupted_lead():
        if when == "as it is about to answer for all" and together._waiting[0].request == 1:
            raise KeyboardInterrupt
        lead()

    monkeypatch.setattr(together, "_lead", interrupted_lead)
    first, interrupted, *others = asked_while_the_first_is_on(answer, together, [1, 2, 3, 4])
    assert first.result(PATIENCE) == 0
    with pytest.raises(KeyboardInterrupt):
        interrupted.result(PATIENCE)
    assert [other.result(PATIENCE) for other in others] == [4, 6, 8]
    assert together.ask(9) == 18


def leave_interrupted_at(line):
    """1 answers for 2, and 3 is to follow; it is interrupted at such a line of its leaving. False: there is none."""
    leave, wake = Together._leave.__code__, module._Call.wake.__code__
    with_lock = min(number for _, _, number in leave.co_lines() if number and number > leave.co_firstlineno)
    passed = 0

    def interrupt(frame, event, _):
        nonlocal passed
        if frame.f_code not in (leave, wake):
            return interrupt if frame.f_code is Together.ask.__code__ else None
        # Where `with` ends, Python takes no interrupt before the lock is free.
        if event == "line" and (frame.f_code is wake or frame.f_lineno != with_lock):
            passed += 1
            if passed == line:
                raise KeyboardInterrupt
        return interrupt

    def ask_traced(number):
        sys.settrace(interrupt)
        try:
            return together.ask(number)
        finally:
            sys.settrace(None)

    answer = Held()
    together = Together(answer, most=2)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(together.ask, 0)
        assert answer.first_is_on.wait(PATIENCE)
        traced = pool.submit(ask_traced, 1)
        wait_until(lambda: len(together._waiting) == 1)
        others = []
        for number in (2, 3):
            others.append(pool.submit(together.ask, number))
            wait_until(lambda number=number: len(together._waiting) == number)
        answer.go_on.set()
        assert [one.result(PATIENCE) for one in (first, *others)] == [0, 4, 6]
        if passed < line:
            assert traced.result(PATIENCE) == 2
            return False
        with pytest.raises(KeyboardInterrupt):
            traced.result(PATIENCE)
        assert together.ask(9) == 18
        return True


def test_an_interrupt_anywhere_as_one_leaves_strands_nobody():
    interrupted = list(itertools.takewhile(leave_interrupted_at, itertools.count(1)))
    assert len(interrupted) > 10


@pytest.fixture
def ctrl_c():
    """Ctrl-C as a terminal has it: a process that was started in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_real_ctrl_c_ends_the_wait_of_its_thread_and_no_other(ctrl_c):
    answer = Held()
    together = Together(answer, most=8)
    main = threading.main_thread()
    assert threading.current_thread() is main
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(together.ask, 0)
        assert answer.first_is_on.wait(PATIENCE)
        other = pool.submit(together.ask, 1)
        wait_until(lambda: len(together._waiting) == 1)

        def press():
            wait_until(lambda: len(together._waiting) == 2)
            signal.pthread_kill(main.ident, signal.SIGINT)

        pressed = pool.submit(press)
        with pytest.raises(KeyboardInterrupt):
            together.ask(2)
        pressed.result(PATIENCE)
        answer.go_on.set()
        assert (first.result(PATIENCE), other.result(PATIENCE)) == (0, 2)
    assert answer.batches == [[0], [1]]


def test_who_waits_no_longer_is_not_waited_for_when_what_was_begun_is_done_again(monkeypatch):
    """1 answers for 2 and 3; meanwhile 2 gives up, then 1 is interrupted: 3 answers for itself alone."""
    gave_up, begun = threading.Event(), threading.Event()

    def refuse(batch):
        if batch == [1, 2, 3]:
            begun.set()
            assert gave_up.wait(PATIENCE)
            raise KeyboardInterrupt

    class Turn:
        """A lock whose wait is interrupted once the batch is begun."""

        def __init__(self):
            self.lock = threading.Lock()

        def acquire(self):
            if threading.current_thread() is not impatient or not self.lock.locked():
                return self.lock.acquire()
            assert begun.wait(PATIENCE)
            raise KeyboardInterrupt

        def release(self):
            self.lock.release()

        def locked(self):
            return self.lock.locked()

    original = module._Call.__init__

    def with_turn(self, request):
        original(self, request)
        if threading.current_thread() is impatient:
            self.turn = Turn()
            self.turn.lock.acquire()

    def give_up():
        with pytest.raises(KeyboardInterrupt):
            together.ask(2)
        gave_up.set()

    impatient = threading.Thread(target=give_up)
    monkeypatch.setattr(module._Call, "__init__", with_turn)
    answer = Held(refuse)
    together = Together(answer, most=8)
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(together.ask, 0)
        assert answer.first_is_on.wait(PATIENCE)
        interrupted = pool.submit(together.ask, 1)
        wait_until(lambda: len(together._waiting) == 1)
        impatient.start()
        wait_until(lambda: len(together._waiting) == 2)
        other = pool.submit(together.ask, 3)
        wait_until(lambda: len(together._waiting) == 3)
        answer.go_on.set()
        with pytest.raises(KeyboardInterrupt):
            interrupted.result(PATIENCE)
        assert (first.result(PATIENCE), other.result(PATIENCE)) == (0, 6)
    impatient.join(PATIENCE)
    assert answer.batches == [[0], [1, 2, 3], [3]]


@pytest.mark.parametrize("gather", [0.0, 0.5])
def test_many_threads_with_errors_and_interrupts_all_get_what_is_theirs(gather):
    inside, most_inside, batches, interrupts = [], [], [], []
    draw = random.Random(7)

    def answer(batch):
        inside.append(1)
        most_inside.append(len(inside))
        batches.append(len(batch))
        try:
            if draw.random() < 0.1:
                interrupts.append(1)
                raise KeyboardInterrupt
            if any(number % 13 == 5 for number in batch):
                raise ValueError("unlucky")
            return [2 * number for number in batch]
        finally:
            inside.pop()

    together = Together(answer, most=5, gather=gather)

    def ask(thread):
        found = []
        for number in range(thread, 960, 16):
            try:
                found.append((number, together.ask(number)))
            except ValueError:
                found.append((number, "unlucky"))
            except KeyboardInterrupt:
                found.append((number, "interrupted"))
        return found

    with ThreadPoolExecutor(16) as pool:
        found = dict(pair for pairs in pool.map(ask, range(16), timeout=2 * PATIENCE) for pair in pairs)
    assert set(found) == set(range(960))
    for number, got in found.items():
        assert got in ("interrupted", "unlucky" if number % 13 == 5 else 2 * number)
    # An interrupt is one thread's alone, however many it answered for.
    assert list(found.values()).count("interrupted") == len(interrupts)
    assert max(most_inside) == 1
    assert max(batches) <= 5
