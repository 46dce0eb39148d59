"""`executionrag benchmark`: see what a benchmark holds, and whether its gold is in the corpus."""

import argparse
import dataclasses
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UsageError
from .options import K, count, whole

if TYPE_CHECKING:
    from ...metrics.statistics import Estimate
    from ..benchmarks.benchmark import Benchmark
    from ..benchmarks.gold import GoldDoubt, GoldMapping
    from ..benchmarks.question_recall import QuestionRecall, SearchTool
    from ..output import Console, Screen

_LISTED = 20


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser = commands.add_parser(
        "benchmark",
        parents=[common],
        help="check a benchmark: its questions, and whether its gold is in the corpus",
        description="Read a benchmark, count its questions by hops and type, and find each gold passage in the corpus: "
        "a corpus file, an index, or what comes with the questions. With an index, also what a search with the "
        "question alone finds of the gold (no LM). The exit code is 1 where gold passages are missing.",
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "spec", metavar="SPEC", help="minihop, minihop:train, musique:FILE, hotpotqa:FILE, 2wiki:FILE or arag:FOLDER"
    )
    corpus = parser.add_mutually_exclusive_group()
    corpus.add_argument("--corpus", metavar="FILE", help="where the gold should be: JSON Lines, *_corpus.json, …")
    corpus.add_argument("--index", metavar="DIR", help="where the gold should be: an index, which is searched too")
    parser.add_argument(
        "--tool", choices=("semantic", "keyword", "graph"), help="what searches the index (default: semantic)"
    )
    parser.add_argument("--k", type=whole(1), metavar="N", default=K, help=f"passages a search (default: {K})")
    parser.add_argument("--json", action="store_true", help="print everything as JSON on stdout")


def run(args: argparse.Namespace, console: "Console") -> int:
    """Check; 1 where gold passages are missing from the corpus."""
    if not args.spec.strip():
        raise UsageError("name the benchmark, e.g. minihop or musique:FILE")
    if args.tool and not args.index:
        raise UsageError(f"--tool {args.tool} searches an index: give one with --index DIR")
    from ...retrievers.corpus import passages_from_rows
    from ..benchmarks.gold import map_gold
    from ..benchmarks.load import load_benchmark

    benchmark = load_benchmark(args.spec, args.corpus)
    gold: GoldMapping | None = None
    recall: QuestionRecall | None = None
    if args.index:
        from ...retrievers.index import Index
        from ..benchmarks.question_recall import question_recall

        index = Index.load(Path(args.index))
        corpus, size = f"index {args.index}", len(index)
        gold = map_gold(benchmark.dev, index)
        with console.err.progress("searching", "questions", total=len(benchmark.dev)) as progress:
            tool: SearchTool = args.tool or "semantic"
            recall = question_recall(benchmark.dev, index, gold, tool=tool, k=args.k, progress=progress)
    elif benchmark.corpus_file:
        corpus, size = args.corpus or "the chunks beside the questions", len(benchmark.corpus_file)
        gold = map_gold(benchmark.dev, benchmark.corpus_file, corpus)
    elif benchmark.passages:
        passages = passages_from_rows(benchmark.corpus)
        corpus = "its own passages" if benchmark.kind == "minihop" else "the pooled contexts of its questions"
        size = len(passages)
        gold = map_gold(benchmark.dev, passages, corpus)
    else:
        corpus, size = "", 0
    if args.json:
        console.out.json(_as_json(benchmark, corpus, size, gold, recall))
    else:
        _show(benchmark, corpus, size, gold, console.out)
        if recall is not None:
            _show_recall(recall, console.out)
    if gold is None:
        console.note(
            "The questions come without passages: give --corpus or --index to see whether their gold is there."
        )
        return 0
    if gold.unmapped:
        console.fail(
            f"{count(len(gold.unmapped), 'gold passage')} of {args.spec} not found in {corpus}; evaluate refuses it "
            "without --allow-missing-gold"
        )
    return 1 if gold.unmapped else 0


