"""Each question is answered once and has one row, whatever `dspy.Evaluate`, the program or the disk does."""

import functools
import resource
import threading
import time
from collections import Counter
from contextlib import contextmanager
from types import SimpleNamespace

import dspy
import pytest

from executionrag.errors import UserError
from executionrag.metrics.record import GoldPassage
from executionrag.program.systems import make_system
from executionrag.program.trajectory import Found, SearchStep
from executionrag.program.usage import LMCall, Usage
from executionrag.runs.benchmarks.record import BenchmarkQuestion, Paragraph
from executionrag.runs.evaluation import Evaluation, Tally, describe
from executionrag.runs.run_folder import RunFolder


def make_questions(n):
    gold = (Paragraph("Gold", "A gold passage."),)
    return [
        BenchmarkQuestion(f"q{i}", f"Question {i}?", f"Answer {i}", (), 2, "bridge", gold, (), ()) for i in range(n)
    ]


class Texts:
    """The texts of passages, all that the control flow needs of an index."""

    def passage(self, passage_id):
        return SimpleNamespace(title=f"Title of {passage_id}", text=f"Text of {passage_id}")


def prediction(answer, *, stop_reason="resolved", trajectory=(), usage=None):
    known = {"explanation": "", "abstained": False, "requirements": (), "citations": []}
    return dspy.Prediction(
        answer=answer, stop_reason=stop_reason, trajectory=list(trajectory), usage=usage or Usage(), **known
    )


def found_by_search(*passage_ids):
    found = tuple(
        Found(alias=f"P{rank}", passage_id=key, title="", rank=rank, score=1.0, new=True, full=True)
        for rank, key in enumerate(passage_ids, start=1)
    )
    return SearchStep(loop=0, target=None, tool="semantic_search", query="?", found=found, repeated=False, note="")


class Program(dspy.Module):
    """A system that does what a test says, and counts what it is asked."""

    def __init__(self, reply):
        super().__init__()
        self.reply, self.asked, self.lock = reply, Counter(), threading.Lock()

    def forward(self, question):
        with self.lock:
            self.asked[question] += 1
        return self.reply(question)


def right(question):
    return prediction(question.replace("Question", "Answer").rstrip("?"))


@pytest.fixture
def run_folder(tmp_path):
    return RunFolder.create(tmp_path / "run", {"benchmark": "minihop"}, "digest", [f"q{i}" for i in range(20)])


@pytest.fixture
def prepare(run_folder):
    def make(program, n=4, index=None, **options):
        program = program if isinstance(program, dspy.Module) else Program(program)
        questions = make_questions(n)
        gold = {one.id: (GoldPassage(title="Gold", passage_id="g"),) for one in questions}
        known = {"benchmark": "minihop", "system": "test"} | options
        return Evaluation(run_folder, program, index or Texts(), questions, gold, **known)

    return make


@pytest.fixture
def evaluate(prepare, run_folder):
    """`evaluate(reply, n, threads=2)` gives the rows; what the run raises is raised once the folder is let go."""

    def go(program, n=4, threads=2, **options):
        with run_folder.appending():
            prepare(program, n, **options).run(threads)
        return run_folder.records()

    return go


def lines(run_folder):
    return (run_folder.path / "records.jsonl").read_text().splitlines()


class TestOnce:
    @pytest.mark.parametrize("threads", [1, 3])
    def test_each_question_is_asked_once_and_has_one_row(self, threads, evaluate, run_folder):
        program = Program(right)
        records = evaluate(program, 9, threads)
        assert set(program.asked.values()) == {1}
        assert [record.id for record in records] == [f"q{i}" for i in range(9)]
        assert len(lines(run_folder)) == 9
        assert [record.answer for record in records] == [f"Answer {i}" for i in range(9)]

    def test_a_straggler_that_evaluate_starts_again_waits_for_the_first(self, monkeypatch, evaluate, run_folder):
        import dspy.evaluate.evaluate as module

        monkeypatch.setattr(module, "ParallelExecutor", functools.partial(module.ParallelExecutor, timeout=0.3))
        called, answer = Counter(), Evaluation.answer

        def spied(self, question_id):
            called[question_id] += 1
            return answer(self, question_id)

        monkeypatch.setattr(Evaluation, "answer", spied)

        def slow(question):
            time.sleep(2.5 if question == "Question 1?" else 0)
            return right(question)

        program = Program(slow)
        records = evaluate(program, 4, threads=3)
        assert called["q1"] > 1, "Evaluate has not started it again: the test tests nothing"
        assert program.asked["Question 1?"] == 1
        assert (len(records), len(lines(run_folder))) == (4, 4)
        assert records[1].answer == "Answer 1"

    def test_a_row_is_on_disk_before_its_finish_is_told(self, evaluate, run_folder):
        seen = []
        evaluate(
            right, 3, finished=lambda record: seen.append(f'"id":"{record.id}"' in lines(run_folder)[-1]), threads=1
        )
        assert seen == [True, True, True]

    def test_passages_are_stored_once_gold_ones_too(self, evaluate, run_folder):
        evaluate(lambda question: prediction("x", trajectory=[found_by_search("a", "b")]), 3)
        assert run_folder.passages() == {key: (f"Title of {key}", f"Text of {key}") for key in ("a", "b", "g")}
        assert len((run_folder.path / "passages.jsonl").read_text().splitlines()) == 3

    def test_no_questions_is_no_work(self, evaluate):
        assert evaluate(right, 0) == []


