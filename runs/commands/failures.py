"""`executionrag failures`: why each wrong answer is wrong, with its evidence."""

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from .options import count

if TYPE_CHECKING:
    from ..audit_file import Audit
    from ..failure_evidence import FailureEvidence, MissedPassage
    from ..output import Console, Screen
    from ..scored_run import ScoredRun


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser = commands.add_parser(
        "failures",
        parents=[common],
        help="say why each wrong answer of a run is wrong",
        description="The category of every wrong answer with its evidence: gold passages that were never retrieved, "
        "requirements resolved on other passages, the queries tried, and why the search ended; then the counts.",
    )
    parser.set_defaults(run=run)
    parser.add_argument("folder", metavar="RUN", help="a run folder, made by executionrag evaluate")
    parser.add_argument(
        "--audit",
        metavar="FILE",
        help="what executionrag reachability --out wrote: says of each missing gold passage whether it could be found",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON on stdout")


def run(args: argparse.Namespace, console: "Console") -> int:
    """Print the failures of a run."""
    from ..failure_evidence import failure_evidence
    from ..scored_run import ScoredRun

    scored = ScoredRun.open(Path(args.folder))
    audit = None
    if args.audit is not None:
        from ..audit_file import load_audit

        audit = load_audit(Path(args.audit))
        audit.check(scored.settings)
    passages = scored.folder.passages()
    found = [
        evidence
        for record, score in zip(scored.records, scored.scores, strict=True)
        if (evidence := failure_evidence(record, score, scored.verdicts.get(record.id), passages, audit))
    ]
    counts = _counts(scored)
    if audit is not None:
        counts["audit"] = _audited(audit, scored, found)
    if args.json:
        console.out.json({**counts, "failures": [evidence.json() for evidence in found]})
        return 0
    for evidence in found:
        _show(evidence, console.out)
    _show_counts(counts, scored, console.out)
    return 0


def _counts(scored: "ScoredRun") -> dict[str, Any]:
    """What the failures come to; the categories in their order, each with and without the false-resolution clause."""
    from ...metrics.score import Category

    scores = scored.scores
    wrong = [score for score in scores if score.right is False and not score.failed]
    kinds = Counter(score.category for score in scores)
    plain = Counter(score.category_without_false_resolution for score in scores)
    return {
        "run": scored.name,
        "wrong_is": scored.wrong_is,
        "asked": len(scored.folder.question_ids),
        "finished": len(scores),
        "right": sum(score.right is True for score in scores),
        "wrong": len(wrong),
        "failed": sum(score.failed for score in scores),
        "not_judged": sum(score.right is None for score in scores),
        "categories": {kind: kinds[kind] for kind in get_args(Category)},
        "categories_without_false_resolution": {kind: plain[kind] for kind in get_args(Category)},
        "wrong_with_unretrieved_gold": sum(score.unretrieved_gold for score in wrong),
        "wrong_with_false_resolution": sum(score.false_resolutions > 0 for score in wrong),
    }


def _audited(audit: "Audit", scored: "ScoredRun", found: "Sequence[FailureEvidence]") -> dict[str, Any]:
    """What the audit makes of the missing gold passages of wrong answers; those of failed questions are left out."""
    from ...metrics.reachability import REACHES
    from ..audit_file import NOT_PROBED, ONE_SIDED

    missing = Counter(
        passage.reach for evidence in found if evidence.category != "Not scored" for passage in evidence.not_retrieved
    )
    return {
        "file": audit.name,
        "k": audit.k,
        "tools": list(audit.tools),
        "peers": list(audit.peers),
        "missing": {reach: missing[reach] for reach in (*REACHES, NOT_PROBED)},
        "one_sided": ONE_SIDED,
    }


def _show(evidence: "FailureEvidence", out: "Screen") -> None:
    from ..answered import stop_in_words

    kind = evidence.category
    out.line()
    out.entry(evidence.id, evidence.question, head_style="bold cyan", style="bold")
    out.entry(f"{kind}:", f"{count(evidence.hops, 'hop')}, {evidence.type}", indent=2, head_style="red")
    gold = " / ".join(evidence.gold)
    answer = "failed" if evidence.failure else evidence.answer or "no answer"
    out.entry("answer:", f"{answer} · gold: {gold}", indent=2, head_style="dim")
    if evidence.failure:
        out.entry("failure:", evidence.failure, indent=2, head_style="dim")
    if evidence.judge and kind != "Not scored":
        out.entry("judge:", evidence.judge, indent=2, head_style="dim")
    missed = len(evidence.not_retrieved)
    if not evidence.gold_passages:
        out.entry("gold:", "no gold passage is mapped to the corpus", indent=2, head_style="dim")
    elif not missed:
        out.entry("gold:", f"all {evidence.gold_passages} gold passages were retrieved", indent=2, head_style="dim")
    else:
        said = f"{missed} of {count(evidence.gold_passages, 'gold passage')} not retrieved:"
        out.entry("gold:", said, indent=2, head_style="dim")
        for passage in evidence.not_retrieved:
            hops = f" (hop {' and '.join(map(str, passage.hops))})" if passage.hops else ""
            said = f"{passage.title or passage.passage_id}{hops}{_reach_in_words(passage)}"
            out.entry("✗", said, indent=4, head_style="red")
    for title in evidence.unmapped:
        out.entry("?", f"{title} (not mapped to a passage)", indent=4)
    for item in evidence.false_resolutions:
        support = ", ".join(title or passage_id for passage_id, title in item.support)
        said = f"{item.text} → {item.answer or 'no value'}; supported by {support}"
        out.entry(f"falsely resolved {item.id}:", said, indent=2, head_style="yellow")
    if evidence.queries:
        out.entry("queries:", "", indent=2, head_style="dim")
        for query in evidence.queries:
            where = "seed" if query.loop == 0 else f"loop {query.loop}"
            repeated = ", repeated" if query.repeated else ""
            said = f"{query.query} [{query.tool}, {query.found} found{repeated}]"
            out.entry(f"{where}:", said, indent=4, head_style="dim")
    stopped = f"{stop_in_words(evidence.stop_reason)} ({evidence.stop_reason})" if evidence.stop_reason else "unknown"
    out.entry("stopped:", stopped, indent=2, head_style="dim")


def _reach_in_words(passage: "MissedPassage") -> str:
    """What an audit says of it: `, unasked: grade 2 retrieves it with …`; blank without an audit."""
    if passage.reach is None:
        return ""
    probe = passage.probe
    if probe is None:
        return f", {passage.reach}"
    source = f" of {probe.source}" if probe.source else ""
    return f", {passage.reach}: {probe.query} [{probe.tool}, grade {probe.grade}{source}, rank {probe.rank}]"


def _show_counts(counts: dict[str, Any], scored: "ScoredRun", out: "Screen") -> None:
    out.heading("Counts")
    out.entry("", f"Wrong: {counts['wrong_is']}.")
    finished, wrong = counts["finished"], counts["wrong"]
    out.entry(
        "",
        f"{finished} finished of {counts['asked']} asked: {counts['right']} right, {wrong} wrong, "
        f"{counts['failed']} failed, {counts['not_judged']} not judged.",
    )
    for kind, number in counts["categories"].items():
        without = counts["categories_without_false_resolution"][kind]
        aside = f" ({without} without the false-resolution clause)" if without != number else ""
        out.entry(f"{kind}:", f"{number}{aside}", indent=2)
    out.entry("wrong with unretrieved gold:", f"{counts['wrong_with_unretrieved_gold']} of {wrong} wrong", indent=2)
    false = counts["wrong_with_false_resolution"]
    out.entry("wrong with a false resolution:", f"{false} of {wrong} wrong (an upper bound)", indent=2)
    if "audit" in counts:
        audit = counts["audit"]
        missing = ", ".join(f"{number} {reach}" for reach, number in audit["missing"].items())
        out.entry("missing gold of wrong answers:", missing, indent=2)
        peers = " · ".join(audit["peers"]) or "none"
        said = f"{audit['file']}, k = {audit['k']}, {' and '.join(audit['tools'])}; peers: {peers}"
        out.entry("audit:", said, indent=2, head_style="dim")
        out.entry("", f"Unasked: grades 0 to 2 retrieve it. {audit['one_sided']}", indent=2)