def _show(benchmark: "Benchmark", corpus: str, size: int, gold: "GoldMapping | None", out: "Screen") -> None:
    out.entry(
        benchmark.name, f"{count(len(benchmark.dev), 'question')} · digest {benchmark.digest[:12]}", head_style="bold"
    )
    out.entry("hops:", _counted(_by_hops(benchmark)), indent=2, head_style="dim")
    out.entry("types:", _counted(_by_type(benchmark)), indent=2, head_style="dim")
    if gold is None:
        return
    out.entry("corpus:", f"{count(size, 'passage')} ({corpus})", indent=2, head_style="dim")
    covered = f"{gold.mapped:,} of {count(gold.total, 'gold passage')} found in it ({_percent(gold.coverage)})"
    if not gold.total:
        covered = "the benchmark names no gold passages: evidence cannot be measured"
    elif gold.without_gold:
        covered += f"; {count(gold.without_gold, 'question')} without gold"
    out.entry("gold:", covered, indent=2, head_style="dim", style="red" if gold.unmapped else "")
    _show_doubts("not found:", gold.unmapped, out)
    _show_doubts("ambiguous:", gold.ambiguous, out)


def _show_doubts(head: str, doubts: "tuple[GoldDoubt, ...]", out: "Screen") -> None:
    for doubt in doubts[:_LISTED]:
        fits = f": {' and '.join(doubt.passage_ids)} fit equally, the first is taken" if doubt.passage_ids else ""
        out.entry(head, f"{doubt.question_id} · {doubt.title or '(no title)'}{fits}", indent=4, head_style="yellow")
    if len(doubts) > _LISTED:
        out.entry(head, f"{len(doubts) - _LISTED:,} more; --json lists all", indent=4, head_style="yellow")


def _show_recall(recall: "QuestionRecall", out: "Screen") -> None:
    if recall.overall is None:
        return
    said = f"evidence recall of {recall.tool} search with the question alone, k = {recall.k}"
    out.entry("no LM:", said, indent=2, head_style="dim")
    out.entry("all", _figure(recall.overall), indent=4, head_style="bold")
    for hops, estimate in recall.by_hops.items():
        out.entry(count(hops, "hop"), _figure(estimate), indent=4)


def _figure(estimate: "Estimate") -> str:
    few = ", too few to conclude" if estimate.few else ""
    return f"{estimate.value:.3f} (95 % interval {estimate.low:.3f} to {estimate.high:.3f}), n = {estimate.n}{few}"


def _percent(share: float) -> str:
    """A share in percent that never rounds up to 100."""
    return "100 %" if share == 1 else f"{min(share, 0.9994):.1%}".replace("%", " %")


def _by_hops(benchmark: "Benchmark") -> dict[str, int]:
    counts = Counter(question.hops for question in benchmark.dev)
    return {count(hops, "hop") if hops else "unknown": counts[hops] for hops in sorted(counts)}


def _by_type(benchmark: "Benchmark") -> dict[str, int]:
    counts = Counter(question.type or "none given" for question in benchmark.dev)
    return {kind: counts[kind] for kind in sorted(counts)}


def _counted(counts: dict[str, int]) -> str:
    return " · ".join(f"{what} {number:,}" for what, number in counts.items())


def _as_json(
    benchmark: "Benchmark", corpus: str, size: int, gold: "GoldMapping | None", recall: "QuestionRecall | None"
) -> dict[str, Any]:
    hops = Counter(question.hops for question in benchmark.dev)
    made: dict[str, Any] = {
        "name": benchmark.name,
        "kind": benchmark.kind,
        "split": benchmark.split,
        "digest": benchmark.digest,
        "questions": len(benchmark.dev),
        "by_hops": {str(number): hops[number] for number in sorted(hops)},
        "by_type": _by_type(benchmark),
        "corpus": None,
        "gold": None,
        "question_recall": None,
    }
    if gold is not None:
        made["corpus"] = {"from": corpus, "passages": size}
        made["gold"] = {
            "total": gold.total,
            "mapped": gold.mapped,
            "coverage": gold.coverage,
            "questions_without_gold": gold.without_gold,
            "unmapped": [{"question": one.question_id, "title": one.title} for one in gold.unmapped],
            "ambiguous": [
                {"question": one.question_id, "title": one.title, "passages": list(one.passage_ids)}
                for one in gold.ambiguous
            ],
        }
    if recall is not None and recall.overall is not None:
        made["question_recall"] = {
            "tool": recall.tool,
            "k": recall.k,
            "all": dataclasses.asdict(recall.overall),
            "by_hops": {str(number): dataclasses.asdict(one) for number, one in recall.by_hops.items()},
        }
    return made
