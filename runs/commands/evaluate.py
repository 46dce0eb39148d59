"""`executionrag evaluate`: answer a benchmark's questions with a system, and lose nothing."""

import argparse
import dataclasses
import importlib.metadata
import shlex
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UsageError, UserError
from ...program.budget import MAX_LOOPS, MAX_TOKENS
from .judge import add_judge_options, judge_and_show, start_judge
from .options import THREADS, K, add_lm_options, check_place, count, number, start_lm, whole

if TYPE_CHECKING:
    from ...metrics.record import QuestionRecord
    from ..backends import Backend
    from ..benchmarks.benchmark import Benchmark
    from ..benchmarks.gold import GoldMapping
    from ..benchmarks.record import BenchmarkQuestion
    from ..evaluation import Evaluation
    from ..output import Console
    from ..run_folder import RunFolder
    from ..run_settings import RunSettings


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser = commands.add_parser(
        "evaluate",
        parents=[common],
        help="answer a benchmark's questions with a system; the same line again resumes",
        description="Answer a benchmark's questions, each once, and write a record of each as it finishes. The same "
        "line again resumes, a larger --limit extends, --retry-failed asks again what failed.",
    )
    parser.set_defaults(run=run)
    parser.add_argument("--benchmark", metavar="SPEC", required=True, help="minihop, musique:FILE, hotpotqa:FILE, …")
    parser.add_argument("--index", metavar="DIR", required=True, help="an index over the benchmark's corpus")
    parser.add_argument("--system", metavar="NAME", default="executionrag", help="default: executionrag")
    parser.add_argument("--out", metavar="DIR", required=True, help="the run's folder")
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
    limits.add_argument("--seed", type=whole(0), metavar="N", default=0, help="of resampling in reports (default: 0)")
    parser.add_argument("--quiet", action="store_true", help="no line a question")


def run(args: argparse.Namespace, console: "Console") -> int:
    """Evaluate; 1 where questions failed, 130 where it was interrupted."""
    if args.quiet:
        console = dataclasses.replace(console, quiet=True)
    out = Path(args.out)
    check_place(out / "records.jsonl", "--out", given=out)
    from ...program.systems import SYSTEMS
    from ...retrievers.index import Index
    from ..benchmarks.gold import map_gold
    from ..benchmarks.load import load_benchmark

    if args.system not in SYSTEMS:
        raise UsageError(f"--system {args.system}: there is none; there are {', '.join(sorted(SYSTEMS))}")
    _check_judge_options(args)
    benchmark = load_benchmark(args.benchmark)
    questions = _chosen(benchmark.dev, args.limit, args.per_hops)
    index = Index.load(Path(args.index))
    mapping = map_gold(benchmark.dev, index)
    _check_gold(args, mapping)
    backend = start_lm(args, console, cache=not args.no_cache)
    settings = _settings(args, backend, benchmark, index)
    # Before hours of answers: a judge that cannot be had shows now.
    judge = start_judge(args, settings.lm, console, cache=not args.no_cache) if args.judge_lm else None
    folder = _folder(out, settings, questions, _command_line(getattr(args, "argv", [])))
    threads = args.threads or (1 if backend.adapter is not None else THREADS)
    stopped = False
    with folder.appending():
        _extend(folder, questions, benchmark)
        records = {record.id: record for record in folder.records()}
        todo = [one for one in questions if _missing(records.get(one.id), args.retry_failed)]
        console.note(
            f"{args.system} · {backend.label} · {count(len(index), 'passage')} · {count(len(questions), 'question')}, "
            f"{len(questions) - len(todo)} of them done · {count(threads, 'thread')} · seed {args.seed} · {out}"
        )
        gold = {question.id: mapping.passages_of(question) for question in todo}
        if todo:
            standing = [record for key, record in records.items() if key not in gold]
            stopped = _answer(args, console, backend, folder, index, todo, gold, standing, threads)
    failed = _tell(folder, console)
    if stopped:
        console.out.line("interrupted: the same line again resumes")
        return 130
    if judge is not None:
        judge_and_show(folder, judge, console, threads=args.threads)
    console.out.line(f"Next: executionrag report {folder.path}")
    return 1 if failed else 0


def _check_judge_options(args: argparse.Namespace) -> None:
    """See that no option of a judge stands without one."""
    given = [
        name for name in ("judge_api_base", "judge_api_key_env", "judge_timeout") if getattr(args, name) is not None
    ]
    if given and not args.judge_lm:
        raise UsageError(f"--{given[0].replace('_', '-')} is for a judge, and --judge-lm names none")


def _check_gold(args: argparse.Namespace, mapping: "GoldMapping") -> None:
    """See that the index holds the gold.

    Raises:
        UserError: Some of it is missing, and that is not allowed.
    """
    if mapping.unmapped and not args.allow_missing_gold:
        first = mapping.unmapped[0]
        raise UserError(
            f"{args.index}: {len(mapping.unmapped):,} of the {mapping.total:,} gold passages of {args.benchmark} are "
            f"not in it (the first: {first.title!r} of question {first.question_id}); index the benchmark's own "
            "corpus, or go on with --allow-missing-gold"
        )


