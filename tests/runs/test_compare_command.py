"""`executionrag compare`: what it refuses, what --force says, and what it prints."""

import dataclasses
import json

import pytest

from executionrag.errors import UserError
from executionrag.metrics.record import Failure, GoldPassage, QuestionRecord, Retrieved, Verdict
from executionrag.runs.audit_file import Audit, AuditHit
from executionrag.runs.cli import main
from executionrag.runs.comparing import Comparison, compare_runs
from executionrag.runs.run_folder import RunFolder
from executionrag.runs.scored_run import ScoredRun

SETTINGS = {
    "system": "a-rag",
    "variant": "",
    "lm": "some/lm",
    "temperature": 0.0,
    "max_tokens": None,
    "context_window": None,
    "benchmark": "minihop",
    "benchmark_digest": "b1",
    "index_digest": "i1",
    "encoder": "e",
    "granularity": "passage",
    "k": 5,
    "max_loops": 6,
    "max_context_tokens": 1000,
    "deduplicate": True,
    "seed": 0,
}
OTHER = {"system": "executionrag", "variant": "v1"}


def record(name, answer, found, failed=False):
    return QuestionRecord(
        id=name,
        question="Who?",
        benchmark="minihop",
        type="bridge",
        hops=1,
        answers=("yes",),
        gold=(GoldPassage(title="Salt Choir", passage_id="g1"),),
        answer=answer,
        stop_reason="lm_error" if failed else "resolved",
        failure=Failure(error="E", step="s", message="m") if failed else None,
        retrieved=tuple(
            Retrieved(passage_id=one, loop=1, tool="keyword_search", query="salt opera", rank=rank, full=True)
            for rank, one in enumerate(found, start=1)
        ),
    )


@pytest.fixture
def make(tmp_path):
    def made(name, rows, without=(), judge="", **changes):
        settings = {key: value for key, value in (SETTINGS | changes).items() if key not in without}
        folder = RunFolder.create(tmp_path / name, settings, name, [one.id for one in rows])
        with folder.appending():
            for one in rows:
                folder.append(one, {})
        if judge:
            said = [Verdict(id=one.id, judge=judge, answer=one.answer, verdict="right") for one in rows]
            (tmp_path / name / "verdicts.jsonl").write_text("".join(f"{one.model_dump_json()}\n" for one in said))
        return str(tmp_path / name)

    return made


A = [record("q1", "no", []), record("q2", "yes", ["g1"])]
B = [record("q1", "yes", ["x", "g1"]), record("q2", "yes", ["g1"])]


def test_other_systems_and_variants_under_the_same_conditions_are_compared(make, capsys):
    assert main(["compare", make("a", A), make("b", B, **OTHER)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "DIFFERS" not in out
    for said in (
        "executionrag, variant v1",
        "right: A only 0, B only 1, both 1, neither 0",
        "too few to conclude",
        "Missing Evidence → right: 1",
        "A missed, a search of B retrieved: 1, 1 of them where A is wrong",
        "* q1 Salt Choir: salt opera [keyword_search, loop 1, rank 2]",
        "not certified",
        "no lower bound on its size",
    ):
        assert said in out


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("index_digest", "i2", "retriever or corpus (index) i1 against i2"),
        ("encoder", "f", "encoder e against f"),
        ("granularity", "sentence", "granularity passage against sentence"),
        ("k", 7, "k 5 against 7"),
        ("benchmark_digest", "b2", "benchmark file b1 against b2"),
        ("lm", "other/lm", "LM some/lm against other/lm"),
        ("temperature", 1.0, "LM temperature 0.0 against 1.0"),
        ("max_tokens", 9, "LM max_tokens null against 9"),
        ("context_window", 9, "LM context window null against 9"),
        ("max_loops", 15, "max_loops 6 against 15"),
        ("max_context_tokens", 9, "max_context_tokens 1000 against 9"),
        ("deduplicate", False, "evaluate --dedup makes a-rag comparable"),
        ("seed", 1, "seed 0 against 1"),
    ],
)
def test_each_difference_is_refused_and_said_under_force(make, capsys, key, value, said):
    a, b = make("a", A), make("b", B, **OTHER, **{key: value})
    assert main(["compare", a, b]) == 1
    error = capsys.readouterr().err
    assert said in error
    assert "--force" in error
    assert error.count("\n") == 1
    assert main(["compare", a, b, "--force", "--json"]) == 0
    assert [said in one for one in json.loads(capsys.readouterr().out)["differs"]] == [True]


