"""`executionrag optimize`: better prompts from train questions, as a variant beside the untouched baseline."""

import argparse
import hashlib
import importlib.metadata
import json
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UsageError, UserError
from ...program.budget import MAX_LOOPS
from .options import THREADS, K, add_lm_options, check_place, number, start_lm, whole
from .run_options import check_system

if TYPE_CHECKING:
    from ..output import Console

_OPTIMIZERS = ("gepa", "mipro", "bootstrap", "random")
_BUDGETS = ("light", "medium", "heavy")


def _budget(written: str) -> str | int:
    count: int = 0
    if written not in _BUDGETS:
        count = whole(1)(written)
    return count or written


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser = commands.add_parser(
        "optimize",
        parents=[common],
        help="optimise the prompts on train questions; the baseline stays as it is",
        description="Optimise a system's prompts on train questions, write them as a variant, and compare it with the "
        "baseline on train questions that were held out. Ctrl-C keeps the best so far.",
    )
    parser.set_defaults(run=run, reflection_temperature=1.0)
    parser.add_argument("--optimizer", choices=_OPTIMIZERS, required=True, help="through DSPy")
    parser.add_argument("--benchmark", metavar="SPEC", required=True, help="minihop, musique:TRAINFILE, …")
    parser.add_argument("--measured-on", metavar="SPEC", help="what will be measured on; a question in both is refused")
    parser.add_argument("--index", metavar="DIR", required=True, help="an index that holds the train questions' gold")
    parser.add_argument("--system", metavar="NAME", default="executionrag", help="default: executionrag")
    parser.add_argument("--out", metavar="DIR", required=True, help="the variant's folder")
    add_lm_options(parser)
    parser.add_argument("--temperature", type=number(0), metavar="F", default=0.0, help="default: 0, greedy")
    parser.add_argument("--max-tokens", type=whole(1), metavar="N", help="longest reply (default: the server's own)")
    add_lm_options(parser, role="reflection")
    parser.add_argument("--train", type=whole(1), metavar="N", help="questions to optimise on (default: all the rest)")
    parser.add_argument("--validation", type=whole(0), metavar="N", help="questions held out (default: a third)")
    parser.add_argument("--budget", type=_budget, default="light", help="light, medium, heavy, or scored questions")
    parser.add_argument("--demos", type=whole(1), default=2, metavar="N", help="demonstrations a step (default: 2)")
    parser.add_argument("--max-loops", type=whole(0), metavar="N", default=MAX_LOOPS, help=f"default: {MAX_LOOPS}")
    parser.add_argument("--k", type=whole(1), metavar="N", default=K, help=f"passages a search (default: {K})")
    parser.add_argument("--seed", type=whole(0), metavar="N", default=0, help="of the draw and the search (default: 0)")
    parser.add_argument(
        "--threads", type=whole(1), metavar="N", help=f"questions at once (default: {THREADS}; 1 with the embedded LM)"
    )


def run(args: argparse.Namespace, console: "Console") -> int:
    """Optimise; 130 where it was interrupted."""
    out = Path(args.out)
    check_place(out / "variant.json", "--out", given=out)
    if out.name == "baseline":
        raise UsageError("--out: a variant cannot be named baseline, for that is the program as it comes")
    if (out / "variant.json").exists() and _complete(out):
        raise UserError(f"--out {out}: holds a variant already; give another folder")
    check_system(args.system, "--system")
    from ..training import Training

    validation = args.validation if args.validation is not None else _third(args)
    training = Training.load(
        args.benchmark,
        Path(args.index),
        train=args.train,
        validation=validation,
        seed=args.seed,
        measured_on=args.measured_on,
    )
    backend = start_lm(args, console)
    reflection = start_lm(args, console, role="reflection") if args.reflection_lm else None
    import dspy

    with dspy.context(lm=backend.lm, adapter=backend.adapter):
        return _optimize(args, console, out, training, backend, reflection)


def _complete(out: Path) -> bool:
    """Whether the variant there is finished; one that Ctrl-C ended is gone on with."""
    from ...optimize.variant import load_variant

    return load_variant(out).provenance.get("complete") is not False


def _spent(out: Path, compiled: Any, seconds: float) -> dict[str, Any]:
    """What compiling took, an interrupted leg before this one included.

    Tokens and USD are those of the scored questions: what proposes instructions, and the comparison with the baseline,
    are not among them.
    """
    from ...optimize.variant import load_variant

    now: dict[str, Any] = {
        "scored_questions": compiled.answered,
        "lm_calls": compiled.lm_calls,
        "seconds": round(seconds, 1),
        "prompt_tokens_of_scored_questions": compiled.prompt_tokens,
        "completion_tokens_of_scored_questions": compiled.completion_tokens,
        "cost_usd_of_scored_questions": compiled.cost,
    }
    before = load_variant(out).provenance.get("spent") if (out / "variant.json").exists() else None
    if not isinstance(before, dict):
        return now
    return {
        name: None if value is None or before.get(name, 0) is None else value + before.get(name, 0)
        for name, value in now.items()
    }


