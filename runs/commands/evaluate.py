"""`executionrag evaluate`: answer a benchmark's questions with a system, and lose nothing."""

import argparse
import contextlib
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .judge import judge_and_show, start_judge
from .options import check_place, count
from .run_options import add_run_options, check_judge_options, check_system, load_asked, start_conditions
from .track import add_mlflow_options, check_mlflow_options, track_finished

if TYPE_CHECKING:
    from ..output import Console
    from ..run_folder import RunFolder
    from ..system_run import SystemRun


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser = commands.add_parser(
        "evaluate",
        parents=[common],
        help="answer a benchmark's questions with a system; the same line again resumes",
        description="Answer a benchmark's questions, each once, and write a record of each as it finishes. The same "
        "line again resumes, a larger --limit extends, --retry-failed asks again what failed.",
    )
    parser.set_defaults(run=run)
    parser.add_argument("--index", metavar="DIR", required=True, help="an index over the benchmark's corpus")
    parser.add_argument("--system", metavar="NAME", default="executionrag", help="default: executionrag")
    parser.add_argument("--out", metavar="DIR", required=True, help="the run's folder")
    parser.add_argument(
        "--variant", metavar="DIR", help="optimised prompts (default: baseline, the program as it comes)"
    )
    add_run_options(parser)
    add_mlflow_options(parser)


def run(args: argparse.Namespace, console: "Console") -> int:
    """Evaluate; 1 where questions failed, 130 where it was interrupted."""
    if args.quiet:
        console = dataclasses.replace(console, quiet=True)
    out = Path(args.out)
    check_place(out / "records.jsonl", "--out", given=out)
    check_system(args.system, "--system")
    check_judge_options(args)
    check_mlflow_options(args)
    asked = load_asked(args, args.index)
    conditions = start_conditions(args, console)
    # Before hours of answers: a judge that cannot be had shows now.
    judge = start_judge(args, conditions.lm_name, console, cache=not args.no_cache) if args.judge_lm else None
    from ..system_run import SystemRun, command_line

    system_run = SystemRun(args.system, asked, conditions, out, command=command_line(getattr(args, "argv", [])))
    folder = system_run.folder
    _keep_prompts(system_run)
    stopped = system_run.answer(console, retry_failed=args.retry_failed)
    failed = _tell(folder, console)
    if stopped:
        console.out.line("interrupted: the same line again resumes")
        return 130
    if judge is not None:
        judge_and_show(folder, judge, console, threads=args.threads)
    if args.mlflow:
        track_finished(folder.path, args, console)
    console.out.line(f"Next: executionrag report {folder.path}")
    return 1 if failed else 0


def _keep_prompts(system_run: "SystemRun") -> None:
    """Write the prompts of the run beside its records; they explain it, and decide nothing."""
    from ...program.prompts import render_prompts
    from ..tracking.artifacts import save_prompts

    with contextlib.suppress(OSError):
        save_prompts(system_run.folder.path, render_prompts(system_run.program))


def _tell(folder: "RunFolder", console: "Console") -> int:
    """Print what the run came to; how many questions failed."""
    from ..evaluation import Tally

    tally = Tally(folder.records())
    console.out.line(f"{tally.n} of {count(len(folder.question_ids), 'question')} finished: {tally} · {folder.path}")
    if tally.failed:
        console.out.line(f"{tally.failed} failed; the same line with --retry-failed asks them again")
    return tally.failed
