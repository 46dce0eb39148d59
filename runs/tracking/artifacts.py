"""The files that stand beside a run's figures: the table of its questions, prompts, registers, the report."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...metrics.record import QuestionRecord
from ...metrics.score import Score
from ...program.trajectory import RegisterStep, SearchStep
from ..register_view import MARKS, RegisterView
from ..run_folder import RECORDS, VERDICTS
from ..scored_run import ScoredRun

TABLE = "questions.json"
PROMPTS = "prompts.json"
REGISTERS = 20  # questions whose register is written out; the report replays all
_COLUMNS = (
    "id",
    "question",
    "hops",
    "type",
    "answer",
    "gold",
    "right",
    "judged",
    "exact_match",
    "f1",
    "contain",
    "evidence_recall",
    "category",
    "stop_reason",
    "failure",
    "loops",
    "calls",
    "prompt_tokens",
    "completion_tokens",
    "cost",
    "seconds",
)


def state_of(folder: Path, digest: str) -> str:
    """Identity of what a run folder holds now: of its settings, records and verdicts."""
    whole = hashlib.sha256(digest.encode())
    for name in (RECORDS, VERDICTS):
        place = folder / name
        whole.update(f"\n{name}\n".encode())
        if place.is_file():
            with place.open("rb") as file:
                while block := file.read(1 << 20):
                    whole.update(block)
    return whole.hexdigest()[:16]


def save_prompts(folder: Path, prompts: Mapping[str, str]) -> None:
    """Keep a run's prompts beside its records, so that it can be tracked later without the program.

    Raises:
        OSError: It cannot be written.
    """
    (folder / PROMPTS).write_text(json.dumps(prompts, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def prompts_of(run: ScoredRun) -> dict[str, str]:
    """A run's prompts by step: those kept with it, else the baseline's of its system; none of an unknown one."""
    kept = run.folder.path / PROMPTS
    if kept.is_file():
        try:
            read = json.loads(kept.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return {str(name): str(text) for name, text in read.items()} if isinstance(read, dict) else {}
    from ...program.prompts import render_prompts
    from ...program.systems import SYSTEMS

    system = SYSTEMS.get(str(run.settings.get("system", "")))
    if system is None or run.settings.get("variant"):
        return {}
    without_index: Any = None  # prompts do not depend on what is searched
    return render_prompts(system(without_index))


def write_artifacts(run: ScoredRun, page: str, markdown: str, place: Path) -> None:
    """Write what goes beside the figures into an empty folder.

    Raises:
        OSError: It cannot be written.
    """
    (place / TABLE).write_text(json.dumps(question_table(run.records, run.scores)), encoding="utf-8")
    (place / "report.html").write_text(page, encoding="utf-8", errors="replace")
    (place / "report.md").write_text(markdown, encoding="utf-8", errors="replace")
    prompts = prompts_of(run)
    _texts(place / "prompts", prompts)
    if prompts:  # MLflow's compare view shows files side by side, but none in folders
        whole = "\n".join(f"##### {name}\n{text}" for name, text in prompts.items())
        (place / "prompts.txt").write_text(whole, encoding="utf-8", errors="replace")
    _texts(place / "registers", _registers(run.records[:REGISTERS]))


def question_table(records: Sequence[QuestionRecord], scores: Sequence[Score]) -> dict[str, Any]:
    """A row a question, in the layout that MLflow's UI shows as a table."""
    rows = [_row(record, score) for record, score in zip(records, scores, strict=True)]
    return {"columns": list(_COLUMNS), "data": rows}


def _row(record: QuestionRecord, score: Score) -> list[Any]:
    usage = record.usage
    return [
        record.id,
        record.question,
        record.hops,
        record.type,
        record.answer,
        record.answers[0] if record.answers else "",
        score.right,
        score.judged,
        score.exact_match,
        round(score.f1, 4),
        score.contain,
        None if score.recall is None else round(score.recall, 4),
        score.category,
        record.stop_reason,
        record.failure.error if record.failure else "",
        usage.loops,
        usage.calls,
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.cost,
        round(usage.seconds, 3),
    ]


def _texts(place: Path, texts: Mapping[str, str]) -> None:
    if texts:
        place.mkdir()
    for name, text in texts.items():
        (place / f"{name}.txt").write_text(text, encoding="utf-8", errors="replace")


def _registers(records: Sequence[QuestionRecord]) -> dict[str, str]:
    """How the register of each question went, by a name that is a file's; numbered, for ids may be anything."""
    traced = ((f"{place:02d}", record) for place, record in enumerate(records, 1) if record.requirements)
    return {name: register_text(record) for name, record in traced}


def register_text(record: QuestionRecord) -> str:
    """The searches of a question and the register after each of its changes."""
    lines = [f"{record.id}: {record.question}", f"gold: {' | '.join(record.answers)}", ""]
    view = RegisterView()
    for step in record.trajectory:
        if isinstance(step, SearchStep):
            hits = ", ".join(f"{found.rank} {found.title}" for found in step.found)
            lines += [f"loop {step.loop} · {step.tool} · {step.target or 'seed'} · {step.query}", f"    {hits or '-'}"]
        elif isinstance(step, RegisterStep):
            view.apply(step)
            lines.append(f"loop {step.loop} · register after {step.cause}")
            lines += [
                f"    {MARKS[item.status]} {item.id} {view.text(item)}{f' = {item.answer}' if item.answer else ''}"
                for item in view.items
            ]
            lines += [f"    refused: {one}" for one in step.refused]
    lines += ["", f"answer: {record.answer or '-'} ({record.stop_reason or 'no stop reason'})"]
    return "\n".join(lines) + "\n"
