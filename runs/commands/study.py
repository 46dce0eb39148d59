"""`executionrag study`: several systems over the same questions under the same conditions, then one report."""

import argparse
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UsageError, UserError
from .judge import judge_and_show, start_judge
from .options import check_place, count
from .run_options import add_run_options, check_judge_options, load_asked, start_conditions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..output import Console
    from ..study.plan import Pair, Plan
    from ..system_run import SystemRun


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser = commands.add_parser(
        "study",
        parents=[common],
        help="answer a benchmark's questions with several systems, and report them side by side",
        description="Run every named system over the same questions, with one LM, index and budget, each question "
        "once, and write one report. The same line again resumes; other --systems or pairs later are added.",
        epilog="Several benchmarks: --benchmark and --index as often, in order. A second encoder: one --benchmark over "
        "two indexes.",
    )
    parser.set_defaults(run=run)
    several = {"action": "append", "nargs": "+", "default": None}
    parser.add_argument("--benchmark", metavar="SPEC", help="minihop, musique:FILE, hotpotqa:FILE, …", **several)
    parser.add_argument("--index", metavar="DIR", help="an index over the benchmark's corpus", **several)
    parser.add_argument("--systems", metavar="A,B,…", help="the systems, e.g. direct,vanilla-rag,a-rag,executionrag")
    parser.add_argument(
        "--primary", metavar="A:B", help="the one comparison that the study is about, e.g. executionrag:a-rag"
    )
    parser.add_argument("--out", metavar="DIR", required=True, help="the study's folder")
    parser.add_argument("--report-only", action="store_true", help="make the report anew from what is there; no LM")
    parser.add_argument("--audit", action="store_true", help="probe once which gold passages could be found; no LM")
    add_run_options(parser, benchmark=False)


def run(args: argparse.Namespace, console: "Console") -> int:
    """Run the study; 1 where questions failed or a system could not go on, 130 where it was interrupted."""
    from ..study.plan import load_plan

    if args.quiet:
        console = dataclasses.replace(console, quiet=True)
    out = Path(args.out)
    if args.report_only:
        plan = load_plan(out)
        audited = not args.audit or _audit(plan, out, console)
        write_report(plan, out, console)
        return 0 if audited else 1
    plan, runs = _prepared(args, out, console)
    failed, stopped = _answer(runs, args, console)
    if stopped:
        console.out.line("interrupted: the same line again resumes")
        return 130
    if args.judge_lm:
        try:
            _judge(runs, args, console)
        except KeyboardInterrupt:
            console.out.line("interrupted while judging: the same line again resumes, and keeps what is judged")
            return 130
    audited = not args.audit or _audit(plan, out, console)
    write_report(plan, out, console)
    return 1 if failed or not audited else 0


def _prepared(args: argparse.Namespace, out: Path, console: "Console") -> "tuple[Plan, list[SystemRun]]":
    """See that everything asked for can be had, and make or open every run's folder; nothing is answered yet."""
    from ..study.plan import (
        Pair,
        Plan,
        as_given,
        check_places,
        is_study,
        load_plan,
        pair_up,
        read_primary,
        read_systems,
    )

    check_place(out / "study.json", "--out", given=out)
    if args.systems is None:
        raise UsageError("name the systems with --systems, e.g. --systems direct,vanilla-rag,a-rag,executionrag")
    systems = read_systems(args.systems)
    earlier = load_plan(out) if is_study(out) else None
    known = dict.fromkeys((*(earlier.systems if earlier else ()), *systems))
    primary = read_primary(args.primary, list(known))
    check_judge_options(args)
    pairs, asked = [], []
    for benchmark, index in pair_up(as_given(args.benchmark), as_given(args.index)):
        loaded = load_asked(args, index, benchmark)
        pairs.append(Pair(benchmark=benchmark, index=index, kind=loaded.benchmark.kind, encoder=loaded.encoder))
        asked.append(loaded)
    check_places(pairs)
    conditions = start_conditions(args, console)
    if args.judge_lm:  # before hours of answers: a judge that cannot be had shows now
        args.judge = start_judge(args, conditions.lm_name, console, cache=not args.no_cache)
    from ..system_run import SystemRun, command_line

    command = command_line(getattr(args, "argv", []))
    told = Plan(systems=systems, primary=primary, pairs=tuple(pairs), command=command)
    plan = told.added_to(earlier)
    runs = [
        SystemRun(system, one, conditions, plan.folder(out, pair, system), command=command)
        for pair, one in zip(pairs, asked, strict=True)
        for system in systems
    ]
    plan.save(out)
    return plan, runs