class TestFailures:
    def test_an_exception_becomes_a_row_with_its_class_and_one_line(self, evaluate):
        def reply(question):
            if question == "Question 2?":
                raise ZeroDivisionError("by zero\nof all things")
            return right(question)

        records = evaluate(reply)
        assert [record.failure is None for record in records] == [True, True, False, True]
        failure = records[2].failure
        assert (failure.error, failure.step, failure.message) == (
            "ZeroDivisionError",
            "program",
            "by zero of all things",
        )
        assert records[2].usage.cost is None  # what it had spent is unknown
        assert records[2].question == "Question 2?"
        assert records[2].gold_ids == ("g",)

    def test_no_number_of_exceptions_ends_the_run(self, evaluate):
        def reply(question):
            raise KeyError(question)

        records = evaluate(reply, 15)
        assert [record.failure.error for record in records] == ["KeyError"] * 15

    def test_a_key_in_an_exception_is_masked(self, evaluate, monkeypatch):
        monkeypatch.setenv("SOME_API_KEY", "quite-a-secret-value")

        def reply(question):
            raise ValueError("refused quite-a-secret-value")

        assert evaluate(reply, 1)[0].failure.message == "refused [key]"

    def test_a_prediction_that_is_none_is_a_failed_row(self, evaluate):
        assert evaluate(lambda _: dspy.Prediction(answer="x"), 1)[0].failure.error == "AttributeError"

    def test_an_lm_that_failed_is_a_failed_row_that_keeps_what_was_found(self, evaluate):
        record = evaluate(lambda _: prediction("", stop_reason="lm_error", trajectory=[found_by_search("a")]), 1)[0]
        assert (record.failure.error, record.stop_reason, record.retrieved_ids) == ("lm_error", "lm_error", ("a",))

    @pytest.mark.parametrize(
        "error", [UserError("no encoder here; fetch it"), dspy.LMNotConfiguredError("no key", model="openai/m")]
    )
    def test_what_would_fail_every_question_ends_the_run(self, error, evaluate, run_folder):
        def reply(question):
            if question == "Question 2?":
                raise error
            return right(question)

        program = Program(reply)
        with pytest.raises(type(error)):
            evaluate(program, 20, threads=1)
        assert [record.id for record in run_folder.records()] == ["q0", "q1"]
        assert sum(program.asked.values()) == 3

    def test_whoever_is_told_and_fails_ends_the_run_with_the_row_kept(self, evaluate, run_folder):
        def finished(record):
            raise BrokenPipeError

        with pytest.raises(BrokenPipeError):
            evaluate(right, 20, threads=1, finished=finished)
        assert [record.id for record in run_folder.records()] == ["q0"]

    def test_a_reply_that_no_file_can_hold_still_has_its_row(self, evaluate):
        assert evaluate(lambda _: prediction("half \ud83d a smile"), 1)[0].answer == "half \ufffd a smile"


class TestFolder:
    def test_a_torn_last_line_is_no_row_and_is_cut_off(self, evaluate, run_folder):
        evaluate(right, 2)
        for name in ("records.jsonl", "passages.jsonl"):
            with (run_folder.path / name).open("a") as file:
                file.write('{"id": "q2", "ques')
        assert [record.id for record in RunFolder.open(run_folder.path).records()] == ["q0", "q1"]
        assert [record.id for record in evaluate(right, 4)] == ["q0", "q1", "q2", "q3"]
        assert len(run_folder.passages()) == 1

    def test_a_damaged_line_elsewhere_is_named(self, evaluate, run_folder):
        evaluate(right, 2)
        file = run_folder.path / "records.jsonl"
        file.write_text("{}\n" + file.read_text())
        with pytest.raises(UserError, match=r"records\.jsonl:1: no QuestionRecord \(field `id`"):
            run_folder.records()
        (run_folder.path / "passages.jsonl").write_text("nonsense\n")
        with pytest.raises(UserError, match=r"passages\.jsonl:1: no "):
            run_folder.passages()

    def test_a_second_writer_is_refused_until_the_first_is_done(self, run_folder):
        other = RunFolder.open(run_folder.path)
        said = "another process is writing to this run"
        with run_folder.appending(), pytest.raises(UserError, match=said), other.appending():
            pass
        with other.appending():
            pass

    @pytest.mark.parametrize("error", [BlockingIOError("busy"), PermissionError("no")])
    def test_what_goes_wrong_meanwhile_is_not_taken_for_a_second_writer(self, error, run_folder):
        with pytest.raises(type(error)), run_folder.appending():
            raise error

    def test_a_read_only_folder_is_said(self, run_folder, monkeypatch):
        import executionrag.runs.jsonl as module

        def refuse(*_):
            raise OSError(30, "Read-only file system")

        monkeypatch.setattr(module, "os", SimpleNamespace(**{**vars(module.os), "open": refuse}))
        said = r"records\.jsonl: cannot be written \(Read-only.*give another --out"
        with pytest.raises(UserError, match=said), run_folder.appending():
            pass

    def test_a_full_disk_keeps_the_rows_and_the_next_run_goes_on(self, evaluate, run_folder):
        long = "word " * 400
        program = Program(lambda question: prediction(long))
        with (
            disk_of(8_000),
            pytest.raises(UserError, match=r"cannot be written \(File too large\); rows so far are kept"),
        ):
            evaluate(program, 20)
        kept = [record.id for record in run_folder.records()]
        assert 1 <= len(kept) <= 3
        assert sum(program.asked.values()) <= len(kept) + 3  # no question began once the disk was full
        assert len(lines(run_folder)) == len(kept)
        assert (run_folder.path / "records.jsonl").read_text().endswith("\n")
        assert len(evaluate(program, 20)) == 20


