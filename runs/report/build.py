"""Make the report of one or more run folders: tables and charts from their summaries, replays from their records."""

from collections.abc import Sequence
from pathlib import Path

from ..scored_run import ScoredRun
from .page import Report
from .replay import PassageStore, list_row, question_json
from .sections import sections
from .settings import settings_section
from .summaries import RunSummary, prefix, summarized


def build_report(folders: Sequence[Path]) -> Report:
    """The report of run folders, side by side in the order given.

    Raises:
        UserError: A folder holds no run, or no answered question.
    """
    runs = [summarized(ScoredRun.open(folder, name)) for folder, name in zip(folders, _names(folders), strict=True)]
    store = PassageStore()
    rows, questions = [], []
    for place, one in enumerate(runs):
        run, passages = one.run, one.run.folder.passages()
        for record, score in zip(run.records, run.scores, strict=True):
            rows.append(list_row(record, score, place))
            questions.append(question_json(record, score, run.verdicts.get(record.id), passages, store))
    return Report(
        title=_title(runs),
        lead=_lead(runs),
        warnings=run_warnings(runs),
        sections=(settings_section(runs), *sections(runs)),
        footer="Every figure is computed from the records and verdicts of the run folder.",
        runs=tuple(one.name for one in runs),
        summaries=tuple(one.summary for one in runs),
        rows=rows,
        questions=questions,
        passages=store.rows,
    )


def _names(folders: Sequence[Path]) -> list[str]:
    """What each run is called: its folder's name, with as much of the path as tells it from the others."""
    parts = [folder.resolve().parts for folder in folders]
    names = []
    for place, mine in enumerate(parts):
        others = parts[:place] + parts[place + 1 :]
        length = next((n for n in range(1, len(mine)) if all(mine[-n:] != other[-n:] for other in others)), len(mine))
        names.append("/".join(mine[-length:]) if mine not in others else f"{mine[-1]} ({place + 1})")
    return names


def _title(runs: Sequence[RunSummary]) -> str:
    systems = dict.fromkeys(str(one.run.settings.get("system", "")) for one in runs)
    benchmarks = dict.fromkeys(str(one.run.settings.get("benchmark", "")) for one in runs)
    return f"{' and '.join(systems)} on {' and '.join(benchmarks)}"


def _lead(runs: Sequence[RunSummary]) -> tuple[str, ...]:
    """Which definition of wrong holds."""
    meanings = dict.fromkeys(one.run.wrong_is for one in runs)
    if len(meanings) == 1:
        return (f"Wrong means: {next(iter(meanings))}.",)
    return tuple(f"{one.name}: wrong means: {one.run.wrong_is}." for one in runs)


def run_warnings(runs: Sequence[RunSummary]) -> tuple[str, ...]:
    """What makes figures doubtful."""
    said = []
    for one in runs:
        run, named = one.run, prefix(runs, one)
        finished, asked = len(run.records), len(run.folder.question_ids)
        failed = sum(score.failed for score in run.scores)
        if failed:
            said.append(
                f"{named}{failed} of {finished} questions failed for technical reasons; they count as not right, and "
                "an outage reads as wrong answers."
            )
        if finished < asked:
            said.append(f"{named}{asked - finished} of {asked} questions are not finished yet.")
        unjudged = sum(score.right is None for score in run.scores)
        if unjudged:
            answers = "answer" if unjudged == 1 else "answers"
            said.append(f"{named}{unjudged} {answers} could not be judged; left out of LLM-Acc.")
        if len(run.judges) > 1:
            said.append(f"{named}its verdicts come from several judges: {', '.join(run.judges)}.")
        if run.settings.get("lm") in run.judges:
            said.append(f"{named}The judge is the answering LM: it judges itself.")
    if len({one.run.wrong_is for one in runs}) > 1:
        said.append("The runs are not judged alike: what is wrong differs between them.")
    benchmarks = {(one.run.settings.get("benchmark"), one.run.settings.get("benchmark_digest")) for one in runs}
    if len(benchmarks) > 1:
        said.append("The runs answer different benchmark files.")
    elif len({tuple(record.id for record in one.run.records) for one in runs}) > 1:
        said.append("The runs do not answer the same questions.")
    return tuple(said)
