"""A run against a server that fails in every known way ends with a row a question, each of which says what happened."""

import json

import dspy
import pytest

from executionrag import Index, MiniHop
from executionrag.metrics.record import GoldPassage
from executionrag.program.systems import make_system
from executionrag.program.trajectory import AnswerStep, ErrorStep, LMStep
from executionrag.retrievers.corpus import passages_from_rows
from executionrag.runs.backends import make_lm
from executionrag.runs.evaluation import Evaluation
from executionrag.runs.run_folder import RunFolder
from executionrag.tests.runs.fault_server import ALL, TIMEOUT, FaultyServer, serve

QUESTIONS = (*MiniHop.dev, *MiniHop.train)
ONCE, ALWAYS = 1, 1_000

# What goes wrong in a step: the first time that it is asked, or each time.
PASSES = {
    "429": ("initialize", "answer"),
    "500": ("update", "write_query"),
    "503": ("initialize",),
    "hangs briefly": ("write_query",),
    "hangs": ("update",),
    "cut body": ("answer",),
    "truncated": ("update", "initialize"),
    "prose": ("write_query",),
    "empty": ("answer",),
    "wrong ids": ("update",),
    "llama.cpp": ("initialize", "update"),
    "vLLM": ("update",),
}
LASTS = {
    "429": ("initialize",),
    "500": ("update", "answer"),
    "503": ("write_query",),
    "hangs": ("write_query",),
    "cut body": ("update",),
    "refused": ("update",),
    "bad key": ("initialize",),
    "prose": ("initialize", "write_query", "update", "answer"),
    "empty": ("initialize", "answer"),
    "truncated": ("update",),
    "cut short": ("answer",),
    "wrong ids": ("update",),
    "llama.cpp": ("initialize", ALL),
    "vLLM": ("write_query", ALL),
}
FAULTS = [
    (kind, step, times)
    for times, faults in ((ONCE, PASSES), (ALWAYS, LASTS))
    for kind, steps in faults.items()
    for step in steps
]
PASSING = {"429", "500", "503", "hangs briefly", "hangs", "cut body"}
# A fault needs questions; those beyond the list stay well.
PLAN = {question.question: fault for question, fault in zip(QUESTIONS, FAULTS, strict=False)}
IDS = {fault: question.id for question, fault in zip(QUESTIONS, FAULTS, strict=False)}
WELL = [question.id for question in QUESTIONS[len(FAULTS) :]]


def run(folder, index, plan, delays):
    """The rows of a run of all questions, by id, and the server."""
    server = FaultyServer(QUESTIONS, plan)
    run_folder = RunFolder.create(folder, {}, "faults", [question.id for question in QUESTIONS])
    gold = {
        question.id: tuple(
            GoldPassage(title=one.title, passage_id=MiniHop.passage_id(one)) for one in question.supporting
        )
        for question in QUESTIONS
    }
    program = make_system("executionrag", index, max_loops=6)
    evaluation = Evaluation(run_folder, program, index, QUESTIONS, gold, benchmark="minihop", system="executionrag")
    with serve(server) as root, pytest.MonkeyPatch.context() as patch:
        from dspy.clients import execution

        due = execution._delay
        patch.setattr(execution, "_delay", lambda error, attempt: delays.append((error, due(error, attempt))) or 0)
        backend = make_lm("openai/m", api_base=root, api_key="key", num_retries=2, timeout=TIMEOUT, cache=False)
        with run_folder.appending(), dspy.context(lm=backend.lm, adapter=dspy.ChatAdapter()):
            evaluation.run(6)
    lines = (folder / "records.jsonl").read_text(encoding="utf-8").splitlines()
    assert sorted(json.loads(line)["id"] for line in lines) == sorted(question.id for question in QUESTIONS)
    return {record.id: record for record in RunFolder.open(folder).records()}, server


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return Index.build(passages_from_rows(MiniHop.corpus), tmp_path_factory.mktemp("faults") / "index")


@pytest.fixture(scope="module")
def well(tmp_path_factory, index):
    """The rows where nothing goes wrong."""
    rows, _ = run(tmp_path_factory.mktemp("faults") / "well", index, {}, [])
    return rows


@pytest.fixture(scope="module")
def delays():
    return []


@pytest.fixture(scope="module")
def ill(tmp_path_factory, index, delays):
    return run(tmp_path_factory.mktemp("faults") / "faulty", index, PLAN, delays)


