"""The benchmarks' machinery: their workload runs, a broken bound is told and decides the exit code. No times here."""

import io
import math
from types import ModuleType

from executionrag.errors import UserError
from executionrag.runs.bench import __main__ as bench
from executionrag.runs.bench.measured import Measured, show_table
from executionrag.runs.bench.memory_per_question import slope
from executionrag.runs.bench.timing import times_faster
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
    assert [Measured("x", value, floor=5).broken for value in (4.9, 5.0, math.nan)] == [True, False, True]
    assert not Measured("x", 99).broken


def test_the_table_shows_figures_spreads_and_targets():
    out = console().out
    rows = [
        Measured("short", 1.234, "ms", 5, spread=(1.2, 1.3)),
        Measured("much longer", 7.0, "KB", 5),
        Measured("told", 1_000),
        Measured("ratio", 61.0, "x", floor=60),
    ]
    show_table(out, rows)
    assert [" ".join(line.split()) for line in out.stream.getvalue().splitlines()] == [
        "short 1.23 ms 1.20 to 1.30 under 5: ok",
        "much longer 7.00 KB under 5: MISSED",
        "told 1,000",
        "ratio 61.00 x at least 60: ok",
    ]


def test_a_figure_just_below_1_is_not_shown_as_1():
    shown = [Measured("x", value).figure for value in (0.99998, 0.9994, 1.0, 0.0123)]
    assert shown == ["0.999980", "0.999", "1.00", "0.0123"]


def test_a_ratio_is_taken_round_by_round():
    row = times_faster("x", [1.0, 2.0, 4.0], [10.0, 40.0, 40.0], floor=10)
    assert (row.value, row.spread, row.broken) == (10.0, (10.0, 15.0), False)


def bench_of(about, measure):
    module = ModuleType("bench")
    module.__doc__ = about
    module.measure = measure
    return module


BENCHES = {
    "good": bench_of("What is good.", lambda setting: [Measured("a | b", 1, "ms", bound=2, spread=(0.5, 1.5))]),
    "bad": bench_of("What is bad.", lambda setting: [Measured("b", 2, bound=2)]),
    "needy": bench_of("What needs data.", lambda setting: [Measured("c", len(str(setting.need_data())))]),
}


def test_a_missed_target_is_exit_code_1_and_an_unknown_name_2():
    assert bench.main(["good"], console(), BENCHES) == 0
    assert bench.main([], console(), BENCHES) == 1
    there = console()
    assert bench.main(["other"], there, BENCHES) == 2
    assert "there are good, bad, needy" in there.err.stream.getvalue()


def test_a_benchmark_without_its_data_is_left_out_and_says_what_it_needs():
    there = console()
    assert bench.main(["needy"], there, BENCHES) == 0
    assert "needy: left out; it needs benchmark files" in there.err.stream.getvalue()
    assert there.out.stream.getvalue() == ""


def test_a_benchmark_that_cannot_use_its_data_says_so_in_a_line_and_the_others_still_run():
    def refuse(setting):
        raise UserError("data/musique_dev.jsonl: no such file")

    there = console()
    assert bench.main([], there, {"refusing": bench_of("", refuse), "good": BENCHES["good"]}) == 1
    assert "refusing: data/musique_dev.jsonl: no such file" in there.err.stream.getvalue()
    assert "a | b" in there.out.stream.getvalue()


def test_a_benchmark_that_fails_costs_the_others_nothing(tmp_path, caplog):
    def fail(setting):
        raise RuntimeError("no server")

    page = tmp_path / "benchmarks.md"
    both = {"failing": bench_of("", fail), "good": BENCHES["good"]}
    assert bench.main(["--out", str(page)], console(), both) == 1
    assert "failing: not finished" in caplog.text
    assert "## good" in page.read_text()


def test_the_page_shows_now_beside_before_and_keeps_what_did_not_run_again(tmp_path):
    page = tmp_path / "docs" / "benchmarks.md"
    slower = {"good": bench_of("", lambda setting: [Measured("a | b", 3.0, "ms")])}
    assert bench.main(["good", "--before", "--out", str(page)], console(), slower) == 0
    assert "## good" not in page.read_text()  # nothing of now yet
    assert bench.main(["good", "--out", str(page)], console(), BENCHES) == 0
    assert bench.main(["needy", "--out", str(page)], console(), BENCHES) == 0
    text = page.read_text()
    assert "What is good." in text
    assert "## needy" not in text
    assert "| what | before | now | spread | target | against |" in text
    assert "| good | a \\| b | 3.00 ms | 1 ms | under 2: ok |" in text  # among the targets
    assert "| a \\| b | 3.00 ms | 1 ms | 0.5 to 1.50 | under 2: ok |  |" in text
    first = page.read_bytes()
    assert bench.main(["--page-only", "--out", str(page)], console(), BENCHES) == 0
    assert page.read_bytes() == first
