"""`executionrag doctor`: look at the installation, an LM and an index, and say what to mend."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UserError
from .options import add_lm_options, configure_dspy, read_key

if TYPE_CHECKING:
    from ..doctor import Finding
    from ..output import Console

_MARKS = {True: ("ok", "green"), False: ("FAIL", "bold red"), None: ("-", "yellow")}


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser = commands.add_parser(
        "doctor",
        parents=[common],
        help="look at an LM and an index, and say what to mend",
        description="See which address, key, model and structured output an LM really has, and whether an index "
        "is sound.",
    )
    parser.set_defaults(run=run)
    add_lm_options(parser)
    parser.add_argument("--index", metavar="DIR", help="an index folder to check, every byte")


def run(args: argparse.Namespace, console: "Console") -> int:
    """Print the findings; 1 if any of them fails."""
    key = read_key(args.api_key_env)
    configure_dspy(args.debug)
    failed = show_findings(_packages(), console)
    if args.index is not None:
        console.out.heading(f"Index {args.index}")
        failed |= show_findings(_index(Path(args.index)), console)
    if args.lm is not None:
        from ..doctor import diagnose

        console.out.heading(f"Language model {args.lm}")
        with console.err.progress("model", "B") as progress:
            findings = diagnose(
                args.lm,
                api_base=args.api_base,
                api_key=key,
                timeout=args.timeout or 60.0,
                notify=console.note,
                progress=progress,
            )
        failed |= show_findings(findings, console)
    elif args.index is None:
        console.out.line()
        console.out.entry("Next:", "executionrag doctor --lm SPEC, e.g. --lm local or --lm openai/gpt-4o-mini")
    return 1 if failed else 0


def show_findings(findings: "Iterator[Finding] | list[Finding]", console: "Console") -> bool:
    """Print findings as an aligned list with their remedies; whether any of them fails."""
    failed = False
    for finding in findings:
        mark, style = _MARKS[finding.ok]
        failed |= finding.ok is False
        console.out.entry(f"{mark:<4} {finding.name:<22}", finding.value, head_style=style)
        if finding.remedy:
            console.out.entry("→", finding.remedy, indent=28, style="bold" if finding.ok is False else "")
    return failed


def _packages() -> "Iterator[Finding]":
    """The versions that matter."""
    import importlib.metadata
    import platform

    from ..doctor import Finding

    yield Finding("Python", platform.python_version(), True)
    for name, needed_for in (
        ("executionrag", ""),
        ("dspy", ""),
        ("sentence-transformers", "an encoder"),
        ("torch", "an encoder"),
        ("faiss-cpu", "semantic search"),
        ("bm25s", "keyword search"),
    ):
        try:
            yield Finding(name, importlib.metadata.version(name), True)
        except importlib.metadata.PackageNotFoundError:
            yield Finding(name, "not installed", False, f"{needed_for or 'everything'} needs it: pip install {name}")


def _index(path: Path) -> "Iterator[Finding]":
    """Whether an index is whole and its encoder is here."""
    from ...retrievers.index import Index
    from ..doctor import Finding

    try:
        index = Index.load(path, verify=True)
        yield Finding("files", f"{len(index):,} passages, {index.granularity} granularity, nothing damaged", True)
        Index.load(path, encoder=index.encoder_name)
        yield Finding("encoder", f"{index.encoder_name} is here and is the one that made the index", True)
        yield Finding("digest", index.digest[:12])
    except UserError as error:
        yield Finding("index", "not usable", False, str(error))
