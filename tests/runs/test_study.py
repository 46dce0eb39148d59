"""A study runs every system under one LM, asks nothing twice, and reports from its records alone."""

import json
import shutil
import signal
import subprocess
import sys
import time
from importlib import resources
from pathlib import Path

import pytest

from executionrag import Index, MiniHop
from executionrag.errors import UsageError
from executionrag.metrics.paired import holm
from executionrag.program.baseline import Baseline
from executionrag.program.systems import SYSTEMS
from executionrag.retrievers.corpus import passages_from_rows
from executionrag.retrievers.encoder_files import DEFAULT_ENCODER, locate
from executionrag.runs.cli import main
from executionrag.runs.run_folder import RunFolder
from executionrag.runs.study.pairwise import other_comparisons, primary_comparisons
from executionrag.runs.study.plan import load_plan, pair_up, safe_name
from executionrag.runs.study.runs import read_runs
from executionrag.signatures.answer_question import AnswerQuestion

REPLY = "\n\n".join(
    f"[[ ## {name} ## ]]\n{'false' if name == 'abstained' else 'Tarn'}" for name in AnswerQuestion.output_fields
)
MINILM = Path("study/minihop/all-MiniLM-L6-v2")


class KeywordRAG(Baseline):
    """One keyword search, then the answer."""

    def gather(self, state, question, transcript):
        result = yield from state.search("keyword_search", state.question, None)
        transcript.observe(result)
        return "answered"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("study") / "index"
    Index.build(passages_from_rows(MiniHop.corpus), place)
    return place


@pytest.fixture
def line(place, lm_stub, command_line):
    lm_stub.reply = REPLY

    def line(systems="direct,vanilla-rag", *more, index=None):
        server = ["--lm", "openai/local-model", "--api-base", lm_stub.root]
        asked = ["--benchmark", "minihop", "--index", str(index or place), "--limit", "2", "--no-cache"]
        return ["study", *asked, "--systems", systems, *server, "--out", "study", *more]

    return line


def answered(lm_stub):
    """Completions asked of the stub, without the one that sees whether it answers."""
    return sum("[[ ##" in json.dumps(body["messages"]) for body in lm_stub.completions)


def test_a_new_system_of_a_few_lines_takes_part_without_change_elsewhere(line, monkeypatch):
    monkeypatch.setitem(SYSTEMS, "keyword-rag", KeywordRAG)
    assert main(line("keyword-rag,vanilla-rag", "--primary", "keyword-rag:vanilla-rag")) == 0
    records = RunFolder.open(MINILM / "keyword-rag").records()
    assert [record.system for record in records] == ["keyword-rag"] * 2
    assert {found.tool for record in records for found in record.retrieved} == {"keyword_search"}
    written = Path("study/report.md").read_text(encoding="utf-8")
    assert "Primary comparison: keyword-rag against vanilla-rag" in written
    assert load_plan(Path("study")).primary == ("keyword-rag", "vanilla-rag")


def test_the_same_line_again_asks_nothing_twice_and_more_systems_extend(line, lm_stub):
    assert main(line()) == 0
    first, rows = answered(lm_stub), (MINILM / "direct/records.jsonl").read_bytes()
    assert first == 4
    assert main(line()) == 0
    assert answered(lm_stub) == first
    assert main(line("direct,ircot")) == 0
    assert answered(lm_stub) > first
    assert (MINILM / "direct/records.jsonl").read_bytes() == rows
    assert load_plan(Path("study")).systems == ("direct", "vanilla-rag", "ircot")


def test_a_run_that_evaluate_made_there_stands(line, place, lm_stub):
    server = ["--lm", "openai/local-model", "--api-base", lm_stub.root, "--no-cache"]
    where = ["--benchmark", "minihop", "--index", str(place), "--limit", "2", "--out", str(MINILM / "direct")]
    assert main(["evaluate", *where, "--system", "direct", *server]) == 0
    before = answered(lm_stub)
    assert main(line("direct")) == 0
    assert answered(lm_stub) == before


def test_the_report_is_made_anew_without_an_lm(line, lm_stub):
    assert main(line()) == 0
    pages = [Path("study/report.html"), Path("study/report.md")]
    before, asked = [page.read_bytes() for page in pages], len(lm_stub.requests)
    for again in (["study", "--out", "study", "--report-only"], ["report", "study"]):
        for page in pages:
            page.unlink()
        assert main(again) == 0
        assert [page.read_bytes() for page in pages] == before
    assert len(lm_stub.requests) == asked
    written = before[1].decode()
    assert written.count("study --out study --report-only") == written.count("|---|\n") - written.count("## Questions")
    assert "openai/local-model" in written
    assert "too few to conclude" in written