@contextmanager
def disk_of(size):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("threads", [1, 2])
def test_once_stopped_what_is_in_flight_is_kept_and_nothing_begins(threads, prepare, run_folder):
    begun, go_on = threading.Semaphore(0), threading.Event()

    def reply(question):
        begun.release()
        go_on.wait(10)
        return right(question)

    program = Program(reply)
    evaluation = prepare(program, 20)
    with run_folder.appending():
        thread = threading.Thread(target=evaluation.run, args=(threads,))
        thread.start()
        for _ in range(threads):
            assert begun.acquire(timeout=10)
        assert sorted(evaluation.in_flight) == [f"q{i}" for i in range(threads)]
        evaluation.stop()
        go_on.set()
        thread.join(10)
    assert [record.id for record in run_folder.records()] == [f"q{i}" for i in range(threads)]
    assert evaluation.in_flight == []


SCRIPT = {
    "initialize": lambda inputs: {"requirements": [{"text": f"{inputs['question']} {n}"} for n in range(3)]},
    "select": lambda inputs: {"selected_id": inputs["open_ids"].split(",")[0]},
    "write_query": lambda inputs: {"missing": "all", "tool": "keyword_search", "query": inputs["target"]},
    "update": lambda _: "no form at all",
    "answer": lambda _: {"explanation": "", "abstained": "false", "answer": "Answer"},
    "force_answer": lambda _: {"explanation": "", "abstained": "false", "answer": "Answer"},
}


class TestWithTheProgram:
    """The program itself, real retrieval, and a scripted LM that takes many calls."""

    def test_what_a_question_used_is_the_same_as_outside(self, evaluate, scripted, small_index):
        lm, _ = scripted(SCRIPT)
        program = make_system("executionrag", small_index, max_loops=8)
        with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
            texts = evaluate(program, 5, threads=4, index=_WithGold(small_index))
            alone = [program(question=question.question).usage for question in make_questions(5)]
        assert alone[0].calls > 20
        for record, usage in zip(texts, alone, strict=True):
            assert record.usage.model_copy(update={"seconds": usage.seconds}) == usage
        assert len(program.history) <= 16 + 5 * alone[0].calls

    def test_an_exception_names_the_step_in_which_it_arose(self, evaluate, scripted, small_index):
        class Broken(dspy.Module):
            def forward(self, **_):
                raise TypeError("of the program's own")

        lm, _ = scripted(SCRIPT)
        program = make_system("executionrag", small_index, max_loops=2)
        program.write_query = Broken()
        with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
            record = evaluate(program, 1, index=_WithGold(small_index))[0]
        assert (record.failure.error, record.failure.step) == ("TypeError", "write_query")

    def test_one_in_a_search_too(self, evaluate, scripted, small_index):
        class Broken(_WithGold):
            def semantic_search(self, query, k):
                raise RuntimeError("lost")

        lm, _ = scripted(SCRIPT)
        index = Broken(small_index)
        with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
            record = evaluate(make_system("executionrag", index), 1, index=index)[0]
        assert (record.failure.error, record.failure.step, record.failure.message) == ("RuntimeError", "search", "lost")


class _WithGold:
    def __init__(self, index):
        self._index = index

    def passage(self, passage_id):
        return Texts().passage("g") if passage_id == "g" else self._index.passage(passage_id)

    def __getattr__(self, name):
        return getattr(self._index, name)


def test_the_tally_counts_what_the_bar_shows(evaluate):
    def reply(question):
        if question == "Question 3?":
            raise ValueError
        usage = Usage()
        usage.add("answer", [LMCall(model="m", text="", cost=0.25)])
        return prediction("Answer 0", trajectory=[found_by_search("g", "a")], usage=usage)

    records = evaluate(reply, 4)
    assert str(Tally(records[:3])) == "contain 1/3, recall 1.00, $0.75, 0 failed"
    assert str(Tally(records)) == "contain 1/4, recall 0.75, cost unknown, 1 failed"
    assert describe(records[0]) == "q0 right, gold 1/1, 0 s"
    assert describe(records[1]) == "q1 wrong, gold 1/1, 0 s"
    assert describe(records[3]) == "q3 failed, gold 0/1, 0 s"