def _check_same(out: Path, settings: dict[str, Any]) -> None:
    """See that an interrupted variant, which this line would go on with, is of the same settings.

    Raises:
        UserError: It is not.
    """
    from ...optimize.variant import load_variant

    if (out / "variant.json").exists():
        there = load_variant(out).provenance
        differing = sorted(name for name, value in settings.items() if there.get(name, value) != value)
        if differing:
            raise UserError(
                f"--out {out}: holds an interrupted variant of other settings ({', '.join(differing)}); give another "
                "folder, or the same line"
            )


def _third(args: argparse.Namespace) -> int:
    from ..benchmarks.load import load_benchmark

    return len(load_benchmark(args.benchmark, to_measure=False).train) // 3 if args.train is None else args.train // 2


def _optimize(
    args: argparse.Namespace, console: "Console", out: Path, training: Any, backend: Any, reflection: Any
) -> int:
    from ...optimize.compilers import Plan, compile_program
    from ...optimize.feedback import FeedbackMetric
    from ...optimize.validation import compare_on
    from ...optimize.variant import save_variant, steps_of
    from ...program.systems import make_system
    from ...retrievers.encoder import get_encoder
    from ..local_lm.model_file import cache_folder

    def program() -> Any:
        return make_system(
            args.system, training.index, k=args.k, max_loops=args.max_loops, context_window=backend.context_window
        )

    label = backend.settings_name(args.lm)
    threads = args.threads or (1 if backend.adapter is not None else THREADS)
    plan = Plan(args.optimizer, args.budget, args.seed, threads, args.demos)
    metric = FeedbackMetric(get_encoder(training.index.encoder_name).encode_query)
    settings = {
        "system": args.system,
        "optimizer": args.optimizer,
        "budget": args.budget,
        "demos": args.demos,
        "seed": args.seed,
        "k": args.k,
        "max_loops": args.max_loops,
        "lm": label,
        "reflection_lm": label if reflection is None else reflection.settings_name(args.reflection_lm),
        "temperature": args.temperature,
        "max_tokens": args.max_tokens,
        "context_window": backend.context_window,
        "data_digest": training.digest,
        "benchmark": training.benchmark.kind,
        "benchmark_digest": training.benchmark.digest,
        "index_digest": training.index.digest,
    }
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]
    # GEPA's checkpoint is a pickle: kept in this user's own cache, never in a folder that is handed on.
    log_dir = cache_folder() / "optimize" / digest
    _check_same(out, settings)
    console.note(
        f"{args.optimizer} · {args.system} · {backend.label} · {len(training.train)} train questions, "
        f"{len(training.validation)} held out · budget {args.budget} · seed {args.seed} · {out}"
    )
    start = time.monotonic()
    compiled = compile_program(
        program(),
        training.train,
        metric,
        plan,
        # An instruction is proposed anew each time: greedy, the LM would propose the same again.
        reflection_lm=backend.lm.copy(temperature=1.0) if reflection is None else reflection.lm,
        log_dir=log_dir if args.optimizer == "gepa" else None,
        scored=lambda n, score: console.note(f"{n} scored · {score:.2f}"),
    )
    changed = steps_of(compiled.program) != steps_of(program())
    provenance: dict[str, Any] = settings | {
        "parent": "baseline",
        "train_ids": [example["id"] for example in training.train],
        "validation_ids": [example["id"] for example in training.validation],
        "complete": False,  # until it is compared with the baseline: the same line goes on
        "changed": changed,
        "spent": _spent(out, compiled, time.monotonic() - start),
        "versions": {name: importlib.metadata.version(name) for name in ("executionrag", "dspy", "gepa")},
        "improved": "not measured",
    }
    # A second Ctrl-C that came before anything better was found takes nothing away.
    if changed or not compiled.stopped or not (out / "variant.json").exists():
        save_variant(out, compiled.program, provenance)
    if compiled.stopped:
        best = "the best prompts so far" if changed else "the baseline's prompts, for nothing better was found yet,"
        console.out.line(f"interrupted: {best} are kept in {out}; not compared with the baseline")
        return 130
    console.note(f"comparing with the baseline on {len(training.validation)} held-out questions")
    try:
        result = compare_on(
            training.validation, program(), compiled.program, metric, changed=changed, seed=args.seed, threads=threads
        )
    except KeyboardInterrupt:
        console.out.line(f"interrupted: the variant is kept in {out}; the same line compares it with the baseline")
        return 130
    provenance |= {
        "complete": True,
        "improved": result.improved,
        "said": str(result),
        "validation": {
            "baseline": list(result.baseline),
            "variant": list(result.variant),
            "difference": None
            if result.difference is None
            else {"value": result.difference.value, "low": result.difference.low, "high": result.difference.high},
        },
    }
    save_variant(out, compiled.program, provenance)
    shutil.rmtree(log_dir, ignore_errors=True)
    console.out.line(str(result) if changed else f"{result}: no prompt changed")
    console.out.line(f"Next: executionrag variants diff baseline {out}")
    return 0
