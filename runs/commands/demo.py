"""`executionrag demo`: three MiniHop questions answered live, and what they were worth."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .options import add_lm_options, check_place, count, start_lm, whole

if TYPE_CHECKING:
    from ..output import Console

_LOOPS = 6


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser = commands.add_parser(
        "demo",
        parents=[common],
        help="three multi-hop questions answered live",
        description="Answer three questions of MiniHop, a small benchmark of invented facts, and show each step.",
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "--out", metavar="DIR", default="outputs/demo", help="where the page goes (default: outputs/demo)"
    )
    parser.add_argument("--questions", metavar="ID,ID", help="other MiniHop questions, by their ids")
    parser.add_argument(
        "--max-loops", type=whole(0), metavar="N", default=_LOOPS, help=f"retrieval loops (default: {_LOOPS})"
    )
    add_lm_options(parser, default="local")


def run(args: argparse.Namespace, console: "Console") -> int:
    """Answer the questions; 1 where one of them failed (a wrong answer is no failure)."""
    from ..demo import answer_questions, chosen_questions, minihop_index, show_results
    from ..story import write_story

    questions = chosen_questions(args.questions)
    out = Path(args.out)
    page = out / "story.html"
    check_place(page, "--out")
    console.out.entry(
        "",
        "ExecutionRAG answers multi-hop questions with a register: what has to be found out, which passage supports "
        "it, and what is still open. MiniHop's facts are invented, so every answer has to come out of its passages.",
    )
    index = minihop_index(console)
    # With cached replies a second demo would only replay the first.
    backend = start_lm(args, console, cache=False)
    console.note(
        f"{len(index):,} passages · {backend.label} · at most {count(args.max_loops, 'loop')} · replies are not cached"
    )
    answered = answer_questions(questions, index, backend, args.max_loops, console)
    show_results(answered, console.out)
    write_story(page, answered)
    console.out.line()
    console.out.line(f"The same story as a page: {page}")
    return 1 if any(one.error for one in answered) else 0
