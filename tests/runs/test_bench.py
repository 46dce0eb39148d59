"""The benchmarks' machinery: their workload runs, a broken bound is told and decides the exit code. No times here."""

import io
import math

from executionrag.runs.bench import __main__ as bench
from executionrag.runs.bench.measured import Measured, show_table
from executionrag.runs.bench.memory_per_question import slope
from executionrag.runs.bench.workload import questions, workload
from executionrag.runs.output import Console, Screen


def console():
    return Console(Screen(io.StringIO()), Screen(io.StringIO()))


def test_the_questions_of_a_workload_are_all_different():
    asked = questions(1_000)
    assert len({question.id for question in asked}) == len({question.question for question in asked}) == 1_000


def test_the_workload_answers_its_questions_and_leaves_no_prompts_behind():
    from dspy.clients.base_lm import GLOBAL_HISTORY

    with workload(12) as run:
        run.run(2)
        records = run.folder.records()
    assert len(records) == 12
    assert all(record.answer == record.answers[0] and record.failure is None for record in records)
    assert run.engine.calls == sum(record.usage.calls for record in records)
    assert len(GLOBAL_HISTORY) <= 32


def test_a_slope_is_growth_a_question():
    assert slope([(200, 1_000.0), (400, 1_400.0), (600, 1_800.0)]) == 2.0
    assert math.isnan(slope([(200, 1_000.0)]))


def test_a_bound_is_broken_at_it_and_by_no_number():
    assert [Measured("x", value, bound=5).broken for value in (4.9, 5.0, math.nan)] == [False, True, True]
    assert not Measured("x", 99).broken


def test_the_table_shows_figures_and_bounds():
    out = console().out
    show_table(out, [Measured("short", 1.234, "ms", 5), Measured("much longer", 7.0, "KB", 5), Measured("told", 1_000)])
    assert out.stream.getvalue().splitlines() == [
        "  short             1.23 ms   < 5: ok",
        "  much longer       7.00 KB   < 5: BROKEN",
        "  told             1,000",
    ]


def test_a_broken_bound_is_exit_code_1_and_an_unknown_name_2(monkeypatch):
    monkeypatch.setattr(
        bench, "BENCHES", {"good": lambda: [Measured("a", 1, bound=2)], "bad": lambda: [Measured("b", 2, bound=2)]}
    )
    assert bench.main(["good"], console()) == 0
    assert bench.main([], console()) == 1
    there = console()
    assert bench.main(["other"], there) == 2
    assert "there are good, bad" in there.err.stream.getvalue()