def test_benchmarks_and_indexes_pair_in_order_or_one_over_several():
    assert pair_up(["a", "b"], ["x", "y"]) == [("a", "x"), ("b", "y")]
    assert pair_up(["a"], ["x", "y"]) == [("a", "x"), ("a", "y")]
    for benchmarks, indexes in ((["a", "b"], ["x"]), (["a", "b"], ["x", "y", "z"]), ([], ["x"])):
        with pytest.raises(UsageError):
            pair_up(benchmarks, indexes)


def test_two_indexes_of_one_encoder_would_share_a_folder(line, place, capsys):
    assert main(line("direct", "--index", str(place))) == 2
    assert "would share a folder" in capsys.readouterr().err


def test_two_benchmarks_each_over_its_index(line, place, tmp_path, capsys):
    dev = resources.files("executionrag.runs.benchmarks.minihop") / "dev.jsonl"
    (tmp_path / "own.jsonl").write_text(dev.read_text(encoding="utf-8"), encoding="utf-8")
    more = ["--benchmark", "musique:own.jsonl", "--index", str(place), "--primary", "vanilla-rag:direct"]
    assert main(line("direct,vanilla-rag", *more)) == 0, capsys.readouterr().err
    plan = load_plan(Path("study"))
    assert [pair.kind for pair in plan.pairs] == ["minihop", "musique"]
    runs = read_runs(plan, Path("study"))
    assert [len(one.runs) for one in runs] == [2, 2]
    assert len(primary_comparisons(plan.primary, runs)) == 2
    assert "vanilla-rag – direct, musique" in Path("study/report.md").read_text(encoding="utf-8")


def test_other_comparisons_are_adjusted_for_their_number(line):
    assert main(line("direct,vanilla-rag,ircot,a-rag", "--primary", "vanilla-rag:direct")) == 0
    runs = read_runs(load_plan(Path("study")), Path("study"))
    tested = other_comparisons(("vanilla-rag", "direct"), runs)
    assert [one.comparison.second.name for one in tested] == ["ircot", "a-rag"]
    assert [one.adjusted for one in tested] == holm(
        [one.comparison.compared.figures.correct.paired.p for one in tested]
    )
    assert tested[0].comparison.compared.differs == ()
    assert len(tested[1].comparison.compared.differs) == 1
    assert "dedup true against false" in tested[1].comparison.compared.differs[0]


def test_failed_rows_are_said_and_stay_and_the_other_systems_go_on(line, lm_stub, capsys):
    lm_stub.status = 400
    lm_stub.error = {"error": {"message": "maximum context length is 4096 tokens", "type": "invalid_request_error"}}
    assert main(line()) == 1
    told = capsys.readouterr()
    assert "2 of 2 questions failed for technical reasons" in " ".join(told.err.split())
    assert "2 of 2 questions failed for technical reasons" in Path("study/report.md").read_text(encoding="utf-8")
    for system in ("direct", "vanilla-rag"):
        assert [record.failure is not None for record in RunFolder.open(MINILM / system).records()] == [True, True]
    lm_stub.status, before = 200, answered(lm_stub)
    assert main(line()) == 1  # they stay failed until they are asked again
    assert answered(lm_stub) == before
    assert main(line("direct,vanilla-rag", "--retry-failed")) == 0


def test_a_judge_decides_every_run_at_the_end(line, lm_stub, capsys):
    lm_stub.reply = f"{REPLY}\n\n[[ ## reasoning ## ]]\nthe same\n\n[[ ## verdict ## ]]\nright"
    judge = ["--judge-lm", "openai/judge-model", "--judge-api-base", lm_stub.root]
    assert main(line("direct,vanilla-rag", *judge)) == 0, capsys.readouterr().err
    assert capsys.readouterr().out.count("LLM-Acc 1.000 (2 right, n = 2)") == 2
    assert {body["model"] for body in lm_stub.completions} == {"local-model", "judge-model"}
    assert "| direct | 1.00" in Path("study/report.md").read_text(encoding="utf-8")
    before = answered(lm_stub)
    assert main(line("direct,vanilla-rag", *judge)) == 0
    assert answered(lm_stub) == before


