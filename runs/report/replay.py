"""A question as the page replays it: plain values, one JSON object a question, passages by number.

The page parses an object only when its question is opened. The register is told as its changes: a loop lists the rows
that differ from what was last listed, so that the page rebuilds each state by laying the changes over one another.
"""

from collections.abc import Sequence
from typing import Any

from ...metrics.failure_category import false_resolutions
from ...metrics.record import QuestionRecord, Verdict
from ...metrics.score import Score
from ...program.trajectory import AnswerStep, ErrorStep, RegisterStep, SearchStep, Step, VerifyStep
from ..answered import cost_parts, stop_in_words, verified_lines
from ..plain_text import clean
from ..register_view import RegisterView

Json = dict[str, Any]


class PassageStore:
    """The texts of all passages that a page shows, each once, whatever runs and questions name it."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str]] = []
        self._places: dict[tuple[str, str, str], int] = {}

    def place(self, passage_id: str, known: tuple[str, str] | None, title: str = "") -> int:
        """The number of a passage; where its text is not known, `title` is all there is to show."""
        name, text = known or (title, "")
        row = (clean(passage_id), clean(name), clean(text))
        if row not in self._places:
            self._places[row] = len(self.rows)
            self.rows.append(row)
        return self._places[row]


def outcome(score: Score) -> str:
    """One word for how a question ended: right, wrong, failed, or not judged."""
    if score.failed:
        return "failed"
    return {True: "right", False: "wrong", None: "not judged"}[score.right]


def list_row(record: QuestionRecord, score: Score, run: int) -> list[Any]:
    """What the list of questions shows and is filtered by.

    Run, id, question, gold, answer, outcome, category, hops, type, gold passages found, gold passages mapped.
    """
    found = len(set(record.gold_ids).intersection(record.retrieved_ids))
    answer = clean(record.answer) if record.answer else ""
    return [
        run,
        record.id,
        clean(record.question),
        clean(record.answers[0]),
        answer,
        outcome(score),
        score.category or "",
        record.hops,
        clean(record.type),
        found,
        len(record.gold_ids),
    ]


def question_json(
    record: QuestionRecord,
    score: Score,
    verdict: Verdict | None,
    passages: dict[str, tuple[str, str]],
    store: PassageStore,
) -> Json:
    """Everything that the page shows of an opened question, as JSON values.

    Args:
        record: The question's.
        score: Its scores.
        verdict: What the judge said, where one was asked.
        passages: Title and text by passage id.
        store: Where the texts are kept; passages are referred to by their number in it.
    """
    retrieved = set(record.retrieved_ids)
    marks = _gold_marks(record)

    def passage(passage_id: str, title: str = "") -> int:
        return store.place(passage_id, passages.get(passage_id), title)

    return {
        "id": record.id,
        "question": clean(record.question),
        "answers": [clean(answer) for answer in record.answers],
        "answer": clean(record.answer),
        "explanation": clean(record.explanation),
        "abstained": record.abstained,
        "failure": [clean(part) for part in _failure(record)],
        "outcome": outcome(score),
        "category": score.category or "",
        "stop": [record.stop_reason, stop_in_words(record.stop_reason)],
        "hops": record.hops,
        "type": clean(record.type),
        "scores": _scores(score),
        "verdict": _verdict(verdict),
        "false": [[item.id, clean(item.text), clean(item.answer)] for item in false_resolutions(record)],
        "chain": [
            [clean(hop.question), clean(hop.answer), found]
            for hop, found in zip(record.chain, score.hops_found, strict=False)
        ],
        "gold": [
            [
                clean(gold.title),
                None if gold.passage_id is None else passage(gold.passage_id, gold.title),
                gold.passage_id in retrieved,
            ]
            for gold in record.gold
        ],
        "marks": {str(passage(passage_id)): mark for passage_id, mark in sorted(marks.items())},
        "cost": cost_parts(record.usage),
        "cited": [passage(passage_id) for passage_id in record.citations],
        "loops": _loops(record.trajectory, passage),
    }


def _failure(record: QuestionRecord) -> list[str]:
    failure = record.failure
    return [] if failure is None else [failure.error, failure.step, failure.message]


def _scores(score: Score) -> list[list[str]]:
    rows = [
        ["contain-match", "yes" if score.contain else "no"],
        ["EM", f"{score.exact_match:.0f}"],
        ["F1", f"{score.f1:.2f}"],
    ]
    if score.recall is not None:
        rows.append(["evidence recall", f"{score.recall:.2f}"])
    if score.premature:
        rows.append(["premature resolution", "yes"])
    return rows


def _verdict(verdict: Verdict | None) -> list[str]:
    """The judge, its verdict in a word, and why."""
    if verdict is None:
        return []
    return [clean(verdict.judge), verdict.verdict or "could not judge", clean(verdict.error or verdict.reasoning)]


def _gold_marks(record: QuestionRecord) -> dict[str, str]:
    """For each mapped gold passage, the mark beside it; with the hops that it is the evidence of."""
    hops: dict[str, list[str]] = {passage_id: [] for passage_id in record.gold_ids}
    for number, passage_id in enumerate(record.hop_ids, start=1):
        if passage_id is not None:
            hops[passage_id].append(str(number))
    return {
        passage_id: f"gold, hop {' and '.join(numbers)}" if numbers else "gold" for passage_id, numbers in hops.items()
    }


def _loops(steps: Sequence[Step], passage: Any) -> list[Json]:
    loops: dict[int, Json] = {}
    register = RegisterView()
    aliases: dict[str, str] = {}
    listed: dict[str, list[Any]] = {}
    for step in steps:
        loop = loops.setdefault(step.loop, {"n": step.loop})
        match step:
            case SearchStep():
                target = register.get(step.target)
                for found in step.found:
                    aliases.setdefault(found.passage_id, found.alias)
                loop.setdefault("searches", []).append(
                    {
                        "tool": step.tool.replace("_", " "),
                        "query": clean(step.query),
                        "note": clean(step.note),
                        "target": [target.id, clean(register.text(target))] if target else [],
                        # Number of the passage, its alias, whether it is new, whether its full text came back.
                        "hits": [
                            [passage(found.passage_id, found.title), found.alias, int(found.new), int(found.full)]
                            for found in step.found
                        ],
                    }
                )
            case RegisterStep():
                register.apply(step)
                if step.refused:
                    loop.setdefault("refused", []).extend(clean(refused) for refused in step.refused)
                if step.cause != "select":
                    loop["rows"] = loop.get("rows", []) + _changed_rows(register, aliases, listed, passage)
            case ErrorStep():
                what = "failed" if step.fatal else "could not be used, its default was taken"
                said = f"{step.step} {what}: {step.error}: {clean(step.message)}"
                loop.setdefault("errors", []).append(said)
            case VerifyStep():
                loop.setdefault("verified", []).extend(clean(line) for line in verified_lines(step))
            case AnswerStep():
                loop["answer"] = {"forced": step.forced, "shown": [passage(shown) for shown in step.shown]}
    return list(loops.values())


def _changed_rows(
    register: RegisterView, aliases: dict[str, str], listed: dict[str, list[Any]], passage: Any
) -> list[list[Any]]:
    """The rows that differ from those listed before.

    Id, text, status, answer, whether that is tentative, note or reason, support as pairs of alias and passage number.
    """
    changed = []
    for item in register.items:
        row = [
            item.id,
            clean(register.text(item)),
            item.status,
            clean(item.answer),
            int(bool(item.answer) and item.is_open),
            clean(item.reason if item.status == "retired" else item.note),
            [[aliases.get(support, support), passage(support)] for support in item.support],
        ]
        if listed.get(item.id) != row:
            listed[item.id] = row
            changed.append(row)
    return changed
