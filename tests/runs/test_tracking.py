"""A finished run in MLflow: everything once, nothing secret, and no trouble there costs a result."""

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path

import pytest

from executionrag import Index, MiniHop
from executionrag.metrics.record import GoldHop, GoldPassage, QuestionRecord, Retrieved
from executionrag.program.prompts import render_prompts
from executionrag.program.register import Requirement
from executionrag.program.systems import SYSTEMS
from executionrag.program.trajectory import AnswerStep, ErrorStep, Found, LMStep, RegisterStep, SearchStep
from executionrag.program.usage import StepUsage, Usage
from executionrag.retrievers.corpus import passages_from_rows
from executionrag.runs.cli import main
from executionrag.runs.commands.track import track_finished
from executionrag.runs.git_commit import git_commit
from executionrag.runs.output import Console
from executionrag.runs.run_folder import RunFolder
from executionrag.runs.system_run import command_line
from executionrag.runs.tracking.figures import figures
from executionrag.runs.tracking.store import hide, tracking_uri
from executionrag.runs.tracking.track import run_name, track
from executionrag.signatures.answer_question import AnswerQuestion
from executionrag.signatures.initialize_register import InitializeRegister

pytest.importorskip("mlflow")
# One reply to all: no requirement, so straight to the answer.
FIELDS = {**InitializeRegister.output_fields, **AnswerQuestion.output_fields}
SECTIONS = {name: "as read" if field.annotation is str else "[]" for name, field in FIELDS.items()}
SECTIONS |= {"abstained": "false", "answer": "Tarn"}
REPLY = "\n\n".join(f"[[ ## {name} ## ]]\n{value}" for name, value in SECTIONS.items())
KEY = "sk-test-51f0c2b7a9d84e63"
SETTINGS = {
    "system": "executionrag",
    "variant": "",
    "lm": "test/lm@abc",
    "benchmark": "minihop",
    "benchmark_digest": "bd",
    "index_digest": "id",
    "encoder": "org/mini",
    "seed": 0,
}


def record(name, *, right=True):
    item = Requirement(id="R1", text="Who composed it?", status="resolved", answer="Ana", support=("a",))
    found = (Found(alias="P1", passage_id="a", title="A", rank=1),)
    return QuestionRecord(
        id=name,
        question=f"Who composed {name}?",
        benchmark="minihop",
        type="bridge",
        hops=1,
        answers=("Ana Kell",),
        gold=(GoldPassage(title="A", passage_id="a"),),
        chain=(GoldHop(question="Who?", answer="Ana Kell", gold=0),),
        answer="Ana Kell" if right else "Bo",
        stop_reason="resolved",
        requirements=(item,),
        retrieved=(Retrieved(passage_id="a", loop=0, tool="semantic_search", query="q", rank=1, full=True),),
        trajectory=(
            SearchStep(loop=0, target=None, tool="semantic_search", query="q", found=found),
            LMStep(loop=0, step="initialize", outputs={"one_hop_questions": ["Who composed it?"]}),
            RegisterStep(loop=0, cause="initialize", changed=(item,)),
            LMStep(loop=1, step="write_query", outputs={"query": "q"}),
            SearchStep(loop=1, target="R1", tool="keyword_search", query="q", found=found),
            ErrorStep(loop=1, step="update", error="AdapterParseError", message="no list"),
            LMStep(loop=1, step="answer", outputs={"answer": "Ana Kell"}),
            AnswerStep(loop=1, forced=False, answer="Ana Kell", explanation="", abstained=False, shown=("a",)),
        ),
        usage=Usage(calls=3, prompt_tokens=100, cost=None, seconds=2.5, steps={"answer": StepUsage(calls=1)}),
    )


def make_run(place, n=6, **settings):
    names = [f"q{number:04d}" for number in range(n)]
    folder = RunFolder.create(place, SETTINGS | settings, f"digest-{sorted(settings.items())}", names)
    with folder.appending():
        for number, name in enumerate(names):
            folder.append(record(name, right=number % 2 == 0), {"a": ("A", "Ana Kell composed it.")})
    return place


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory):
    """A store as MLflow makes it on first use, which takes seconds: made once, copied for each test."""
    from mlflow import MlflowClient

    from executionrag.runs.tracking.store import quiet_mlflow

    place = tmp_path_factory.mktemp("store") / "mlflow.db"
    with quiet_mlflow():
        MlflowClient(f"sqlite:///{place}").search_experiments()
    return place