@pytest.fixture(scope="module")
def faulty(ill):
    """The rows where the plan is followed."""
    return ill[0]


@pytest.fixture(scope="module")
def asked(ill):
    """How often each step of a question reached the server, failures included."""
    return ill[1].asked


def errors(record):
    return [step for step in record.trajectory if isinstance(step, ErrorStep)]


def row(faulty, kind, step, times):
    return faulty[IDS[kind, step, times]]


def outcome(record):
    """What a fault that passed must not have changed."""
    return record.answer, record.abstained, record.stop_reason, record.retrieved_ids, record.requirements


def test_the_reader_is_right_where_nothing_goes_wrong(well):
    assert [record.id for record in well.values()] == [question.id for question in QUESTIONS]
    assert all(record.answer == record.answers[0] and not record.failure for record in well.values())
    assert {record.stop_reason for record in well.values()} == {"resolved"}


def test_every_question_has_one_row_and_the_well_ones_are_untouched(well, faulty):
    assert list(faulty) == [question.id for question in QUESTIONS]
    for key in WELL:
        assert outcome(faulty[key]) == outcome(well[key])
        assert not errors(faulty[key])


@pytest.mark.parametrize(("kind", "step"), [(kind, step) for kind, step, n in FAULTS if n == ONCE and kind in PASSING])
def test_a_provider_fault_that_passes_is_retried_and_leaves_no_trace(well, faulty, asked, kind, step):
    record = row(faulty, kind, step, ONCE)
    retries = asked[record.question, step] - record.usage.steps[step].calls
    assert retries >= (kind != "hangs briefly")
    assert record.failure is None
    assert outcome(record) == outcome(well[record.id])
    assert not errors(record)


def test_a_rate_limit_is_waited_for_as_long_as_the_server_asks(faulty, delays):
    assert {due for error, due in delays if isinstance(error, dspy.LMRateLimitError)} == {7.0}


@pytest.mark.parametrize(
    ("kind", "step"),
    [("truncated", "update"), ("truncated", "initialize"), ("prose", "write_query"), ("empty", "answer")],
)
def test_an_unreadable_reply_is_asked_again_and_both_calls_count(well, faulty, kind, step):
    record = row(faulty, kind, step, ONCE)
    assert outcome(record) == outcome(well[record.id])
    assert not errors(record)
    assert record.usage.steps[step].calls == well[record.id].usage.steps[step].calls + 1


@pytest.mark.parametrize(
    ("kind", "step", "error", "said"),
    [
        ("429", "initialize", "LMRateLimitError", "Rate limit reached"),
        ("500", "update", "LMServerError", "The server had an error"),
        ("500", "answer", "LMServerError", "The server had an error"),
        ("503", "write_query", "LMServerError", "Loading model"),
        ("hangs", "write_query", "LMTransportError", "timed out"),
        ("cut body", "update", "LMTransportError", "body bytes outstanding"),
        ("refused", "update", "LMInvalidRequestError", "temperature must be at most 2"),
        ("bad key", "initialize", "LMAuthError", "Incorrect API key provided: [key]"),
    ],
)
def test_a_provider_fault_that_lasts_fails_the_question_by_class_and_step(faulty, kind, step, error, said):
    record = row(faulty, kind, step, ALWAYS)
    assert (record.failure.error, record.failure.step) == (error, step)
    assert said in record.failure.message
    assert record.stop_reason == "lm_error"
    assert (record.answer, record.abstained) == ("", False)
    assert [(one.error, one.step, one.fatal) for one in errors(record)] == [(error, step, True)]
    assert record.retrieved, "what was found until then is kept"
    assert not any(isinstance(one, AnswerStep) for one in record.trajectory)


@pytest.mark.parametrize(
    ("kind", "step"),
    [
        ("prose", "initialize"),
        ("prose", "write_query"),
        ("prose", "update"),
        ("prose", "answer"),
        ("empty", "initialize"),
        ("empty", "answer"),
        ("truncated", "update"),
    ],
)
def test_a_step_that_never_replies_readably_takes_its_default_and_says_so(faulty, kind, step):
    record = row(faulty, kind, step, ALWAYS)
    assert record.failure is None
    assert {(one.error, one.step, one.fatal) for one in errors(record)} == {("AdapterParseError", step, False)}
    assert not any(isinstance(one, LMStep) and one.step == step for one in record.trajectory)


