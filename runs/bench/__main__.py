"""Run every benchmark, or those named, and write the page: `python -m executionrag.runs.bench [NAME …] --data DIR`.

Exits with 1 where a target is missed, or a benchmark fails or cannot use what it was given; the others still run.
"""

import argparse
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

from ...errors import UserError
from ..output import Console
from . import results
from .measured import Measured, show_table
from .setting import Setting, Skipped

logger = logging.getLogger(__name__)

# A benchmark is a file here, with `measure(setting)`, and a name in this list.
BENCHES = (
    "cpu_per_call",
    "dense_search",
    "encoding",
    "evaluation",
    "indexing",
    "keyword_search",
    "memory_per_question",
    "opening",
    "prompts",
    "start",
)


def main(arguments: Sequence[str], console: Console, benches: Mapping[str, ModuleType] | None = None) -> int:
    """Run the named benchmarks, all where none is named; 1 where a target is missed, 2 where a name is unknown."""
    parser = argparse.ArgumentParser(prog="python -m executionrag.runs.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHES)} (default: all)")
    parser.add_argument("--data", type=Path, help="folder of benchmark files; without it some benchmarks are left out")
    parser.add_argument("--cache", type=Path, help="folder that keeps big corpora between runs")
    parser.add_argument("--large", action="store_true", help="measure at a million passages too (an hour more)")
    parser.add_argument("--rounds", type=int, default=7, help="repetitions of a timing (default: 7)")
    parser.add_argument("--out", type=Path, help="the page to write, beside a folder of results (default: none)")
    parser.add_argument("--before", action="store_true", help="keep the results as those of an older commit")
    parser.add_argument("--page-only", action="store_true", help="write the page from the results that there are")
    args = parser.parse_args(arguments)
    known = benches if benches is not None else {name: import_module(f".{name}", __package__) for name in BENCHES}
    if unknown := [name for name in args.names if name not in known]:
        console.fail(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(known)}")
        return 2
    setting = Setting(args.data, large=args.large, rounds=args.rounds, **({"cache": args.cache} if args.cache else {}))
    missed = False
    for name in [] if args.page_only else args.names or known:
        measure: Callable[[Setting], list[Measured]] = known[name].measure
        console.note(f"{name}: running; it takes minutes")
        try:
            rows = measure(setting)
        except Skipped as reason:
            console.warn(f"{name}: left out; it {reason}")
            continue
        except UserError as error:  # the others still run
            console.fail(f"{name}: {error}")
            missed = True
            continue
        except Exception:  # whatever it is, hours of the others' work must not go with it
            logger.exception("%s: not finished", name)
            missed = True
            continue
        console.out.heading(name)
        show_table(console.out, rows)
        missed = missed or any(row.broken for row in rows)
        if args.out is not None:
            folder = results.folder_of(args.out)
            results.save(folder / results.BEFORE if args.before else folder, name, rows)
    if args.out is not None:
        results.render(args.out, known)
        console.note(f"written: {args.out}")
    return int(missed)


if __name__ == "__main__":
    logging.getLogger("dspy").setLevel(logging.ERROR)  # Evaluate's log line would stand between the tables
    sys.exit(main(sys.argv[1:], Console.standard()))
