"""The options of the commands that answer a benchmark's questions, and what is made of them."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import UsageError
from ...program.budget import MAX_LOOPS, MAX_TOKENS
from .judge import add_judge_options
from .options import THREADS, K, add_lm_options, number, start_lm, whole

if TYPE_CHECKING:
    from ...optimize.variant import Variant
    from ..asked import Asked
    from ..output import Console
    from ..system_run import Conditions


def add_run_options(parser: argparse.ArgumentParser, *, benchmark: bool = True) -> None:
    """Add what decides a run besides its system: questions, LM, judge and budget.

    Args:
        parser: The command's.
        benchmark: Add `--benchmark` for the one benchmark of the command.
    """
    if benchmark:
        parser.add_argument(
            "--benchmark", metavar="SPEC", required=True, help="minihop, musique:FILE, hotpotqa:FILE, …"
        )
    add_lm_options(parser)
    parser.add_argument("--temperature", type=number(0), metavar="F", default=0.0, help="default: 0, greedy")
    parser.add_argument("--max-tokens", type=whole(1), metavar="N", help="longest reply (default: the server's own)")
    parser.add_argument("--no-cache", action="store_true", help="ask the LM anew where a reply is cached")
    add_judge_options(parser)
    asked = parser.add_argument_group("questions")
    asked.add_argument("--limit", type=whole(1), metavar="N", help="the first N questions (default: all)")
    asked.add_argument("--per-hops", type=whole(1), metavar="N", help="the first N questions of each hop count")
    asked.add_argument("--retry-failed", action="store_true", help="ask again what failed")
    asked.add_argument(
        "--allow-missing-gold", action="store_true", help="run though gold passages are missing from the index"
    )
    asked.add_argument(
        "--threads", type=whole(1), metavar="N", help=f"questions at once (default: {THREADS}; 1 with the embedded LM)"
    )
    limits = parser.add_argument_group("search")
    limits.add_argument("--max-loops", type=whole(0), metavar="N", default=MAX_LOOPS, help=f"default: {MAX_LOOPS}")
    limits.add_argument(
        "--max-context-tokens", type=whole(1), metavar="N", default=MAX_TOKENS, help=f"default: {MAX_TOKENS:,}"
    )
    limits.add_argument("--k", type=whole(1), metavar="N", default=K, help=f"passages a search (default: {K})")
    limits.add_argument(
        "--dedup",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether a repeated query is answered from memory (default: yes, but not for a-rag, as published)",
    )
    limits.add_argument("--seed", type=whole(0), metavar="N", default=0, help="of resampling in reports (default: 0)")
    parser.add_argument("--quiet", action="store_true", help="no line a question")


def check_judge_options(args: argparse.Namespace) -> None:
    """See that no option of a judge stands without one."""
    given = [
        name for name in ("judge_api_base", "judge_api_key_env", "judge_timeout") if getattr(args, name) is not None
    ]
    if given and not args.judge_lm:
        raise UsageError(f"--{given[0].replace('_', '-')} is for a judge, and --judge-lm names none")


def check_system(name: str, option: str) -> None:
    """See that there is a system of that name.

    Raises:
        UsageError: There is none.
    """
    from ...program.systems import SYSTEMS

    if name not in SYSTEMS:
        raise UsageError(f"{option} {name}: there is none; there are {', '.join(sorted(SYSTEMS))}")


def read_variant(args: argparse.Namespace) -> "Variant | None":
    """The variant of `--variant`, where the command has that option and it is given."""
    if getattr(args, "variant", None) is None:
        return None
    from ...optimize.variant import load_variant

    return load_variant(args.variant)


def load_asked(args: argparse.Namespace, index: str, benchmark: str | None = None) -> "Asked":
    """Read the benchmark (that of `--benchmark` unless another is given), and the index with its gold."""
    from ..asked import Asked

    return Asked.load(
        args.benchmark if benchmark is None else benchmark,
        Path(index),
        limit=args.limit,
        per_hops=args.per_hops,
        allow_missing_gold=args.allow_missing_gold,
    )


def start_conditions(args: argparse.Namespace, console: "Console") -> "Conditions":
    """Start the LM, and put together what the systems answer under."""
    from ..system_run import Conditions

    backend = start_lm(args, console, cache=not args.no_cache)
    return Conditions(
        backend=backend,
        lm=args.lm,
        temperature=args.temperature,
        max_tokens=args.max_tokens,
        k=args.k,
        max_loops=args.max_loops,
        max_context_tokens=args.max_context_tokens,
        deduplicate=args.dedup,
        seed=args.seed,
        variant=read_variant(args),
        threads=args.threads or (1 if backend.adapter is not None else THREADS),
    )
