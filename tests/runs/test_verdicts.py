"""Verdicts of a run: each once, on disk as they come, and counting only for the answer that they were given on."""

import itertools
import json
import threading

import pytest

from executionrag.errors import UserError
from executionrag.metrics.llm_judge import LLMJudge
from executionrag.metrics.record import Failure, QuestionRecord, Verdict
from executionrag.runs.judging import judge_run
from executionrag.runs.run_folder import RunFolder
from executionrag.runs.verdicts import VerdictLog

GOLD = "Ana Kell"


def record(id, answer=GOLD, **fields):
    known = {"question": f"Question {id}?", "benchmark": "minihop", "type": "bridge", "hops": 2, "gold": ()}
    return QuestionRecord(id=id, answer=answer, answers=(GOLD,), **(known | fields))


def by_gold(inputs):
    verdict = "right" if inputs["prediction"] == inputs["gold_answers"] else "wrong"
    return {"reasoning": "Compared.", "verdict": verdict}


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create(tmp_path / "run", {"lm": "scripted/model"}, "digest", ["q1", "q2", "q3"])


@pytest.fixture
def answered(folder):
    with folder.appending():
        for one in (record("q2", "Joren Pask"), record("q1"), record("q3", "", abstained=True)):
            folder.append(one, {})
    return folder


@pytest.fixture
def judge(scripted):
    """`judge(label, reply)` -> a judge and the engine that counts what it is asked."""

    def make(label="judge-a", reply=by_gold):
        lm, engine = scripted({"judge": reply})
        return LLMJudge(lm, label=label), engine

    return make


def lines(folder):
    return [json.loads(line) for line in (folder.path / "verdicts.jsonl").read_text().splitlines()]


def verdicts(folder):
    return {key: found.verdict for key, found in sorted(folder.verdicts().items())}


def test_each_answer_is_judged_once_and_the_run_sees_it(answered, judge):
    made, engine = judge()
    judged = judge_run(answered, made)
    assert verdicts(answered) == {"q1": "right", "q2": "wrong", "q3": "wrong"}
    assert engine.counts["judge"] == 2  # the abstention is not asked about
    assert (judged.new, judged.reused, judged.right, judged.accuracy) == (3, 0, 1, 1 / 3)
    assert list(judged.verdicts) == ["q1", "q2", "q3"]
    assert sorted(line["id"] for line in lines(answered)) == ["q1", "q2", "q3"]


def test_the_answers_stay_untouched(answered, judge):
    before = (answered.path / "records.jsonl").read_bytes()
    judge_run(answered, judge()[0])
    assert (answered.path / "records.jsonl").read_bytes() == before


def test_the_same_judge_is_not_asked_twice(answered, judge):
    made, engine = judge()
    judge_run(answered, made)
    before = lines(answered)
    judged = judge_run(answered, made)
    assert engine.counts["judge"] == 2
    assert lines(answered) == before
    assert (judged.new, judged.reused, judged.cost, judged.prompt_tokens) == (0, 3, 0, 0)
    assert judged.accuracy == 1 / 3


def test_unless_told_to(answered, judge):
    made, engine = judge()
    judge_run(answered, made)
    assert judge_run(answered, made, again=True).new == 3
    assert engine.counts["judge"] == 4


def test_another_judge_replaces_what_counts(answered, judge):
    judge_run(answered, judge()[0])
    judge_run(answered, judge("judge-b", lambda _: {"reasoning": "", "verdict": "right"})[0])
    assert verdicts(answered) == {"q1": "right", "q2": "right", "q3": "wrong"}
    assert {found.judge for found in answered.verdicts().values()} == {"judge-b"}


def test_the_first_judge_comes_back_at_no_cost(answered, judge):
    first, engine = judge()
    judge_run(answered, first)
    judge_run(answered, judge("judge-b", lambda _: {"reasoning": "", "verdict": "right"})[0])
    judged = judge_run(answered, first)
    assert engine.counts["judge"] == 2
    assert (judged.reused, judged.cost) == (3, 0)
    back = answered.verdicts()["q2"]
    assert (back.judge, back.verdict, back.cached, back.cost, back.prompt_tokens) == ("judge-a", "wrong", True, 0.0, 0)


def test_a_verdict_on_an_answer_that_changed_does_not_count(answered, judge):
    made, engine = judge()
    judge_run(answered, made)
    with answered.appending():
        answered.append(record("q2", GOLD), {})
    assert verdicts(answered) == {"q1": "right", "q3": "wrong"}
    judged = judge_run(answered, made)
    assert (judged.new, judged.reused) == (1, 2)
    assert verdicts(answered)["q2"] == "right"
    assert engine.counts["judge"] == 3


def test_an_abstention_is_another_answer_than_the_same_words(folder):
    log = VerdictLog(folder)
    with log.appending():
        log.append(Verdict(id="q1", judge="a", answer="x", verdict="right"))
    assert log.standing(record("q1", "x")) is not None
    assert log.standing(record("q1", "x", abstained=True)) is None


def test_only_questions_that_were_not_judged_are_asked(answered, judge):
    (answered.path / "verdicts.jsonl").write_text(
        Verdict(id="q2", judge="judge-a", answer="Joren Pask", verdict="wrong", cost=0.1).model_dump_json() + "\n"
    )
    made, engine = judge()
    judged = judge_run(answered, made)
    assert (judged.new, judged.reused, engine.counts["judge"]) == (2, 1, 1)