@pytest.fixture
def store(empty_store, command_line, tmp_path):
    """The default store of the working folder."""
    command_line.delenv("MLFLOW_TRACKING_URI", raising=False)
    place = tmp_path / "mlflow" / "mlflow.db"
    place.parent.mkdir()
    shutil.copy(empty_store, place)
    return place


def runs_in(store):
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{store}")
    return client, client.search_runs([one.experiment_id for one in client.search_experiments()])


def tracked_text(store, run, name):
    [found] = (store.parent / "artifacts").rglob(f"{run.info.run_id}/artifacts/{name}")
    return found.read_text(encoding="utf-8")


def evaluate_end(folder, uri=None):
    """What `evaluate --mlflow` does when its questions are answered."""
    track_finished(folder, Namespace(tracking_uri=uri, trace_sample=0), Console.standard())


def test_a_run_is_there_whole(store, tmp_path, capsys):
    assert main(["track", str(make_run(tmp_path / "run"))]) == 0
    out = capsys.readouterr()
    assert out.out == "MLflow: minihop / executionrag · baseline · test/lm · mini\n"
    assert out.err == ""
    client, [run] = runs_in(store)
    assert client.get_experiment(run.info.experiment_id).name == "minihop"
    metrics = run.data.metrics
    assert metrics["contain"] == 0.5
    assert metrics["contain_n"] == 6
    assert 0 < metrics["contain_low"] < 0.5 < metrics["contain_high"] < 1
    assert metrics["evidence_recall"] == 1
    assert metrics["wrong_count"] == 3
    assert metrics["hops/1/contain"] == 0.5
    assert metrics["calls_total"] == 18
    assert "llm_acc" not in metrics  # no judge
    assert "cost_total" not in metrics  # no price
    assert run.data.params["variant"] == "baseline"
    assert run.data.params["lm"] == "test/lm@abc"
    assert run.data.tags["benchmark_digest"] == "bd"
    assert run.data.tags["index_digest"] == "id"
    table = json.loads(tracked_text(store, run, "questions.json"))
    assert [row[0] for row in table["data"]] == [f"q{number:04d}" for number in range(6)]
    assert all(len(row) == len(table["columns"]) for row in table["data"])
    update = SYSTEMS["executionrag"](None).update.signature.instructions
    assert update.splitlines()[0].strip() in tracked_text(store, run, "prompts/update.txt")
    assert "##### update" in tracked_text(store, run, "prompts.txt")
    assert "Ana" in tracked_text(store, run, "registers/01.txt")
    assert tracked_text(store, run, "records.jsonl") == (tmp_path / "run" / "records.jsonl").read_text()
    assert "<html" in tracked_text(store, run, "report.html")


def test_one_state_is_tracked_once_and_a_grown_run_anew(store, tmp_path, capsys):
    place = make_run(tmp_path / "run")
    track(place)
    assert track(place).already
    assert len(runs_in(store)[1]) == 1
    folder = RunFolder.open(place)
    folder.extend([*folder.question_ids, "more"])
    with folder.appending():
        folder.append(record("more"), {})
    assert not track(place).already
    assert len(runs_in(store)[1]) == 2


def test_a_half_written_run_is_replaced(store, tmp_path, monkeypatch):
    place = make_run(tmp_path / "run")
    with monkeypatch.context() as broken:
        broken.setattr("executionrag.runs.tracking.track.write_artifacts", lambda *_: 1 / 0)
        with pytest.raises(Exception, match="ZeroDivisionError"):
            track(place)
    assert [run.info.status for run in runs_in(store)[1]] == ["FAILED"]
    track(place)
    assert [run.info.status for run in runs_in(store)[1]] == ["FINISHED"]


