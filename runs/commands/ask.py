"""`executionrag ask`: answer one question over an index, and show how."""

import argparse
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UsageError
from ...program.budget import MAX_LOOPS, MAX_TOKENS
from ...retrievers.text import replace_surrogates
from .options import K, add_lm_options, check_place, count, number, start_lm, whole

if TYPE_CHECKING:
    import dspy

    from ...program.execution_rag import ExecutionRAG
    from ..backends import Backend
    from ..output import Console


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser = commands.add_parser(
        "ask",
        parents=[common],
        help="answer one question over an index, and show how",
        description="Answer a multi-hop question over an index, showing each step as it happens.",
        epilog="The language model's key comes from its provider's environment variable, such as OPENAI_API_KEY.",
    )
    parser.set_defaults(run=run)
    parser.add_argument("question", help="the question, in words")
    parser.add_argument("--index", metavar="DIR", help="an index folder, made by executionrag index")
    parser.add_argument(
        "--encoder", metavar="NAME", help="another name or place of the encoder that made the index (default: its own)"
    )
    add_lm_options(parser)
    parser.add_argument("--temperature", type=number(0), metavar="F", default=0.0, help="default: 0, greedy")
    parser.add_argument(
        "--max-tokens",
        type=whole(1),
        metavar="N",
        help="longest reply (default: the server's own; 512 for the embedded LM)",
    )
    parser.add_argument("--no-cache", action="store_true", help="ask the LM anew where a reply is cached")
    limits = parser.add_argument_group("search")
    limits.add_argument(
        "--max-loops", type=whole(0), metavar="N", default=MAX_LOOPS, help=f"retrieval loops (default: {MAX_LOOPS})"
    )
    limits.add_argument(
        "--max-context-tokens",
        type=whole(1),
        metavar="N",
        default=MAX_TOKENS,
        help=f"tokens shown to and written by the LM in all (default: {MAX_TOKENS:,})",
    )
    limits.add_argument("--k", type=whole(1), metavar="N", default=K, help=f"passages a search (default: {K})")
    shown = parser.add_argument_group("output")
    shown.add_argument(
        "--json", action="store_true", help="the whole prediction as JSON on stdout; the story goes to stderr"
    )
    shown.add_argument("--quiet", action="store_true", help="the answer alone, or with --json the JSON alone")
    shown.add_argument("--html", metavar="FILE", help="write the story as one HTML page too")


def run(args: argparse.Namespace, console: "Console") -> int:
    """Answer the question; 1 where the language model failed."""
    question = replace_surrogates(args.question)[0].strip()
    if not question:
        raise UsageError('the question is blank: give a question in words, e.g. executionrag ask "Who …?"')
    if not args.index:
        raise UsageError("name the index folder with --index DIR; executionrag index makes one")
    page = None if args.html is None else Path(args.html)
    if page is not None:
        check_place(page, "--html")
    from ...retrievers.index import Index

    index = Index.load(Path(args.index), encoder=args.encoder)  # a wrong or damaged folder shows before an LM is loaded
    if args.quiet:
        console = dataclasses.replace(console, quiet=True)
    backend = start_lm(args, console, cache=not args.no_cache)
    from ...program.execution_rag import ExecutionRAG

    program = ExecutionRAG(
        index,
        k=args.k,
        max_loops=args.max_loops,
        max_tokens=args.max_context_tokens,
        context_window=backend.context_window,
    )
    console.note(
        f"{count(len(index), 'passage')} in {args.index} · {backend.label} · at most {count(args.max_loops, 'loop')}"
    )
    prediction, error = answer_live(program, backend, question, console, to_stderr=args.json)
    _show(args, console, question, prediction, error, program, backend, page)
    return 1 if error else 0


def answer_live(
    program: "ExecutionRAG", backend: "Backend", question: str, console: "Console", *, to_stderr: bool = False
) -> "tuple[dspy.Prediction, str]":
    """Answer a question while showing its story, unless the console is quiet.

    Returns:
        The prediction, and why the LM failed (blank where it did not).
    """
    import contextlib

    import dspy

    from ...program.watching import watching
    from ..live_story import LiveStory

    screen = console.err if to_stderr else console.out
    with dspy.context(lm=backend.lm, adapter=backend.adapter), contextlib.ExitStack() as stack:
        story = None
        if not console.quiet:
            doing = stack.enter_context(screen.working())
            story = LiveStory(screen, lambda passage_id: program.index.passage(passage_id).text, doing)
            story.begin(question)
            stack.enter_context(watching(story))
        prediction = program(question=question)
    if story is not None:
        story.end(prediction)
    return prediction, _failure(prediction, backend)


def _failure(prediction: "dspy.Prediction", backend: "Backend") -> str:
    """Why the LM failed, in one line with the remedy, from the trajectory's last error."""
    import dspy

    from ...program.trajectory import ErrorStep
    from ..lm_errors import explain_lm_error

    if prediction.stop_reason != "lm_error":
        return ""
    step = next(step for step in reversed(prediction.trajectory) if isinstance(step, ErrorStep))
    kind = getattr(dspy, step.error, None)
    if not (isinstance(kind, type) and issubclass(kind, dspy.LMError)):
        kind = dspy.LMError
    return explain_lm_error(kind(step.message, model=backend.lm.model), base_url=backend.base_url)


def _show(
    args: argparse.Namespace,
    console: "Console",
    question: str,
    prediction: "dspy.Prediction",
    error: str,
    program: "ExecutionRAG",
    backend: "Backend",
    page: Path | None,
) -> None:
    """Everything that is said at the end: JSON or the bare answer, the page, the failure."""
    from ..answered import Answered, retrieved_passages
    from ..prediction_json import prediction_json

    passages = retrieved_passages(program.index, prediction)
    if args.json:
        settings = _settings(args, program, backend)
        console.out.json(prediction_json(question, prediction, passages, settings, error or None))
    elif args.quiet and not error:
        console.out.line(prediction.answer or "(no answer)")
    if error:
        console.fail(error)
    if page is not None:
        from ..story import write_story

        write_story(page, [Answered(question, prediction, passages, error=error)])
        console.note(f"The story as a page: {page}")


def _settings(args: argparse.Namespace, program: "ExecutionRAG", backend: "Backend") -> dict[str, Any]:
    """What the prediction was made with; never a key."""
    import importlib.metadata

    index = program.index
    return {
        "executionrag": importlib.metadata.version("executionrag"),
        "lm": backend.label,
        "temperature": args.temperature,
        "max_tokens": args.max_tokens,
        "cache": not args.no_cache,
        "max_loops": args.max_loops,
        "max_context_tokens": args.max_context_tokens,
        "context_window": backend.context_window,
        "k": args.k,
        "index": {
            "path": str(index.path),
            "digest": index.digest,
            "passages": len(index),
            "encoder": index.encoder_name,
            "granularity": index.granularity,
        },
    }
