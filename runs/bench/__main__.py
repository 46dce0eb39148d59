"""Run every benchmark, or those named, and exit with 1 where a bound is broken: `python -m executionrag.runs.bench`."""

import logging
import sys
from collections.abc import Callable, Sequence

from ..output import Console
from . import cpu_per_call, memory_per_question
from .measured import Measured, show_table

# A benchmark is a file here and a line here.
BENCHES: dict[str, Callable[[], list[Measured]]] = {
    "cpu_per_call": cpu_per_call.measure,
    "memory_per_question": memory_per_question.measure,
}


def main(names: Sequence[str], console: Console) -> int:
    """Run the named benchmarks, all where none is named; 1 where a bound is broken, 2 where a name is unknown."""
    if unknown := [name for name in names if name not in BENCHES]:
        console.fail(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(BENCHES)}")
        return 2
    broken = False
    for name in names or BENCHES:
        console.note(f"{name}: running; it takes minutes")
        rows = BENCHES[name]()
        console.out.heading(name)
        show_table(console.out, rows)
        broken = broken or any(row.broken for row in rows)
    return int(broken)


if __name__ == "__main__":
    logging.getLogger("dspy").setLevel(logging.ERROR)  # Evaluate's log line would stand between the tables
    sys.exit(main(sys.argv[1:], Console.standard()))