def test_all_differences_are_named_in_one_line(make, capsys):
    assert main(["compare", make("a", A), make("b", B, k=7, seed=1)]) == 1
    error = capsys.readouterr().err
    assert "k 5 against 7; seed 0 against 1" in error


@pytest.mark.parametrize(("without", "said"), [(["deduplicate"], "dedup true against unknown"), (["lm"], "LM some/lm")])
def test_what_a_run_does_not_say_is_unknown(make, capsys, without, said):
    assert main(["compare", make("a", A), make("b", B, without=without)]) == 1
    error = capsys.readouterr().err
    assert said in error
    assert "unknown" in error


def test_failed_rows_are_refused_and_said_loudly(make, capsys):
    a, b = make("a", [A[0], record("q2", "", [], failed=True)]), make("b", B)
    assert main(["compare", a, b]) == 1
    assert "a has 1 failed of 2" in capsys.readouterr().err
    assert main(["compare", a, b, "--force"]) == 0
    assert "DIFFERS: a has 1 failed of 2" in capsys.readouterr().out


def test_different_judges_are_refused(make, capsys):
    assert main(["compare", make("a", A, judge="one"), make("b", B)]) == 1
    assert "judge one against none" in capsys.readouterr().err


def test_force_compares_the_questions_that_both_have(make, capsys):
    a, b = make("a", A), make("b", B[:1])
    assert main(["compare", a, b]) == 1
    assert "questions: 1 in both, 1 and 0 in one only" in capsys.readouterr().err
    assert main(["compare", a, b, "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["figures"]["questions"] == 1


def test_runs_without_a_common_question_are_refused_even_under_force(make, capsys):
    assert main(["compare", make("a", A[:1]), make("b", B[1:]), "--force"]) == 1
    assert "no question in common" in capsys.readouterr().err


@pytest.mark.parametrize("changes", [{"k": 7}, {"index_digest": "i2"}, {"without": ["k"]}])
def test_no_certified_lists_unless_index_and_k_are_equal(make, capsys, changes):
    assert main(["compare", make("a", A), make("b", B, **changes), "--force"]) == 0
    out = capsys.readouterr().out
    assert "No lists:" in out
    assert "salt opera" not in out


def test_a_run_against_itself_is_called_wrongly(make, capsys):
    a = make("a", A)
    assert main(["compare", a, f"{a}/"]) == 2
    assert "same run" in capsys.readouterr().err


HIT = AuditHit(grade=0, tool="semantic_search", query="asked", rank=1)
AUDIT = Audit("audit.json", "i1", "b1", 5, (), ("semantic_search",), {("q1", "g1"): (HIT,)})


def test_an_audit_splits_missing_gold_of_wrong_answers(make):
    rows = [*A, record("q3", "no", [])]
    a, b = ScoredRun.open(make("a", rows)), ScoredRun.open(make("b", [*B, record("q3", "yes", [])]))
    found = compare_runs(a, b, audit=AUDIT)
    assert found.missing_a == {"unasked": 1, "upper bound only": 0, "not certified": 0, "not probed": 1}
    assert set(found.missing_b.values()) == {0}


def test_an_audit_of_another_index_is_refused(make):
    a, b = ScoredRun.open(make("a", A)), ScoredRun.open(make("b", B))
    with pytest.raises(UserError, match="an audit of another index"):
        compare_runs(a, b, audit=dataclasses.replace(AUDIT, index_digest="i2"))


def test_a_comparison_survives_json(make):
    found = compare_runs(ScoredRun.open(make("a", A)), ScoredRun.open(make("b", B)))
    assert Comparison.model_validate_json(found.model_dump_json()) == found