def _answer(
    args: argparse.Namespace,
    console: "Console",
    backend: "Backend",
    folder: "RunFolder",
    index: Any,
    todo: "Sequence[BenchmarkQuestion]",
    gold: dict[str, Any],
    standing: "Sequence[QuestionRecord]",
    threads: int,
) -> bool:
    """Answer what is missing, with the bar; whether it was interrupted."""
    import dspy

    from ...program.systems import make_system
    from ..evaluation import Evaluation, Tally, describe

    program = make_system(
        args.system,
        index,
        k=args.k,
        max_loops=args.max_loops,
        max_tokens=args.max_context_tokens,
        context_window=backend.context_window,
    )
    tally, lock, total = Tally(standing), threading.Lock(), len(standing) + len(todo)
    with console.err.progress("questions", "q", total=total, done=len(standing)) as progress:
        progress(len(standing), total, said=str(tally))

        def finished(record: "QuestionRecord") -> None:
            with lock:
                tally.add(record)
                if console.err.is_terminal:
                    progress(tally.n, total, said=str(tally))
                else:
                    console.note(f"{tally.n}/{total} {describe(record)} · {tally}")

        evaluation = Evaluation(
            folder,
            program,
            index,
            todo,
            gold,
            benchmark=folder.settings["benchmark"],
            system=args.system,
            finished=finished,
        )
        with dspy.context(lm=backend.lm, adapter=backend.adapter), _interruptible(evaluation, console) as interrupted:
            evaluation.run(threads)
    return interrupted.is_set()


@contextmanager
def _interruptible(evaluation: "Evaluation", console: "Console") -> "Iterator[threading.Event]":
    """Take the first Ctrl-C as a wish to end after the questions in flight; the second ends at once."""
    interrupted = threading.Event()

    def hear(number: int, frame: Any) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt
        interrupted.set()
        evaluation.stop()
        waiting = evaluation.in_flight
        named = f" ({', '.join(waiting[:4])}{', …' if len(waiting) > 4 else ''})" if waiting else ""
        console.err.line(
            f"interrupted: waiting for {count(len(waiting), 'question')} in flight{named}; "
            "Ctrl-C again ends at once, with every finished question kept"
        )

    before = signal.getsignal(signal.SIGINT)
    # A job in a shell's background ignores Ctrl-C, and goes on doing so; only the main thread may listen.
    listening = before is not signal.SIG_IGN and threading.current_thread() is threading.main_thread()
    if listening:
        signal.signal(signal.SIGINT, hear)
    try:
        yield interrupted
    finally:
        if listening:
            signal.signal(signal.SIGINT, before)


def _chosen(
    questions: "Sequence[BenchmarkQuestion]", limit: int | None, per_hops: int | None
) -> "list[BenchmarkQuestion]":
    """The questions to ask, in the benchmark's order."""
    chosen, of_hops = [], dict[int, int]()
    for question in questions:
        of_hops[question.hops] = of_hops.get(question.hops, 0) + 1
        if per_hops is None or of_hops[question.hops] <= per_hops:
            chosen.append(question)
    return chosen if limit is None else chosen[:limit]


def _missing(record: "QuestionRecord | None", retry_failed: bool) -> bool:
    return record is None or (retry_failed and record.failure is not None)


def _settings(args: argparse.Namespace, backend: "Backend", benchmark: "Benchmark", index: Any) -> "RunSettings":
    from ..run_settings import RunSettings

    return RunSettings(
        system=args.system,
        # A server's host is part of a backend's label and decides no answer.
        lm=backend.label if backend.adapter is not None else args.lm,
        temperature=args.temperature,
        max_tokens=args.max_tokens,
        context_window=backend.context_window,
        benchmark=benchmark.kind,
        benchmark_digest=benchmark.digest,
        index_digest=index.digest,
        encoder=Path(index.encoder_name).name if Path(index.encoder_name).is_absolute() else index.encoder_name,
        granularity=index.granularity,
        k=args.k,
        max_loops=args.max_loops,
        max_context_tokens=args.max_context_tokens,
        seed=args.seed,
    )


def _command_line(argv: "Sequence[str]") -> str:
    """What was typed, for the run's header; addresses are left out, for they may carry a password."""
    shown: list[str] = []
    for word in argv:
        option, separator, _ = word.partition("=")
        if shown and shown[-1].endswith("api-base"):
            word = "…"
        elif separator and option.endswith("api-base"):
            word = f"{option}=…"
        shown.append(word)
    return shlex.join(["executionrag", *shown])


def _folder(out: Path, settings: "RunSettings", questions: "Sequence[BenchmarkQuestion]", command: str) -> "RunFolder":
    """The run's folder, made or opened.

    Raises:
        UserError: It holds a run of other settings.
    """
    from ..run_folder import RUN, RunFolder

    if not (out / RUN).is_file():
        versions = {name: importlib.metadata.version(name) for name in ("executionrag", "dspy")}
        asked = [question.id for question in questions]
        return RunFolder.create(out, settings.model_dump(), settings.digest, asked, versions=versions, command=command)
    folder = RunFolder.open(out)
    if folder.digest != settings.digest:
        differences = "; ".join(settings.differences(folder.settings))
        raise UserError(
            f"{out}: holds a run of other settings ({differences}); give another --out, or the same settings"
        )
    return folder


def _extend(folder: "RunFolder", questions: "Sequence[BenchmarkQuestion]", benchmark: "Benchmark") -> None:
    """Add the questions to those asked; a smaller --limit forgets nothing."""
    asked = set(folder.question_ids)
    wanted = asked | {question.id for question in questions}
    if wanted != asked:
        folder.extend([question.id for question in benchmark.dev if question.id in wanted])


def _tell(folder: "RunFolder", console: "Console") -> int:
    """Print what the run came to; how many questions failed."""
    from ..evaluation import Tally

    tally = Tally(folder.records())
    console.out.line(f"{tally.n} of {count(len(folder.question_ids), 'question')} finished: {tally} · {folder.path}")
    if tally.failed:
        console.out.line(f"{tally.failed} failed; the same line with --retry-failed asks them again")
    return tally.failed