def test_traces_show_the_steps_by_name(store, tmp_path, monkeypatch):
    assert track(make_run(tmp_path / "run"), traces=2).traces == 2
    assert "MLFLOW_TRACKING_URI" not in os.environ
    assert track(make_run(tmp_path / "other", variant="v2")).name.startswith("executionrag · v2")
    assert len(runs_in(store)[1]) == 2  # the second found the same store
    from mlflow import MlflowClient

    traces = MlflowClient(f"sqlite:///{store}").search_traces(locations=["1"])
    assert len(traces) == 2
    spans = traces[0].data.spans
    names = [span.name for span in spans]
    for name in ("executionrag", "seed", "loop 1", "initialize", "search", "write_query", "answer", "update fell back"):
        assert name in names
    by_id = {span.span_id: span for span in spans}
    query = next(span for span in spans if span.name == "write_query")
    assert by_id[query.parent_id].name == "loop 1"
    assert query.outputs == {"query": "q"}


def test_a_thousand_questions_are_cheap(store, tmp_path):
    place = make_run(tmp_path / "run", 1000)
    track(make_run(tmp_path / "small"))  # imports and first use
    before = time.process_time()
    track(place)
    assert (time.process_time() - before) / 1000 < 0.02
    assert store.stat().st_size < 10e6
    run = next(run for run in runs_in(store)[1] if run.data.params["questions_asked"] == "1000")
    assert len(json.loads(tracked_text(store, run, "questions.json"))["data"]) == 1000


def warned_once(capsys, folder):
    said = capsys.readouterr()
    assert said.err.count("\n") == 1, said.err
    assert said.err.startswith("warning: not tracked: ")
    assert f"executionrag track {folder}" in said.err
    assert said.out == ""
    return said.err