@pytest.mark.parametrize("kind", ["prose", "empty"])
def test_without_a_plan_the_question_is_the_requirement(faulty, kind):
    record = row(faulty, kind, "initialize", ALWAYS)
    assert [item.text for item in record.requirements] == [record.question]


def test_without_a_query_the_requirement_is_searched_for(well, faulty):
    record = row(faulty, "prose", "write_query", ALWAYS)
    assert record.retrieved_ids == well[record.id].retrieved_ids
    assert record.answer == well[record.id].answer


@pytest.mark.parametrize("kind", ["prose", "truncated"])
def test_without_updates_nothing_is_resolved_and_the_budget_ends_the_search(faulty, kind):
    record = row(faulty, kind, "update", ALWAYS)
    assert record.stop_reason == "budget_loops"
    assert record.usage.loops == len(errors(record)) == 6
    assert {item.status for item in record.requirements} <= {"active", "pending"}
    assert (record.answer, record.abstained) == ("", True)


@pytest.mark.parametrize("kind", ["prose", "empty"])
def test_without_an_answer_the_last_resolved_value_stands(faulty, kind):
    record = row(faulty, kind, "answer", ALWAYS)
    assert record.stop_reason == "resolved"
    assert record.answer == record.requirements[-1].answer != ""


def test_an_answer_cut_short_is_marked_as_truncated(well, faulty):
    record = row(faulty, "cut short", "answer", ALWAYS)
    steps = [one for one in record.trajectory if isinstance(one, LMStep)]
    assert record.answer == well[record.id].answer[:-3]
    assert [one.step for one in steps if one.truncated] == ["answer"]
    others = [one for key in faulty if key != record.id for one in faulty[key].trajectory if isinstance(one, LMStep)]
    assert not any(one.truncated for one in others)


@pytest.mark.parametrize("times", [ONCE, ALWAYS])
def test_wrong_ids_are_refused_and_recorded_and_resolve_nothing(faulty, times):
    record = row(faulty, "wrong ids", "update", times)
    refused = {text for one in record.register_steps for text in one.refused}
    assert {"support of R1: P99 was never returned", "support of R1: Q7 was never returned"} <= refused
    assert any("R77" in text for text in refused)
    assert all(item.answer != "Nowhere" for item in record.requirements)
    assert record.failure is None
    assert not errors(record)


def test_no_item_is_resolved_by_wrong_ids_alone(faulty):
    record = row(faulty, "wrong ids", "update", ALWAYS)
    assert record.stop_reason == "budget_loops"
    assert all(item.status != "resolved" and not item.support for item in record.requirements)
    assert record.abstained


@pytest.mark.parametrize(("kind", "step"), [("llama.cpp", "initialize"), ("llama.cpp", "update"), ("vLLM", "update")])
def test_an_overflow_that_fewer_passages_avoid_is_recorded_and_answered(well, faulty, kind, step):
    record = row(faulty, kind, step, ONCE)
    assert (record.failure, record.stop_reason) == (None, "resolved")
    assert record.answer == well[record.id].answer
    assert [(one.step, one.fatal) for one in errors(record)] == [(step, False)]


@pytest.mark.parametrize(("kind", "step"), [("llama.cpp", "initialize"), ("vLLM", "write_query")])
def test_an_overflow_that_lasts_in_one_step_ends_the_search_and_forces_the_answer(faulty, kind, step):
    record = row(faulty, kind, step, ALWAYS)
    assert (record.failure, record.stop_reason) == (None, "context_overflow")
    assert {(one.step, one.fatal) for one in errors(record)} == {(step, False)}
    assert record.abstained, "the forced answer of the reader"
    assert [one.forced for one in record.trajectory if isinstance(one, AnswerStep)] == [True]


@pytest.mark.parametrize("kind", ["llama.cpp", "vLLM"])
def test_an_overflow_of_every_step_fails_the_question(faulty, kind):
    record = row(faulty, kind, ALL, ALWAYS)
    assert record.stop_reason == "context_overflow"
    assert (record.failure.error, record.failure.step) == ("LMInvalidRequestError", "force_answer")
    assert (record.answer, record.abstained) == ("", False)


def test_failed_rows_are_exactly_those_of_lasting_provider_faults(faulty):
    lasting = {*PASSING, "refused", "bad key"}
    failed = {IDS[fault] for fault in FAULTS if fault[2] == ALWAYS and (fault[0] in lasting or fault[1] == ALL)}
    assert {key for key, record in faulty.items() if record.failure} == failed
