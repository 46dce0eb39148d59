"""`executionrag reachability`: could the gold passages have been found? Probes in grades, without an LM."""

import argparse
import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UsageError, UserError
from .options import K, count, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...metrics.reachability import Grade, PassageReach, SearchTool
    from ...metrics.statistics import Estimate
    from ..output import Console, Screen

_GRADES = {
    0: "the question",
    1: "queries of peers",
    2: "gold sub-questions, earlier answers known",
    3: "the passage's title",
    4: "the passage's first sentence",
}


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser = commands.add_parser(
        "reachability",
        parents=[common],
        help="say which gold passages could have been found, and by what (no LM)",
        description="Search an index with probes of five grades for each gold passage: 0 the question, 1 the queries "
        "of peer runs, 2 the gold sub-questions with gold earlier answers, 3 its title, 4 its first sentence. Grades "
        "0 to 2 could have been asked; 3 and 4 know the passage and are an upper bound only.",
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "--benchmark",
        metavar="SPEC",
        required=True,
        help="minihop, minihop:train, musique:FILE, hotpotqa:FILE, 2wiki:FILE or arag:FOLDER",
    )
    parser.add_argument("--index", metavar="DIR", required=True, help="what is searched")
    parser.add_argument("--k", type=whole(1), metavar="N", default=K, help=f"passages a search (default: {K})")
    parser.add_argument(
        "--tool", choices=("semantic", "keyword", "both"), default="both", help="by which search (default: both, apart)"
    )
    parser.add_argument("--peers", metavar="RUN", nargs="+", default=[], help="run folders whose queries are tried")
    parser.add_argument("--out", metavar="FILE", help="also write everything as JSON, for failures and compare --audit")
    parser.add_argument("--json", action="store_true", help="print everything as JSON on stdout")


def run(args: argparse.Namespace, console: "Console") -> int:
    """Audit and print."""
    if not args.benchmark.strip():
        raise UsageError("name the benchmark, e.g. --benchmark minihop or musique:FILE")
    out = None if args.out is None else _free(Path(args.out))
    from ...retrievers.index import Index
    from ..audit_file import ONE_SIDED
    from ..benchmarks.gold import map_gold
    from ..benchmarks.load import load_benchmark
    from ..reachability import audit, load_peer

    benchmark = load_benchmark(args.benchmark)
    peers = [load_peer(Path(folder), benchmark.dev) for folder in args.peers]
    index = Index.load(Path(args.index))
    gold = map_gold(benchmark.dev, index)
    if not gold.mapped:
        raise UserError(
            f"none of the {count(gold.total, 'gold passage')} of {args.benchmark} is in index {args.index}; give the "
            "index of its corpus, and a layout that names gold passages"
        )
    tools: list[SearchTool] = []
    if args.tool != "keyword":
        tools.append("semantic_search")
    if args.tool != "semantic":
        tools.append("keyword_search")
    with console.err.progress("probing", "questions", total=len(benchmark.dev)) as progress:
        passages = audit(benchmark.dev, index, gold, k=args.k, tools=tools, peers=peers, progress=progress)
    if gold.unmapped:
        console.warn(
            f"{count(len(gold.unmapped), 'gold passage')} of {args.benchmark} not in the index and not probed; "
            "executionrag benchmark lists them"
        )
    names = [peer.name for peer in peers]
    facts = {
        "benchmark": benchmark.name,
        "benchmark_digest": benchmark.digest,
        "index_digest": index.digest,
        "questions": len(benchmark.dev),
        "gold": gold.total,
        "probed": len(passages),
        "k": args.k,
        "peers": names,
    }
    made = _as_json(facts, passages, tools)
    if out is not None:
        _write(out, made)
        console.note(f"audit written to {out}")
    if args.json:
        console.out.json(made)
        return 0
    head = f"{count(len(benchmark.dev), 'question')} · index {args.index} · k = {args.k}"
    console.out.entry(benchmark.name, head, head_style="bold")
    probed = f"{len(passages):,} of {count(gold.total, 'gold passage')} probed, counted a question"
    console.out.entry("gold:", probed, indent=2, head_style="dim")
    console.out.entry("peers:", " · ".join(names) or "none, so grade 1 is empty", indent=2, head_style="dim")
    for name, searched in _scopes(tools):
        _show(name, passages, searched, console.out)
    console.out.line()
    console.out.entry("", ONE_SIDED)
    return 0