def test_a_locked_store_is_one_warning_and_tracked_later(store, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("executionrag.runs.tracking.store._PATIENCE", 0.1)
    place = make_run(tmp_path / "run")
    lock = sqlite3.connect(store, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    evaluate_end(place)
    assert "locked" in warned_once(capsys, place)
    assert main(["track", str(place)]) == 1
    lock.close()
    assert main(["track", str(place)]) == 0
    assert len(runs_in(store)[1]) == 1


def test_a_server_that_is_down_is_one_warning_and_tracked_later(store, tmp_path, capsys):
    place = make_run(tmp_path / "run")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    evaluate_end(place, f"http://me:{KEY}@127.0.0.1:{port}")
    assert KEY not in warned_once(capsys, place)
    assert main(["track", str(place)]) == 0
    assert len(runs_in(store)[1]) == 1


def test_a_store_of_another_version_is_one_warning_and_another_store_takes_the_run(store, tmp_path, capsys):
    place, other = make_run(tmp_path / "run"), tmp_path / "other.db"
    shutil.copy(store, other)
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '000000000000'")
    connection.close()
    evaluate_end(place)
    warned_once(capsys, place)
    assert main(["track", str(place), "--tracking-uri", f"sqlite:///{other}"]) == 0
    assert len(runs_in(other)[1]) == 1


def test_an_old_mlruns_folder_does_not_matter(store, tmp_path):
    old = tmp_path / "mlruns" / "0"
    old.mkdir(parents=True)
    (old / "meta.yaml").write_text("name: Default\nexperiment_id: '0'\nlifecycle_stage: active\n")
    assert not track(make_run(tmp_path / "run")).already


def test_a_full_disk_is_one_warning_and_tracked_later(store, tmp_path, capsys):
    place = make_run(tmp_path / "run", 300)
    program = f"""
import resource, signal
import mlflow.tracking
from pathlib import Path
from argparse import Namespace
from executionrag.runs.commands.track import track_finished
from executionrag.runs.output import Console
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
track_finished(Path({str(place)!r}), Namespace(tracking_uri=None, trace_sample=0), Console.standard())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("warning: not tracked: ")
    assert done.stderr.count("\n") == 1, done.stderr
    assert main(["track", str(place)]) == 0
    assert [run.info.status for run in runs_in(store)[1]] == ["FINISHED"]


def test_no_key_is_written_anywhere(store, tmp_path, monkeypatch):
    import dspy

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    place = make_run(tmp_path / "run")
    with dspy.context(lm=dspy.LM("openai/local", api_key=KEY, api_base="http://127.0.0.1:9/v1")):
        track(place, traces=1)
    assert main(["report", str(place)]) == 0
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert store in files
    assert len(files) > 10
    assert not [file for file in files if KEY.encode() in file.read_bytes()]


def test_a_run_from_question_to_store_and_report_writes_no_key(store, lm_stub, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    lm_stub.key, lm_stub.reply = KEY, REPLY
    Index.build(passages_from_rows(MiniHop.corpus), tmp_path / "index")
    line = ["evaluate", "--benchmark", "minihop", "--index", "index", "--system", "executionrag-question-init"]
    lm = ["--lm", "openai/local-model", "--api-base", lm_stub.root, "--api-key-env", "OPENAI_API_KEY"]
    assert main([*line, *lm, "--limit", "2", "--out", "run", "--mlflow", "--trace-sample", "1"]) == 0
    lm_stub.error, lm_stub.status = {"error": {"message": f"{KEY} may not", "type": "test"}}, 403
    assert main([*line, *lm, "--limit", "3", "--out", "run", "--no-cache", "--mlflow"]) == 1
    assert main(["report", "run"]) == 0
    printed = capsys.readouterr()
    assert len(runs_in(store)[1]) == 2, "what has grown is a run of its own"
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert {"records.jsonl", "report.html", "prompts.json", "mlflow.db"} <= {file.name for file in files}
    assert not [file for file in files if KEY.encode() in file.read_bytes()]
    assert KEY not in printed.out + printed.err
    assert any(headers.get("Authorization") == f"Bearer {KEY}" for _, headers, _ in lm_stub.requests)


def test_prompts_of_every_system_hold_instructions_and_placeholders_and_no_secret():
    for system in SYSTEMS.values():
        program = system(None)
        prompts = render_prompts(program)
        assert list(prompts) == sorted(name for name, _ in program.named_predictors())
        assert prompts == render_prompts(system(None))
        for name, predictor in program.named_predictors():
            first = predictor.signature.instructions.strip().splitlines()[0].strip()
            assert first in prompts[name]
            assert all(f"{{{field}}}" in prompts[name] for field in predictor.signature.input_fields)


def test_demos_are_in_the_prompts():
    program = SYSTEMS["direct"](None)
    field = next(iter(program.answer.signature.input_fields))
    program.answer.demos = [{field: "a demo's own words", "answer": "Ana", "explanation": "x", "abstained": False}]
    assert "a demo's own words" in render_prompts(program)["answer"]


def test_addresses_are_absolute_and_tell_no_secret(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert tracking_uri(None) == f"sqlite:///{tmp_path.as_posix()}/mlflow/mlflow.db"
    assert tracking_uri("sqlite:///x.db") == f"sqlite:///{tmp_path.as_posix()}/x.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://server")
    assert tracking_uri(None) == "https://server"
    assert hide("https://me:secret@server/x") == "https://…@server/x"
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "opensesame")
    assert "opensesame" not in hide("refused opensesame")
    typed = command_line(
        ["evaluate", "--tracking-uri", "https://me:secret@server", "--tracking-uri=https://a:secret@b"]
    )
    assert "secret" not in typed


def test_names():
    assert run_name(SETTINGS) == "executionrag · baseline · test/lm · mini"
    assert run_name(SETTINGS | {"variant": "3f"}, "gepa") == "executionrag · gepa · test/lm · mini"
    commit = git_commit()
    assert commit is None or len(commit) == 40


def test_figures_are_finite_and_sorted(tmp_path):
    from executionrag.metrics.summary import summarize
    from executionrag.runs.scored_run import ScoredRun

    run = ScoredRun.open(make_run(tmp_path / "run"))
    found = figures(summarize(run.records, run.scores, run.verdicts))
    assert list(found) == sorted(found)
    assert all(value == value and abs(value) != float("inf") for value in found.values())
    assert found["category/reasoning_error"] == 0.5
    assert found["category/reasoning_error_of_wrong"] == 1


@pytest.mark.parametrize("options", [["--trace-sample", "3"], ["--tracking-uri", "sqlite:///x.db"]])
def test_options_of_mlflow_need_it(options, command_line, capsys):
    told = ["evaluate", "--index", "none", "--benchmark", "minihop", "--lm", "local", "--out", "out"]
    assert main([*told, *options]) == 2
    assert "goes with --mlflow" in capsys.readouterr().err


def test_a_missing_mlflow_is_said_before_anything_is_answered(command_line, capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda *_: None)
    told = ["evaluate", "--index", "none", "--benchmark", "minihop", "--lm", "local", "--out", "out", "--mlflow"]
    assert main(told) == 1
    assert "executionrag[mlflow]" in capsys.readouterr().err
    assert not Path("out").exists()
