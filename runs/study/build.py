"""Make a study's report from its run folders alone: the primary comparison, then the paper's tables from our runs."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from ..report.build import run_warnings
from ..report.efficiency import efficiency_section
from ..report.page import Report, Section
from ..report.replay import PassageStore, list_row, question_json
from ..report.settings import settings_section
from ..report.summaries import RunSummary
from ..report.table import FEW, Table
from .accuracy_sections import ablation_section, accuracy_section
from .audit_section import audit_section
from .comparison_sections import others_section, primary_section
from .failure_sections import failures_by_hops, study_failures
from .pairwise import other_comparisons, primary_comparisons
from .plan import Plan, report_command
from .register_section import register_section
from .runs import PairRuns, read_runs
from .verifier_section import verifier_section


def build_study(plan: Plan, out: Path) -> Report:
    """The report of a study.

    Args:
        plan: What it asks.
        out: Its folder.

    Raises:
        UserError: No run of it has an answered question, or one cannot be read.
    """
    pairs = read_runs(plan, out)
    runs = [run for one in pairs for run in one.named(len(pairs))]
    lms = list(dict.fromkeys(str(run.run.settings.get("lm", "")) for run in runs))
    store = PassageStore()
    rows, questions = [], []
    for place, one in enumerate(runs):
        passages = one.run.folder.passages()
        for record, score in zip(one.run.records, one.run.scores, strict=True):
            rows.append(list_row(record, score, place))
            questions.append(question_json(record, score, one.run.verdicts.get(record.id), passages, store))
    return Report(
        title=f"Study: {', '.join(plan.systems)}",
        lead=_lead(plan, runs, lms),
        warnings=_warnings(pairs),
        sections=_commanded(_sections(plan, pairs, lms), report_command(out)),
        footer="Every figure is computed from the records and verdicts of the study's run folders.",
        runs=tuple(one.name for one in runs),
        summaries=tuple(one.summary for one in runs),
        rows=rows,
        questions=questions,
        passages=store.rows,
    )


def _sections(plan: Plan, pairs: Sequence[PairRuns], lms: Sequence[str]) -> list[Section]:
    found = [
        primary_section(primary_comparisons(plan.primary, pairs), plan.primary),
        accuracy_section(pairs, lms),
        study_failures(pairs, lms),
        failures_by_hops(pairs, lms),
        others_section(other_comparisons(plan.primary, pairs), plan.primary),
        ablation_section(pairs, lms),
        verifier_section(pairs),
        audit_section(pairs),
        register_section(pairs),
        _each(pairs, efficiency_section, "efficiency", "Tokens and cost"),
        _each(pairs, settings_section, "run", "What was run"),
    ]
    return [section for section in found if section is not None]


def _each(pairs: Sequence[PairRuns], make: Callable[[Sequence[RunSummary]], Section], name: str, title: str) -> Section:
    """A report's section of every pair, as one section."""
    tables: list[Table] = []
    for one in pairs:
        if one.runs:
            for table in make(one.runs).tables:
                named = table.title if len(pairs) == 1 else f"{table.title}: {one.pair.name}"
                tables.append(dataclasses.replace(table, title=named))
    return Section(name, title, tuple(tables))


def _commanded(sections: Sequence[Section], command: str) -> tuple[Section, ...]:
    """Every table under the command that makes it anew."""
    return tuple(
        dataclasses.replace(
            section, tables=tuple(dataclasses.replace(table, command=command) for table in section.tables)
        )
        for section in sections
    )


def _lead(plan: Plan, runs: Sequence[RunSummary], lms: Sequence[str]) -> tuple[str, ...]:
    meanings = dict.fromkeys(one.run.wrong_is for one in runs)
    loops = dict.fromkeys(one.run.settings.get("max_loops") for one in runs)
    questions = [len(one.run.records) for one in runs]
    said = [
        f"Answered by {', '.join(lms)}; at most {', '.join(map(str, loops))} loops a question; "
        f"{_from_to(questions)} questions a system and benchmark.",
        *(f"Wrong means: {one}." for one in meanings),
    ]
    if plan.command:
        said.append(f"The runs were last asked for with: {plan.command}")
    return tuple(said)


def _warnings(pairs: Sequence[PairRuns]) -> tuple[str, ...]:
    said = []
    for one in pairs:
        if one.missing:
            said.append(f"{one.pair.name}: no answers yet of {', '.join(one.missing)}.")
        if one.runs:
            said += [f"{one.pair.name}: {warning}" for warning in _folded(run_warnings(one.runs), one)]
            few = min(run.summary.overall.n for run in one.runs)
            if few < one.runs[0].summary.few:
                said.append(f"{one.pair.name}: {few} questions are {FEW}.")
    return tuple(said)


def _folded(warnings: Sequence[str], pair: PairRuns) -> list[str]:
    """Warnings with the systems that one is said of together."""
    names = [run.name for run in pair.runs]
    said: dict[str, list[str]] = {}
    for warning in warnings:
        name = next((name for name in names if warning.startswith(f"{name}: ")), "")
        said.setdefault(warning.removeprefix(f"{name}: ") if name else warning, []).append(name)
    return [
        text if of == [""] else f"{'every system' if of == names and len(of) > 1 else ', '.join(of)}: {text}"
        for text, of in said.items()
    ]


def _from_to(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