def test_a_torn_last_line_is_judged_again(answered, judge):
    made, _ = judge()
    judge_run(answered, made)
    file = answered.path / "verdicts.jsonl"
    file.write_bytes(file.read_bytes()[:-20])
    assert len(answered.verdicts()) == 2
    assert judge_run(answered, made).new == 1
    assert len(answered.verdicts()) == len(lines(answered)) == 3


def test_a_damaged_line_is_named(answered, judge):
    (answered.path / "verdicts.jsonl").write_text('{"id": "q1"}\n')
    with pytest.raises(UserError, match=r"verdicts\.jsonl:1: no Verdict"):
        judge_run(answered, judge()[0])


def test_a_failed_question_is_wrong_and_not_asked_about(folder, judge):
    with folder.appending():
        folder.append(record("q1", "", failure=Failure(error="LMServerError", step="answer", message="down")), {})
    made, engine = judge()
    judged = judge_run(folder, made)
    assert (judged.right, judged.accuracy, judged.failures) == (0, 0.0, [])
    assert not engine.prompts


class TestVerdictsThatFailed:
    def test_stand_outside_with_both_bounds(self, answered, judge):
        def reply(inputs):
            return "prose" if inputs["prediction"] == "Joren Pask" else by_gold(inputs)

        judged = judge_run(answered, judge(reply=reply)[0])
        assert [found.id for found in judged.failures] == ["q2"]
        assert (judged.accuracy, judged.bounds) == (1 / 2, (1 / 3, 2 / 3))
        assert answered.verdicts()["q2"].error

    def test_are_asked_again_the_next_time(self, answered, judge):
        judge_run(answered, judge(reply=lambda _: "prose")[0])
        made, engine = judge()
        judged = judge_run(answered, made)
        assert (judged.new, judged.reused, engine.counts["judge"]) == (2, 1, 2)
        assert not judged.failures

    def test_do_not_end_the_run(self, answered, judge):
        from dspy import lm15

        judged = judge_run(answered, judge(reply=lambda _: lm15.ServerError("down", status=500))[0])
        assert len(judged.failures) == 2
        assert judged.accuracy == 0.0  # of the one that needed no judge

    def test_leave_no_accuracy_where_there_is_nothing_else(self, folder, judge):
        with folder.appending():
            folder.append(record("q1"), {})
        judged = judge_run(folder, judge(reply=lambda _: "prose")[0])
        assert (judged.accuracy, judged.bounds) == (None, (0.0, 1.0))


def test_many_threads_write_each_verdict_once(tmp_path, judge):
    ids = [f"q{number}" for number in range(60)]
    folder = RunFolder.create(tmp_path / "many", {"lm": "m"}, "d", ids)
    with folder.appending():
        for number, id in enumerate(ids):
            folder.append(record(id, GOLD if number % 3 else "Joren Pask"), {})
    told = []
    made, engine = judge()
    judged = judge_run(folder, made, threads=8, progress=lambda done, total: told.append((done, total)))
    assert engine.counts["judge"] == 60
    assert sorted(line["id"] for line in lines(folder)) == sorted(ids)
    assert (list(judged.verdicts), judged.right) == (ids, 40)
    assert told == [(done, 60) for done in range(1, 61)]


def test_tokens_and_cost_are_the_judges_own(answered, judge):
    judged = judge_run(answered, judge()[0])
    assert judged.prompt_tokens == sum(line["prompt_tokens"] for line in lines(answered)) > 0
    assert judged.cost is None  # the scripted model has no price
    assert all(one.usage.prompt_tokens == 0 for one in answered.records())


def test_an_interrupt_keeps_what_was_said_and_what_is_in_flight(tmp_path, judge):
    ids = [f"q{number}" for number in range(20)]
    folder = RunFolder.create(tmp_path / "many", {"lm": "m"}, "d", ids)
    with folder.appending():
        for id in ids:
            folder.append(record(id), {})
    told, release, order = [], threading.Event(), itertools.count()

    def reply(inputs):
        if next(order) >= 3:  # the fourth is still being judged when the interrupt comes
            release.wait(5)
        return by_gold(inputs)

    def progress(done, total):
        if done == 3:
            raise KeyboardInterrupt

    def notify(text):
        told.append(text)
        release.set()

    with pytest.raises(KeyboardInterrupt):
        judge_run(folder, judge(reply=reply)[0], progress=progress, notify=notify)
    kept = len(lines(folder))
    assert 3 <= kept < 20
    assert all("in flight" in text for text in told)
    made, engine = judge()
    assert judge_run(folder, made).new == 20 - kept
    assert engine.counts["judge"] == 20 - kept


def test_two_processes_do_not_judge_one_run_at_a_time(answered, judge):
    with VerdictLog(answered).appending(), pytest.raises(UserError, match="another process is judging"):
        judge_run(answered, judge()[0])


def test_a_full_disk_is_said_and_keeps_what_was_written(answered, judge, monkeypatch):
    import executionrag.runs.verdicts as module

    whole, calls = module.append_lines, itertools.count()

    def append(file, written):
        if next(calls) == 1:
            raise OSError(28, "No space left on device")
        whole(file, written)

    monkeypatch.setattr(module, "append_lines", append)
    with pytest.raises(UserError, match=r"No space left on device.*kept"):
        judge_run(answered, judge()[0])
    monkeypatch.undo()
    assert 1 <= len(answered.verdicts()) <= 2