def _free(out: Path) -> Path:
    """Refuse a place that is taken before anything is searched.

    Raises:
        UserError: There is something already, or no folder to write it in.
    """
    if out.exists():
        raise UserError(f"{out}: exists and is left alone; give another --out")
    if not out.parent.is_dir():
        raise UserError(f"{out.parent}: no such folder; make it, or give another --out")
    return out


def _write(out: Path, made: dict[str, Any]) -> None:
    """Write the audit whole or not at all.

    Raises:
        UserError: The place cannot be written to, or the disk is full.
    """
    from ...retrievers.temporaries import temporary_beside

    temporary = temporary_beside(out, "tmp")
    try:
        try:
            temporary.write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
            temporary.replace(out)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UserError(f"{out}: cannot be written ({error.strerror or error}); give another --out") from error


def _scopes(tools: "Sequence[SearchTool]") -> "list[tuple[str, list[SearchTool]]]":
    """Each tool apart, then what either finds where there are two."""
    scopes: list[tuple[str, list[SearchTool]]] = [(tool, [tool]) for tool in tools]
    return [*scopes, ("either", list(tools))] if len(tools) > 1 else scopes


def _rows() -> "list[tuple[str, str, tuple[Grade, ...]]]":
    """Key, words and grades of each row of figures."""
    from ...metrics.reachability import ASKED, GRADES

    single: list[tuple[str, str, tuple[Grade, ...]]] = [
        (str(grade), f"grade {grade}, {_GRADES[grade]}", (grade,)) for grade in GRADES
    ]
    return [*single, ("0 or 2", "grade 0 or 2", (0, 2)), ("0 to 2", "grades 0 to 2", ASKED)]


def _show(name: str, passages: "Sequence[PassageReach]", tools: "list[SearchTool]", out: "Screen") -> None:
    from ...metrics.reachability import count_reach, share, share_by_hops

    out.heading(name)
    for _, words, grades in _rows():
        found = share(passages, grades, tools)
        if found is None:
            out.entry(f"{words}:", "no such probes", indent=2, head_style="dim")
            continue
        out.entry(f"{words}:", _figure(found), indent=2, head_style="dim")
        by_hops = share_by_hops(passages, grades, tools)
        said = " · ".join(f"{count(hops, 'hop')} {one.value:.3f} (n = {one.n})" for hops, one in by_hops.items())
        out.entry("mean a question:", said, indent=4, head_style="dim")
    kinds = count_reach(passages, tools)
    said = f"{kinds['unasked']} by grades 0 to 2 · {kinds['upper bound only']} by 3 or 4 only (upper bound)"
    out.entry("retrieved:", said, indent=2, head_style="dim")
    out.entry("not certified:", str(kinds["not certified"]), indent=2, head_style="dim")


def _figure(estimate: "Estimate") -> str:
    few = ", too few to conclude" if estimate.few else ""
    return f"{estimate.value:.3f} (95 % interval {estimate.low:.3f} to {estimate.high:.3f}), n = {estimate.n}{few}"


def _as_json(
    facts: dict[str, Any], passages: "Sequence[PassageReach]", tools: "Sequence[SearchTool]"
) -> dict[str, Any]:
    from ...metrics.reachability import count_reach, share, share_by_hops
    from ..audit_file import ONE_SIDED

    made: dict[str, Any] = {**facts, "tools": {}, "one_sided": ONE_SIDED}
    for name, searched in _scopes(tools):
        grades: dict[str, Any] = {}
        for key, _, which in _rows():
            found = share(passages, which, searched)
            grades[key] = found and {
                "share": dataclasses.asdict(found),
                "mean_by_hops": {
                    str(hops): dataclasses.asdict(one) for hops, one in share_by_hops(passages, which, searched).items()
                },
            }
        made["tools"][name] = {"grades": grades, "reach": count_reach(passages, searched)}
    made["passages"] = [{**dataclasses.asdict(one), "reach": one.reach(tools)} for one in passages]
    return made
