"""`executionrag variants`: list optimised prompts, show them as text, and tell two apart."""

import argparse
import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UsageError, UserError

if TYPE_CHECKING:
    from ...optimize.variant import Variant
    from ..output import Console


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser = commands.add_parser(
        "variants",
        parents=[common],
        help="list, show and diff optimised prompts; the baseline is a variant too",
        description="Without a word: list the variants. show NAME: its prompts as text, step by step. diff A B: what "
        "differs, step by step. A name is a folder in --in, a path, or baseline.",
    )
    parser.set_defaults(run=run)
    parser.add_argument("action", nargs="?", choices=("show", "diff"), help="default: list them")
    parser.add_argument("names", nargs="*", metavar="NAME", help="one to show, two to diff")
    parser.add_argument("--in", dest="folder", metavar="DIR", default="variants", help="default: variants")
    parser.add_argument(
        "--system", metavar="NAME", default="executionrag", help="whose baseline (default: executionrag)"
    )


def run(args: argparse.Namespace, console: "Console") -> int:
    """List, show or diff."""
    wanted = {None: 0, "show": 1, "diff": 2}[args.action]
    if len(args.names) != wanted:
        raise UsageError(f"variants {args.action or ''}: takes {wanted} names, e.g. variants diff baseline NAME")
    if args.action is None:
        return _list(Path(args.folder), console)
    variants = [_find(name, Path(args.folder)) for name in args.names]
    system = next((one.system for one in variants if one.system), args.system)
    if args.action == "show":
        for name, text in _prompts(variants[0], system).items():
            console.out.heading(name)
            console.out.block(text)
        return 0
    first, second = (_prompts(one, one.system or system) for one in variants)
    same = True
    for name in sorted(first.keys() | second.keys()):
        one, other = first.get(name, "").splitlines(), second.get(name, "").splitlines()
        lines = list(
            difflib.unified_diff(one, other, f"{args.names[0]}/{name}", f"{args.names[1]}/{name}", lineterm="")
        )
        if lines:
            same = False
            console.out.block("\n".join(lines) + "\n")
    if same:
        console.out.line("the prompts are the same")
    return 0


def _list(folder: Path, console: "Console") -> int:
    from ...optimize.variant import load_variant

    console.out.line("baseline  the program as it comes")
    places = sorted(folder.iterdir()) if folder.is_dir() else []
    for place in places:
        if (place / "variant.json").is_file():
            try:
                told = load_variant(place)
            except UserError as error:
                console.warn(str(error))
                continue
            of = told.provenance
            console.out.line(
                f"{told.name}  {told.system} · {of.get('optimizer')} · {of.get('lm')} · seed {of.get('seed')} · "
                f"{told.digest} · improved: {of.get('improved')}"
            )
    return 0


def _find(name: str, folder: Path) -> "Variant":
    from ...optimize.variant import BASELINE, load_variant

    inside = folder / name
    return load_variant(inside if name != BASELINE and inside.is_dir() else name)


def _prompts(variant: "Variant", system: str) -> dict[str, str]:
    from ...optimize.variant import bare_program
    from ...program.prompts import render_prompts

    program = bare_program(system)
    variant.apply(program)
    return render_prompts(program)
