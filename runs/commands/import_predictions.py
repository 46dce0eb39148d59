"""`executionrag import-predictions`: another system's predictions and traces as a run folder."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UsageError
from .options import count, whole

if TYPE_CHECKING:
    from ..importing.import_run import Imported
    from ..output import Console

_SYSTEM = {"arag": "a-rag-published", "jsonl": "imported"}


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser = commands.add_parser(
        "import-predictions",
        parents=[common],
        help="make others' predictions and traces a run folder",
        description="Read predictions of a system that was run elsewhere into a run folder that judge, failures, "
        "report and compare take. Layouts: A-RAG's predictions.jsonl, and a documented JSONL (README, Import others' "
        "predictions). Answers that are errors in disguise become failed rows; nothing is imported in part.",
    )
    parser.set_defaults(run=run)
    parser.add_argument("file", metavar="FILE", help="the predictions")
    parser.add_argument("--layout", choices=("arag", "jsonl"), required=True, help="how FILE is laid out")
    parser.add_argument("--benchmark", metavar="SPEC", required=True, help="the questions, as evaluate takes them")
    parser.add_argument("--index", metavar="DIR", required=True, help="an index of the corpus that was searched")
    parser.add_argument("--out", metavar="DIR", required=True, help="the run folder to make; must not exist")
    parser.add_argument("--system", metavar="NAME", help="what to call the system (default: by layout)")
    parser.add_argument("--lm", metavar="NAME", default="imported", help="the LM that answered, where it is known")
    parser.add_argument(
        "--retrieved-are",
        choices=("ids", "texts"),
        default="ids",
        help="what the JSONL names passages by: ids of the index (default), or their texts",
    )
    parser.add_argument(
        "--k", type=whole(1), metavar="N", help="say so only where they searched this very index: passages a search"
    )
    parser.add_argument(
        "--allow-missing-gold", action="store_true", help="go on where the index lacks gold passages of the benchmark"
    )


def run(args: argparse.Namespace, console: "Console") -> int:
    """Import and say what came of it."""
    from ...program.systems import SYSTEMS
    from ..asked import Asked
    from ..importing.import_run import import_predictions
    from ..system_run import command_line

    if not args.benchmark.strip():
        raise UsageError("name the benchmark, e.g. --benchmark minihop or musique:FILE")
    if args.layout == "arag" and args.retrieved_are == "texts":
        raise UsageError("--retrieved-are texts is for --layout jsonl: A-RAG's file names passages by chunk id")
    system = _SYSTEM[args.layout] if args.system is None else args.system.strip()
    if not system:
        raise UsageError("--system is blank: name the system, or leave it out")
    if system in SYSTEMS:
        raise UsageError(f"--system {system}: a system of this program has that name; try {system}-published")
    out = Path(args.out)
    asked = Asked.load(args.benchmark, Path(args.index), allow_missing_gold=args.allow_missing_gold)
    made = import_predictions(
        Path(args.file),
        args.layout,
        asked,
        out,
        system=system,
        lm=args.lm,
        retrieved_are=args.retrieved_are,
        k=args.k,
        command=command_line(args.argv),
    )
    _show(made, asked.benchmark.name, system, console)
    return 0


def _show(made: "Imported", benchmark: str, system: str, console: "Console") -> None:
    from ..importing.references import shown

    records, references = made.records, made.references
    failed = sum(record.failure is not None for record in records)
    abstained = sum(record.abstained for record in records)
    out = console.out
    out.entry(
        system, f"{count(len(records), 'question')} of {benchmark} imported into {made.folder}", head_style="bold"
    )
    answered = len(records) - failed - abstained
    out.entry("rows:", f"{answered} answered, {abstained} without an answer, {failed} failed", indent=2)
    if made.disguised:
        first, name = next(iter(made.disguised.items()))
        said = f"{len(made.disguised)} of the failed are errors in disguise (the first: {first}, “{name}”)"
        out.entry("", said, indent=4)
    searches = sum(len(record.searches) for record in records)
    mapped = len(references.passage_ids)
    said = f"{mapped:,} of {count(references.total, 'passage')} are in the index, from {count(searches, 'tool call')}"
    out.entry("retrieved:", said, indent=2)
    if references.unmapped:
        console.warn(
            f"{count(len(references.unmapped), 'retrieved passage')} not in the index and left out (the first: "
            f"{shown(references.unmapped[0])}): evidence recall may be too low"
        )
    if references.ambiguous:
        console.warn(f"{count(references.ambiguous, 'retrieved text')} fit several passages; the first by id is taken")
    if made.absent:
        console.warn(
            f"{count(made.absent, 'question')} of {benchmark} not in the file; the denominator is what is in it"
        )
    if made.not_given:
        console.note(f"not given by every row, and 0 where it is not: {', '.join(made.not_given)}")
    if made.unread:
        console.warn(f"fields that are not read: {', '.join(made.unread)}")
