"""All dev questions of MiniHop answered once by the embedded LM, told as a page of Markdown.

`python -m executionrag.runs.minihop_pass --index idx-minihop --max-loops 6`: each answer is written to the records as
it comes, a second run resumes, and every number of the page is computed from the records.
"""

import argparse
import json
import logging
import os
from collections import Counter
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..metrics.contain_match import contain_match
from ..metrics.evidence_recall import evidence_recall, found_by_hop
from .benchmarks.minihop import MiniHop
from .benchmarks.record import BenchmarkQuestion

logger = logging.getLogger(__name__)


def answer_all(index: Path, out: Path, max_loops: int) -> None:
    """Answer the dev questions that `out` has no record of, one after another, without DSPy's cache."""
    import dspy

    from ..program.execution_rag import ExecutionRAG
    from ..retrievers.index import Index
    from .backends import make_lm

    records = read_records(out)
    done = {record["id"] for record in records}
    if any(record["max_loops"] != max_loops for record in records):
        raise UserError(f"{out}: its records were made with other --max-loops; give another --out")
    backend = make_lm("local", cache=False, notify=logger.info)
    program = ExecutionRAG(Index.load(index), max_loops=max_loops, context_window=backend.context_window)
    out.parent.mkdir(parents=True, exist_ok=True)
    torn = out.exists() and not out.read_text(encoding="utf-8").endswith("\n")
    with dspy.context(lm=backend.lm, adapter=backend.adapter), out.open("a", encoding="utf-8") as file:
        file.write("\n" if torn and records else "")
        for question in MiniHop.dev:
            if question.id in done:
                continue
            record = _record(question, program(question=question.question), backend.label, max_loops)
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
            file.flush()
            logger.info("%s %s in %.0f s", question.id, "right" if record["right"] else "wrong", record["seconds"])


def _record(question: BenchmarkQuestion, prediction: Any, lm: str, max_loops: int) -> dict[str, Any]:
    from ..program.trajectory import dump_trajectory

    gold = [MiniHop.passage_id(paragraph) for paragraph in question.supporting]
    return {
        "id": question.id,
        "type": question.type,
        "hops": question.hops,
        "lm": lm,
        "max_loops": max_loops,
        "question": question.question,
        "gold": list(question.answers),
        "answer": prediction.answer,
        "abstained": prediction.abstained,
        "right": contain_match(question.answers, prediction.answer, prediction.abstained),
        "recall": evidence_recall(gold, prediction.retrieved_ids),
        "found": found_by_hop(gold, prediction.retrieved_ids),
        "seed_recall": evidence_recall(gold, _seed_ids(prediction.trajectory)),
        "stop_reason": prediction.stop_reason,
        "step_errors": [f"{step.step}: {step.error}" for step in prediction.trajectory if step.kind == "error"],
        "calls": prediction.usage.calls,
        "prompt_tokens": prediction.usage.prompt_tokens,
        "completion_tokens": prediction.usage.completion_tokens,
        "loops": prediction.usage.loops,
        "seconds": prediction.usage.seconds,
        "trajectory": dump_trajectory(prediction.trajectory),
    }


def _seed_ids(trajectory: list[Any]) -> list[str]:
    return [found.passage_id for step in trajectory if step.kind == "search" and step.loop == 0 for found in step.found]


def read_records(out: Path) -> list[dict[str, Any]]:
    """The records written so far, in the order of the benchmark; a torn last line is not one of them."""
    records = {}
    if out.exists():
        for line in out.read_text(encoding="utf-8").splitlines():
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue
            records[record["id"]] = record
    return [records[question.id] for question in MiniHop.dev if question.id in records]


def page(records: list[dict[str, Any]], command: str) -> str:
    """The outcome as Markdown: every figure with its n."""
    rows = [
        "| | n | right | evidence recall | of it by the seed search | loops | LM calls | seconds |",
        "|---|" + "---|" * 7,
    ]
    groups = [(f"{hops} hops", [r for r in records if r["hops"] == hops]) for hops in (2, 3, 4)]
    groups += [(kind, [r for r in records if r["type"] == kind]) for kind in ("bridge", "comparison", "yes_no")]
    for name, group in [*groups, ("all", records)]:
        if group:
            means = {key: sum(r[key] for r in group) / len(group) for key in _MEANS}
            right = sum(r["right"] for r in group)
            rows.append(
                f"| {name} | {len(group)} | {right} | {means['recall']:.2f} | {means['seed_recall']:.2f} | "
                f"{means['loops']:.1f} | {means['calls']:.1f} | {means['seconds']:.0f} |"
            )
    stops = ", ".join(
        f"{reason} {count}" for reason, count in sorted(Counter(r["stop_reason"] for r in records).items())
    )
    errors = Counter(error for r in records for error in r["step_errors"])
    failed = ", ".join(f"{error} {count}" for error, count in sorted(errors.items())) or "none"
    first, calls = records[0], sum(r["calls"] for r in records)
    abstained = sum(r["abstained"] for r in records)
    answers = [
        f"| {r['id']} | {_cell(r['question'])} | {_cell(r['gold'][0])} | {_cell(r['answer']) or '(abstained)'} | "
        f"{'right' if r['right'] else 'wrong'} | {sum(map(bool, r['found']))}/{len(r['found'])} | {r['stop_reason']} |"
        for r in records
    ]
    return "\n".join(
        [
            "# MiniHop dev on the embedded LM",
            "",
            f"`{command}`",
            "",
            f"LM: {first['lm']}; encoder all-MiniLM-L6-v2, top 5, at most {first['max_loops']} loops, one run at "
            "temperature 0, LM cache off. *Right* is token contain-match; *evidence recall* the share of gold passages "
            "that any search returned. So small an LM plans poorly: these figures say that the program runs end to end "
            "and what it costs here, and rank nothing.",
            "",
            *rows,
            "",
            f"Stop reasons: {stops}. Abstained: {abstained}. Steps that fell back to a default, of {calls} LM calls: "
            f"{failed}.",
            "",
            "| id | question | gold | answer | | gold found | stop reason |",
            "|---|---|---|---|---|---|---|",
            *answers,
            "",
        ]
    )


_MEANS = ("recall", "seed_recall", "loops", "calls", "seconds")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main() -> None:
    """Run the command line of this module."""
    parser = argparse.ArgumentParser(prog="python -m executionrag.runs.minihop_pass", description=__doc__)
    parser.add_argument("--index", type=Path, required=True, help="made by: executionrag index --benchmark minihop")
    parser.add_argument("--max-loops", type=int, default=6)
    parser.add_argument("--out", type=Path, default=Path("outputs/minihop-dev/records.jsonl"))
    parser.add_argument("--page", type=Path, default=Path("docs/minihop-dev.md"))
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logger.setLevel(logging.INFO)
    answer_all(arguments.index, arguments.out, arguments.max_loops)
    command = f"python -m executionrag.runs.minihop_pass --index idx-minihop --max-loops {arguments.max_loops}"
    arguments.page.write_text(page(read_records(arguments.out), command), encoding="utf-8")


if __name__ == "__main__":
    main()
