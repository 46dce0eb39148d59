"""`executionrag compare`: two runs, question by question."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UsageError
from .options import count

if TYPE_CHECKING:
    from ...metrics.certified import Certified, CertifiedPassage
    from ...metrics.comparison import Difference, Figures, Outcome
    from ...metrics.statistics import Estimate
    from ..comparing import Comparison
    from ..output import Console, Screen

_SPENT = (
    ("LM calls", "calls"),
    ("prompt tokens", "prompt_tokens"),
    ("completion tokens", "completion_tokens"),
    ("logical prompt tokens", "logical_prompt_tokens"),
    ("logical completion tokens", "logical_completion_tokens"),
    ("retrieved tokens", "retrieved_tokens"),
    ("retrieved tokens, A-RAG's count", "retrieved_tokens_arag"),
    ("seconds", "seconds"),
)


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser = commands.add_parser(
        "compare",
        parents=[common],
        help="compare two runs question by question",
        description="Paired statistics of two runs, how failure categories shift, evidence recall by hop, what each "
        "spent, and the gold passages that one missed and the other's searches retrieved. Differences are A minus B. "
        "Refuses where more differs than the system.",
    )
    parser.set_defaults(run=run)
    parser.add_argument("a", metavar="A", help="a run folder, made by executionrag evaluate")
    parser.add_argument("b", metavar="B", help="another")
    parser.add_argument("--force", action="store_true", help="go on where more differs than the system, and say what")
    parser.add_argument("--audit", metavar="FILE", help="what executionrag reachability --json printed")
    parser.add_argument("--json", action="store_true", help="print everything as JSON on stdout")


def run(args: argparse.Namespace, console: "Console") -> int:
    """Compare and print."""
    if Path(args.a).resolve() == Path(args.b).resolve():
        raise UsageError(f"{args.a} and {args.b} are the same run: name two")
    from ...metrics.comparison import NO_BOUND, ONE_SIDED
    from ..comparing import compare_runs
    from ..scored_run import ScoredRun

    audit = None
    if args.audit is not None:
        from ..audit_file import load_audit

        audit = load_audit(Path(args.audit))
    found = compare_runs(ScoredRun.open(args.a), ScoredRun.open(args.b), force=args.force, audit=audit)
    if args.json:
        console.out.json({**found.model_dump(mode="json"), "one_sided": ONE_SIDED, "no_lower_bound": NO_BOUND})
        return 0
    _show(found, console.out)
    return 0


def _show(found: "Comparison", out: "Screen") -> None:
    for name, side in (("A", found.a), ("B", found.b)):
        variant = f", variant {side.variant}" if side.variant else ""
        said = f"{side.system}{variant}, {side.finished} finished of {side.asked} asked; wrong: {side.wrong_is}"
        out.entry(f"{name} {side.name}:", said, head_style="bold")
    for one in found.differs:
        out.entry("DIFFERS:", one, head_style="bold red")
    figures = found.figures
    out.heading(f"{count(figures.questions, 'question')} in both; differences are A minus B")
    _show_outcome("right", figures.correct, out)
    _show_outcome("wrong with unretrieved gold", figures.unretrieved, out)
    for words, measured in (
        ("exact match", figures.exact_match),
        ("F1", figures.f1),
        ("contain-match", figures.contain),
        ("evidence recall", figures.recall),
        *((f"recall, {count(each.hops, 'hop')}", each.recall) for each in figures.recall_by_hop_count),
        *((f"recall of hop {each.hop}", each.recall) for each in figures.recall_by_hop),
    ):
        out.entry(f"{words}:", _difference(measured), indent=2, head_style="dim")
    for words, name in (("failed", "failed"), ("not judged", "not_judged"), ("premature resolutions", "premature")):
        out.entry(
            f"{words}:",
            f"A {getattr(figures.a, name)}, B {getattr(figures.b, name)} of n = {figures.questions}",
            indent=2,
            head_style="dim",
        )
    _show_flow(figures, out)
    _show_spent(figures, out)
    for name, missing in (("A", found.missing_a), ("B", found.missing_b)):
        if missing is not None:
            said = ", ".join(f"{number} {kind}" for kind, number in missing.items())
            out.entry(f"missing gold of {name}'s wrong answers:", said, indent=2, head_style="dim")
    _show_certified(found, out)


def _show_outcome(words: str, one: "Outcome", out: "Screen") -> None:
    left = f"; {one.left_out} left out" if one.left_out else ""
    if one.paired is None:
        out.entry(f"{words}:", f"no question to compare{left}", indent=2, head_style="dim")
        return
    pair = one.paired
    said = f"A only {pair.wins}, B only {pair.losses}, both {pair.both}, neither {pair.ties - pair.both}"
    out.entry(f"{words}:", f"{said}; {_estimate(pair.difference)}; McNemar exact p = {pair.p:.3f}{left}", indent=2)


def _estimate(one: "Estimate") -> str:
    few = ", too few to conclude" if one.few else ""
    return f"difference {one.value:+.3f} (95 % interval {one.low:+.3f} to {one.high:+.3f}), n = {one.n}{few}"


def _difference(one: "Difference") -> str:
    if one.difference is None:
        return "no question has it in both"
    return f"A {one.a:.3f}, B {one.b:.3f}; {_estimate(one.difference)}"


def _show_flow(figures: "Figures", out: "Screen") -> None:
    for title, flow in (
        ("Category in A → category in B", figures.flow),
        ("The same without the false-resolution clause", figures.flow_without_false_resolution),
    ):
        out.heading(title)
        for one in flow:
            out.entry(f"{one.a} → {one.b}:", str(one.questions), indent=2)


def _show_spent(figures: "Figures", out: "Screen") -> None:
    out.heading(f"Spent, mean a question (n = {figures.questions}, 95 % intervals)")
    for words, name in _SPENT:
        means = [getattr(side.spent, name).mean for side in (figures.a, figures.b)]
        a, b = (f"{one.value:,.1f} [{one.low:,.1f}, {one.high:,.1f}]" if one else "none" for one in means)
        out.entry(f"{words}:", f"A {a}, B {b}", indent=2, head_style="dim")
    costs = [side.spent.cost.total for side in (figures.a, figures.b)]
    a, b = ("unknown" if cost is None else f"{cost / figures.questions:.5f}" for cost in costs)
    out.entry("cost in USD:", f"A {a}, B {b}", indent=2, head_style="dim")


def _show_certified(found: "Comparison", out: "Screen") -> None:
    from ...metrics.comparison import NO_BOUND, ONE_SIDED

    out.heading("Certified reachable")
    lists = found.figures.certified
    if lists is None:
        out.entry("", f"No lists: {found.no_certified}.")
        return
    for misser, finder, all_of, wrong in (
        ("A", "B", lists.missed_by_a, lists.missed_by_a_wrong),
        ("B", "A", lists.missed_by_b, lists.missed_by_b_wrong),
    ):
        said = f"{len(all_of.by_search)}, {len(wrong.by_search)} of them where {misser} is wrong (marked *)"
        out.entry(f"{misser} missed, a search of {finder} retrieved:", said, head_style="bold")
        _show_passages(all_of.by_search, wrong, out)
        if all_of.by_read:
            head = f"{misser} missed, only a read or graph search of {finder} brought:"
            out.entry(head, str(len(all_of.by_read)), head_style="bold")
            _show_passages(all_of.by_read, wrong, out)
    out.entry("", f"{ONE_SIDED} {NO_BOUND}")


def _show_passages(passages: "tuple[CertifiedPassage, ...]", wrong: "Certified", out: "Screen") -> None:
    marked = {*wrong.by_search, *wrong.by_read}
    for one in passages:
        said = f"{one.title or one.passage_id}: {one.query} [{one.tool}, loop {one.loop}, rank {one.rank}]"
        out.entry(f"{'*' if one in marked else ' '} {one.question_id}", said, indent=2)
