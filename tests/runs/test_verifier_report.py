"""The report's section on a verifier: only where there is one, its figures those of the records, its cost apart."""

import re
from pathlib import Path

import pytest

from executionrag.metrics.record import GoldPassage, QuestionRecord
from executionrag.program.trajectory import Check, Found, SearchStep, VerifyStep
from executionrag.program.usage import StepUsage, Usage
from executionrag.runs.report.build import build_report
from executionrag.runs.report.page import render_html, render_markdown
from executionrag.runs.report.summaries import summarized
from executionrag.runs.report.table import markdown_table
from executionrag.runs.run_folder import RunFolder
from executionrag.runs.scored_run import ScoredRun
from executionrag.runs.study.plan import Pair
from executionrag.runs.study.runs import PairRuns
from executionrag.runs.study.verifier_section import verifier_section

OBJECTION = (Check(id="R1", supported=False, missing="the year"),)


def record(name, step=None, found=("g1",), answer="Mell"):
    hits = tuple(Found(alias=one, passage_id=one, title="", rank=1) for one in found)
    came = SearchStep(loop=0, target=None, tool="semantic_search", query="q", found=hits)
    used = {} if step is None else {"verify": StepUsage(calls=1, prompt_tokens=1500, completion_tokens=80)}
    return QuestionRecord(
        id=name,
        question="Who?",
        benchmark="minihop",
        type="bridge",
        hops=2,
        answers=("Mell",),
        gold=(GoldPassage(title="G1", passage_id="g1"), GoldPassage(title="G2", passage_id="g2")),
        answer=answer,
        abstained=not answer,
        stop_reason="resolved",
        trajectory=(came,) if step is None else (came, step),
        usage=Usage(calls=4, prompt_tokens=6000, steps={"update": StepUsage(calls=3, prompt_tokens=4500), **used}),
    )


def audited(name, decision, draft, answer, checks=(), found=("g1",)):
    step = VerifyStep(loop=1, mode="audit", checks=checks, decision=decision, draft=draft, answer=answer)
    return record(name, step, found, answer)


AUDIT = [
    audited("a", "keep", "Mell", "Mell", found=("g1", "g2")),
    audited("b", "withhold", "Mell", "", OBJECTION),
    audited("c", "keep", "Voss", "Voss"),
    record("d"),
]
SEARCH = [
    record("a", VerifyStep(loop=1, mode="search", checks=OBJECTION, decision="reopen", reopened=("R1",))),
    record("b", VerifyStep(loop=1, mode="search", checks=(), decision="sufficient")),
]


def make_run(path, records, system):
    settings = {"system": system, "lm": "test/lm", "benchmark": "minihop", "k": 5, "max_loops": 6, "seed": 3}
    folder = RunFolder.create(path, settings, "digest-1", [one.id for one in records], versions={"dspy": "3.4"})
    with folder.appending():
        for one in records:
            folder.append(one, {})
    return path


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    place = tmp_path_factory.mktemp("verified")
    baseline = [record(name) for name in "abcd"]
    return {
        "executionrag": make_run(place / "base", baseline, "executionrag"),
        "executionrag+verifier": make_run(place / "audit", AUDIT, "executionrag+verifier"),
        "executionrag+verifier-search": make_run(place / "search", SEARCH, "executionrag+verifier-search"),
    }


def cells(markdown, name):
    """A row's cells without their intervals: the figure, and its n."""
    line = next(line for line in markdown.splitlines() if line.startswith(f"| {name} |"))
    told = [re.match(r"([\d.,–]+)(?:.*?\bof n (\d+))?", cell.strip()) for cell in line.strip("|").split("|")[1:]]
    return [one.groups() for one in told]


def test_a_run_without_a_verifier_has_no_such_section(folders):
    report = build_report([folders["executionrag"]])
    assert "verifier" not in {section.id for section in report.sections}
    assert "Verifier" not in render_markdown(report)


def test_an_audit_is_reported_from_its_records(folders):
    report = build_report([folders["executionrag+verifier"]])
    markdown = render_markdown(report)
    assert 'id="verifier"' in render_html(report)
    assert "a judge has read the final answer only" in markdown
    for name, expected in {
        "right before": ("0.67", "3"),
        "right after": ("0.33", "3"),
        "right draft: withheld": ("1", "2"),
        "right draft: kept": ("1", "2"),
        "wrong draft: kept": ("1", "1"),
        "abstained draft: kept": ("0", "0"),
        "questions verified": ("3", "4"),
        "premature resolutions caught": ("1", "2"),
        "premature resolutions missed": ("1", "2"),
        "false alarms": ("0", "1"),
    }.items():
        assert cells(markdown, name) == [expected], name
    assert "items reopened" not in markdown


def test_the_cost_of_verifying_is_told_apart(folders):
    report = build_report([folders["executionrag+verifier"]])
    tables = next(section for section in report.sections if section.id == "verifier").tables
    cost = next(table for table in tables if table.title == "Verifier: cost a question")
    assert [(row[0].text, row[1].text, row[1].details[-1]) for row in cost.rows] == [
        ("LM calls", "0.75", "total 3"),
        ("of them answered from the cache", "0.00", "total 0"),
        ("prompt tokens, billed", "1,125", "total 4,500"),
        ("completion tokens, billed", "60", "total 240"),
    ]


def test_beside_a_run_without_one_only_verified_runs_have_a_column(folders):
    report = build_report(list(folders.values()))
    tables = next(section for section in report.sections if section.id == "verifier").tables
    assert {table.columns for table in tables} == {("", "audit", "search")}
    markdown = render_markdown(report)
    assert cells(markdown, "right before") == [("0.67", "3"), ("–", None)]
    assert cells(markdown, "items reopened") == [("–", None), ("1", None)]
    assert cells(markdown, "premature resolutions caught") == [("1", "2"), ("1", "2")]
    assert cells(markdown, "missing gold passages that came after a reopening") == [("–", None), ("0", "1")]


def test_a_study_shows_the_same_figures_beside_the_baseline(folders):
    runs = tuple(summarized(ScoredRun.open(folder, name)) for name, folder in folders.items())
    pair = Pair(benchmark="minihop", index="idx", kind="minihop", encoder="MiniLM")
    section = verifier_section([PairRuns(pair, Path("study"), runs, ())])
    titles = [table.title for table in section.tables]
    assert titles == [
        "Verifier beside the baseline",
        "Verifier: drafted answers",
        "Verifier: evidence",
        "Verifier: cost a question",
    ]
    markdown = "\n".join(line for table in section.tables for line in markdown_table(table))
    assert cells(markdown, "right draft: withheld") == [("1", "2"), ("–", None)]
    twice = verifier_section([PairRuns(pair, Path("study"), runs, ())] * 2)
    assert [table.title for table in twice.tables[1:4]] == [f"{title}: minihop, MiniLM" for title in titles[1:]]