def _answer(runs: "Sequence[SystemRun]", args: argparse.Namespace, console: "Console") -> tuple[int, bool]:
    """Answer what is missing; what failed (questions, and systems that could not go on), and whether Ctrl-C came."""
    from ..evaluation import Tally

    failed = 0
    for one in runs:
        try:
            stopped = one.answer(console, retry_failed=args.retry_failed)
        except UserError as error:  # its rows stand, and the other systems go on
            console.fail(f"{one.system}: {error}")
            failed += 1
            continue
        except KeyboardInterrupt:
            return failed, True
        tally = Tally(one.folder.records())
        asked = count(len(one.folder.question_ids), "question")
        console.out.line(f"{one.system}: {tally.n} of {asked} finished: {tally} · {one.folder.path}")
        if tally.failed:
            console.out.line(f"{tally.failed} failed; the same line with --retry-failed asks them again")
        failed += tally.failed
        if stopped:
            return failed, True
    return failed, False


def _judge(runs: "Sequence[SystemRun]", args: argparse.Namespace, console: "Console") -> None:
    """Judge every run that has answers."""
    for one in runs:
        if one.folder.records():
            console.out.line(f"{one.system} · {one.folder.path}")
            judge_and_show(one.folder, args.judge, console, threads=args.threads)


def write_report(plan: "Plan", out: Path, console: "Console", html: str | None = None, text: str | None = None) -> None:
    """Make the study's report from its records.

    Args:
        plan: What the study asks.
        out: Its folder.
        console: Where the first table goes.
        html: Where the page goes, if not into the folder.
        text: Where the Markdown goes, if not into the folder.
    """
    from ..report.page import render_html, render_markdown
    from ..report.table import plain_table
    from ..story import write_page
    from ..study.build import build_study

    page, markdown = Path(html or out / "report.html"), Path(text or out / "report.md")
    report = build_study(plan, out)
    console.out.block("\n".join(plain_table(report.scores)))
    for warning in report.warnings:
        console.err.entry("warning:", warning, head_style="yellow")
    write_page(page, render_html(report))
    write_page(markdown, render_markdown(report))
    console.out.line(f"page: {page}")
    console.out.line(f"Markdown: {markdown}")


def _audit(plan: "Plan", out: Path, console: "Console") -> bool:
    """Probe each pair's gold passages, once, at the k of its runs; whether all could be probed."""
    from ..run_folder import RUN, RunFolder
    from ..study.plan import AUDIT

    audited = True
    for pair in plan.pairs:
        place = out / pair.place / AUDIT
        if place.is_file():
            console.note(f"{place}: is there already")
            continue
        folders = [plan.folder(out, pair, system) for system in plan.systems]
        runs = [RunFolder.open(folder) for folder in folders if (folder / RUN).is_file()]
        answered = [run for run in runs if run.records()]
        if not answered:
            continue
        try:
            _audit_pair(pair, place, int(answered[0].settings["k"]), [run.path for run in answered], console)
        except UserError as error:
            console.fail(f"no audit of {pair.name}: {error}")
            audited = False
    return audited


def _audit_pair(pair: "Pair", place: Path, k: int, peers: "Sequence[Path]", console: "Console") -> None:
    """Write what `reachability --out` writes, the study's own systems being the peers; its tables are not shown."""
    import io

    from ..output import Screen
    from . import reachability

    options = argparse.Namespace(
        benchmark=pair.benchmark,
        index=pair.index,
        k=k,
        tool="both",
        peers=[str(peer) for peer in peers],
        json=False,
        out=str(place),
        debug=False,
    )
    reachability.run(options, dataclasses.replace(console, out=Screen(io.StringIO())))
