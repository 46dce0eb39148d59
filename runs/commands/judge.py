"""`executionrag judge`: let an LM say which answers of a run are right; the answers stay untouched."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UserError
from .options import THREADS, add_lm_options, count, start_lm, whole

if TYPE_CHECKING:
    from ...metrics.llm_judge import LLMJudge
    from ..judging import Judged
    from ..output import Console
    from ..run_folder import RunFolder

_NAME_ONE = "name another judge with --judge-lm"


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser = commands.add_parser(
        "judge",
        parents=[common],
        help="let an LM say which answers of a run are right",
        description="Judge the answers of a run with an LM. Answers are never changed; judging again with another LM "
        "replaces which verdicts count, and what one judge has said is not asked twice.",
        epilog="The same line again resumes, and asks again where a verdict failed.",
    )
    parser.set_defaults(run=run)
    parser.add_argument("folder", metavar="RUN", help="a run folder, made by executionrag evaluate")
    add_judge_options(parser)
    parser.add_argument(
        "--threads",
        type=whole(1),
        metavar="N",
        help=f"answers judged at a time (default: {THREADS}; 1 with the embedded LM)",
    )
    parser.add_argument("--again", action="store_true", help="ask again what this judge has said already")


def add_judge_options(parser: argparse.ArgumentParser) -> None:
    """Add `--judge-lm` and what belongs to it."""
    add_lm_options(parser, role="judge")


def run(args: argparse.Namespace, console: "Console") -> int:
    """Judge and print LLM-Acc; 1 where no answer could be judged."""
    from ..run_folder import RunFolder

    folder = RunFolder.open(Path(args.folder))  # a wrong folder shows before an LM is loaded
    if not folder.records():
        raise UserError(f"{folder.path}: no question is answered yet; evaluate goes on with it")
    judge = start_judge(args, str(folder.settings.get("lm", "")), console, cache=not args.again)
    judged = judge_and_show(folder, judge, console, threads=args.threads, again=args.again)
    return 1 if judged.accuracy is None else 0


def start_judge(args: argparse.Namespace, answering: str, console: "Console", *, cache: bool = True) -> "LLMJudge":
    """Make the judge that the options name, by default the answering LM, with a warning where it judges itself.

    Args:
        args: The command's arguments.
        answering: The LM that answered, as the run's settings name it: a model string, or the embedded LM's label.
        console: Where the warning goes.
        cache: Whether DSPy keeps the judge's replies.

    Raises:
        UsageError: The name cannot be right.
        UserError: The judge cannot be had or reached; or it is to be the answering LM, which is another embedded model
            than the default.
    """
    named = args.judge_lm is not None
    if not named:
        if not answering:
            raise UserError("the run does not say which LM answered; name a judge with --judge-lm")
        args = argparse.Namespace(**vars(args) | {"judge_lm": "local" if is_embedded(answering) else answering})
    try:
        backend = start_lm(args, console, cache=cache, role="judge")
    except UserError as error:
        if named:
            raise
        raise type(error)(f"{error} (the judge is the LM that answered, for --judge-lm names none)") from error
    own = answering in (backend.label, args.judge_lm)
    if not named and not own:
        raise UserError(f"the run's LM {answering} is not what was found ({backend.label}); {_NAME_ONE}")
    if own:
        console.err.line(f"warning: {answering} judges its own answers; {_NAME_ONE}", "yellow")
    from ...metrics.llm_judge import LLMJudge

    return LLMJudge(backend.lm, adapter=backend.adapter, label=backend.label)


def judge_and_show(
    folder: "RunFolder", judge: "LLMJudge", console: "Console", *, threads: int | None, again: bool = False
) -> "Judged":
    """Judge the answers of a run under a progress bar, and print LLM-Acc."""
    from ..judging import judge_run

    at_once = threads or (1 if is_embedded(judge.label) else THREADS)
    with console.err.progress("judged", "answers") as progress:
        judged = judge_run(folder, judge, threads=at_once, again=again, progress=progress, notify=console.err.line)
    show_judged(judged, judge.label, console)
    return judged


def show_judged(judged: "Judged", judge: str, console: "Console") -> None:
    """Print LLM-Acc with its n, what could not be judged, the bounds, and what judging cost."""
    n, failed = len(judged.verdicts), judged.failures
    out = console.out
    if judged.accuracy is None or judged.bounds is None:
        out.line(f"LLM-Acc: none, for none of {count(n, 'answer')} could be judged", "bold")
    else:
        out.line(f"LLM-Acc {judged.accuracy:.3f} ({judged.right} right, n = {n - len(failed)}), judge {judge}", "bold")
    if failed and judged.bounds is not None:
        low, high = judged.bounds
        out.line(
            f"{count(len(failed), 'answer')} could not be judged and stand outside: {low:.3f} if all were wrong, "
            f"{high:.3f} if all were right (n = {n})"
        )
        out.entry("", f"First of them, {failed[0].id}: {failed[0].error}")
    if len(judged.judges) > 1:
        parts = ", ".join(f"{number} by {name}" for name, number in judged.judges.items())
        console.err.line(f"warning: the verdicts that count are of several judges: {parts}", "yellow")
    cost = "unknown" if judged.cost is None else f"${judged.cost:.4f}"
    out.entry(
        "",
        f"Judged now {judged.new}, kept from before {judged.reused}; judging now cost {cost}, "
        f"{judged.prompt_tokens:,} prompt and {judged.completion_tokens:,} completion tokens",
    )


def is_embedded(label: str) -> bool:
    """Whether a label is the embedded LM's."""
    from ..local_lm.lm import PROVIDER

    return label.partition("/")[0] == PROVIDER
