"""Steps can be watched as they happen; watching changes nothing."""

import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor

from executionrag.program.trajectory import dump_trajectory
from executionrag.program.watching import watching


def test_each_step_is_shown_in_order_the_moment_it_is_recorded(play, chain):
    seen, asked = [], []
    script = {
        step: (lambda inputs, step=step, reply=reply: (asked.append((step, len(seen))), reply(inputs))[1])
        for step, reply in chain.items()
    }
    with watching(seen.append):
        played = play(script)
    assert seen == played.prediction.trajectory
    # When the first query was asked for, the seed, the reply and the register had been shown.
    assert asked[:2] == [("initialize", 1), ("write_query", 3)]


def test_nothing_is_shown_outside_the_block(play, chain):
    seen = []
    with watching(seen.append):
        pass
    play(chain, max_loops=0)
    assert seen == []


def test_the_inner_watcher_is_the_one_that_sees(play, chain):
    outer, inner = [], []
    with watching(outer.append):
        with watching(inner.append):
            play(chain, max_loops=0)
        assert outer == []
        play(chain, max_loops=0)
    assert len(outer) == len(inner) > 0


def test_a_watcher_that_fails_is_logged_and_the_answer_is_the_same(play, chain, caplog):
    def broken(_):
        raise RuntimeError("no terminal")

    quiet = play(chain).prediction
    with watching(broken):
        watched = play(chain).prediction
    assert dump_trajectory(watched.trajectory) == dump_trajectory(quiet.trajectory)
    assert "the watcher of this question failed" in caplog.text


def test_another_threads_questions_are_not_shown(play, chain):
    seen = []
    with watching(seen.append):
        thread = threading.Thread(target=play, args=(chain,), kwargs={"max_loops": 0})
        thread.start()
        thread.join()
    assert seen == []


def test_a_thread_with_its_own_watcher_sees_its_own_question(play, chain):
    def one(max_loops):
        seen = []
        with watching(seen.append):
            prediction = play(chain, max_loops=max_loops).prediction
        return seen == prediction.trajectory

    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(contextvars.copy_context().run, one, loops) for loops in (0, 1, 2, 3)]
        assert all(future.result() for future in futures)