def test_the_audit_is_made_once_and_splits_what_is_missing(line):
    assert main(line("direct", "--audit")) == 0
    audit = MINILM / "audit.json"
    made = audit.stat().st_mtime_ns
    written = Path("study/report.md").read_text(encoding="utf-8")
    assert "## Reachability audit" in written
    assert "| unasked | 4 of 4 missing |" in written
    assert "Peers: direct;" in written
    assert main(["study", "--out", "study", "--report-only", "--audit"]) == 0
    assert audit.stat().st_mtime_ns == made


def test_the_audit_is_at_the_k_of_the_runs_and_its_trouble_costs_no_report(line, capsys):
    assert main(line("direct", "--k", "3")) == 0
    assert main(["study", "--out", "study", "--report-only", "--audit"]) == 0
    assert json.loads((MINILM / "audit.json").read_text(encoding="utf-8"))["k"] == 3
    (MINILM / "audit.json").write_text("{}")
    report = Path("study/report.md")
    report.unlink()
    assert main(["study", "--out", "study", "--report-only"]) == 0
    assert "Left out: " in report.read_text(encoding="utf-8")
    (MINILM / "audit.json").unlink()
    plan = json.loads(Path("study/study.json").read_text(encoding="utf-8"))
    plan["pairs"][0]["index"] = "gone"
    Path("study/study.json").write_text(json.dumps(plan))
    report.unlink()
    capsys.readouterr()
    assert main(["study", "--out", "study", "--report-only", "--audit"]) == 1
    assert "no audit of minihop" in capsys.readouterr().err
    assert report.is_file()


def test_a_second_encoder_stands_beside_the_first(line, place, tmp_path):
    second = tmp_path / "SecondMini"
    shutil.copytree(locate(DEFAULT_ENCODER), second)
    other = Index.build(passages_from_rows(MiniHop.corpus), tmp_path / "other", encoder=str(second))
    both = line("vanilla-rag,direct", "--primary", "vanilla-rag:direct", "--index", str(other.path))
    assert main(both) == 0
    for encoder in ("all-MiniLM-L6-v2", "SecondMini"):
        records = RunFolder.open(Path("study/minihop") / encoder / "vanilla-rag").records()
        assert len(records) == 2
    written = Path("study/report.md").read_text(encoding="utf-8")
    assert "vanilla-rag – direct, minihop, SecondMini" in written
    assert "Holm's method over the 2 pairs, each outcome by itself" in written


@pytest.mark.parametrize(
    ("systems", "more", "said"),
    [
        ("direct,nonesuch", [], "nonesuch: there is none; there are a-rag"),
        (",", [], "--systems names none"),
        ("direct,ircot", ["--primary", "direct:a-rag"], "a-rag is not among the study's systems (direct, ircot)"),
        ("direct,ircot", ["--primary", "direct"], "name two systems"),
        ("direct,ircot", ["--primary", "direct:direct"], "name two systems"),
    ],
)
def test_what_cannot_be_is_one_line_before_anything_is_asked(systems, more, said, line, lm_stub, capsys):
    assert main(line(systems, *more)) == 2
    err = capsys.readouterr().err.strip()
    assert said in err
    assert "\n" not in err
    assert lm_stub.requests == []
    assert not Path("study").exists()


def test_an_index_without_the_gold_is_refused(line, tmp_path, capsys):
    Index.build(passages_from_rows([{"_id": "1", "title": "a", "text": "b"}]), tmp_path / "small")
    assert main(line(index=tmp_path / "small")) == 1
    assert "not in it" in capsys.readouterr().err


def test_no_study_to_report_is_one_line(command_line, capsys):
    assert main(["study", "--out", "nowhere", "--report-only"]) == 1
    assert capsys.readouterr().err.startswith("error: nowhere: no study there")


@pytest.mark.parametrize(("name", "safe"), [("org/model", "org-model"), ("a b:c", "a-b-c"), ("..", "unnamed")])
def test_folder_names_are_safe(name, safe):
    assert safe_name(name) == safe
    assert safe_name("executionrag+verifier") == "executionrag+verifier"


def test_ctrl_c_ends_cleanly_and_the_same_line_goes_on(line, lm_stub):
    lm_stub.hang = 0.7
    call = [sys.executable, "-m", "executionrag.runs.cli", *line("direct,vanilla-rag", "--threads", "1")]
    process = subprocess.Popen(
        call,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        end = time.monotonic() + 60
        while answered(lm_stub) < 1 and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert out.splitlines()[-1] == "interrupted: the same line again resumes"
    kept = len(RunFolder.open(MINILM / "direct").records())
    assert kept == 1
    lm_stub.hang, before = 0, answered(lm_stub)
    assert main(line()) == 0
    assert answered(lm_stub) == before + 4 - kept
