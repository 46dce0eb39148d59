"""The report's sections after the settings, each from the summaries alone; one column a run, or one table a run."""

from collections.abc import Callable, Sequence

from ...metrics.summary_group import Group
from ..answered import stop_in_words
from .efficiency import efficiency_section, tokens_section
from .evidence import evidence_section
from .page import Section
from .summaries import NONE, RunSummary, count_cell, error_cell, estimate_cell, failed_notes, prefix, share_cell
from .table import Cell, Table
from .verifier import verifier_section

_Runs = Sequence[RunSummary]
_Measure = tuple[str, Callable[[Group], Cell]]


def sections(runs: _Runs) -> tuple[Section, ...]:
    """Scores, failures, groups, evidence, verifier (where there is one), tokens, stop reasons, efficiency."""
    verifier = verifier_section(runs)
    return (
        scores_section(runs),
        failures_section(runs),
        groups_section(runs, "hops", "By hop count", "hops", lambda one: one.summary.by_hops),
        groups_section(runs, "types", "By question type", "", lambda one: one.summary.by_type),
        evidence_section(runs),
        *([verifier] if verifier else []),
        tokens_section(runs),
        stops_section(runs),
        efficiency_section(runs),
    )


def scores_section(runs: _Runs) -> Section:
    """Every score of the runs, side by side."""
    groups = [one.summary.overall for one in runs]
    measures: list[_Measure] = []
    if any(one.summary.judges for one in runs):
        measures.append(("LLM-Acc", lambda group: share_cell(group.llm_acc)))
    if any(group.unjudged for group in groups):
        measures += [
            ("LLM-Acc, all unjudged wrong", lambda group: share_cell(group.llm_acc_if_wrong)),
            ("LLM-Acc, all unjudged right", lambda group: share_cell(group.llm_acc_if_right)),
        ]
    measures += [
        ("contain-match", lambda group: share_cell(group.contain)),
        ("substring match (A-RAG's)", lambda group: share_cell(group.substring)),
        ("EM", lambda group: share_cell(group.exact_match)),
        ("F1", lambda group: estimate_cell(group.f1)),
        ("evidence recall", lambda group: estimate_cell(group.recall)),
        ("all gold retrieved", lambda group: share_cell(group.all_found)),
        ("abstained", lambda group: share_cell(group.abstained)),
        ("failed", lambda group: Cell(f"{group.failed:,}", (f"of n {group.n:,}",))),
    ]
    if any(group.unjudged for group in groups):
        measures.append(("could not be judged", lambda group: Cell(f"{group.unjudged:,}", (f"of n {group.n:,}",))))
    first = runs[0].summary
    seeds = ", ".join(map(str, dict.fromkeys(one.summary.seed for one in runs)))
    notes = (
        f"Intervals are at {first.confidence:.0%}: Wilson for shares, for means a bootstrap over questions "
        f"({first.resamples:,} resamples, seed {seeds}). "
        f"Under n = {first.few} a figure is too few to conclude from.",
        *_gold_notes(runs),
        *failed_notes(runs),
    )
    rows = tuple((Cell(name), *(cell(group) for group in groups)) for name, cell in measures)
    return Section("scores", "Scores", (Table("Scores", ("", *(one.name for one in runs)), rows, notes),))


def failures_section(runs: _Runs) -> Section:
    """Why wrong answers are wrong, side by side."""
    rows = tuple(
        (Cell(name), *(cell(one.summary.overall) if shown(one) else NONE for one in runs))
        for name, cell, shown in _failure_rows(runs)
    )
    notes = (
        *(f"{prefix(runs, one)}Wrong means: {one.run.wrong_is}." for one in runs),
        "A category is the first that fits. A false resolution (a requirement resolved without a gold passage in its "
        "support) makes a Reasoning Error; only a register can show one, so the two categories that it moves are given "
        "without that clause too. It is an upper bound. Wrong with unretrieved gold is blind to the register.",
        *failed_notes(runs),
    )
    return Section("failures", "Failures", (Table("Failures", ("", *(one.name for one in runs)), rows, notes),))


def _failure_rows(runs: _Runs) -> list[tuple[str, Callable[[Group], Cell], Callable[[RunSummary], bool]]]:
    def always(one: RunSummary) -> bool:
        return True

    def register(one: RunSummary) -> bool:
        return one.summary.has_register

    return [
        ("wrong", lambda group: count_cell(group.errors), always),
        *((name, cell, always) for name, cell in _category_measures(runs[0].summary.overall)),
        *((name, cell, always) for name, cell in _plain_measures()),
        ("wrong with unretrieved gold", lambda group: error_cell(group.wrong_with_unretrieved_gold), always),
        ("premature resolution (right answers too)", lambda group: count_cell(group.premature), register),
        ("questions with a false resolution", lambda group: count_cell(group.with_false_resolution), register),
        (
            "false resolutions",
            lambda group: Cell(f"{group.false_resolutions:,}", (f"of {group.resolved:,} resolved",)),
            register,
        ),
        ("all requirements retired", lambda group: count_cell(group.all_retired), register),
    ]


def _category_measures(example: Group) -> list[_Measure]:
    """One a category, in their order."""

    def measure(place: int) -> Callable[[Group], Cell]:
        return lambda group: error_cell(group.categories[place])

    return [(one.category, measure(place)) for place, one in enumerate(example.categories)]


def _plain_measures() -> list[_Measure]:
    """The categories that the false-resolution clause moves, without it."""

    def measure(kind: str) -> Callable[[Group], Cell]:
        return lambda group: next(
            (error_cell(one) for one in group.categories_without_false_resolution if one.category == kind), NONE
        )

    return [(f"{kind}, false resolutions aside", measure(kind)) for kind in ("Reasoning Error", "Missing Evidence")]


def groups_section(
    runs: _Runs, name: str, title: str, noun: str, groups_of: Callable[[RunSummary], Sequence[Group]]
) -> Section:
    """Accuracy and every failure category by group; one table a run, one column a group."""
    tables = []
    for one in runs:
        groups = (*groups_of(one), one.summary.overall)
        measures: list[_Measure] = [
            ("questions", lambda group: Cell(f"{group.n:,}", (f"{group.failed:,} failed",) if group.failed else ())),
            ("LLM-Acc", lambda group: share_cell(group.llm_acc)),
            ("contain-match", lambda group: share_cell(group.contain)),
            ("evidence recall", lambda group: estimate_cell(group.recall)),
            ("wrong", lambda group: count_cell(group.errors)),
            *_category_measures(one.summary.overall),
            *_plain_measures(),
            ("wrong with unretrieved gold", lambda group: error_cell(group.wrong_with_unretrieved_gold)),
        ]
        if not one.summary.judges:
            measures = [measure for measure in measures if measure[0] != "LLM-Acc"]
        columns = ("", *(f"{group.name} {noun}".strip() for group in groups[:-1]), "all")
        rows = tuple((Cell(label), *(cell(group) for group in groups)) for label, cell in measures)
        tables.append(Table(one.name if len(runs) > 1 else title, columns, rows, failed_notes([one])))
    return Section(name, title, tuple(tables))


def stops_section(runs: _Runs) -> Section:
    """Why searches ended, side by side."""
    found = [{stop.reason: stop.questions for stop in one.summary.stop_reasons} for one in runs]
    reasons = sorted({reason for stops in found for reason in stops})
    rows = tuple(
        (Cell(reason), *(share_cell(stops[reason]) if reason in stops else NONE for stops in found))
        for reason in reasons
    )
    words = (f"{reason}: {stop_in_words(reason)}." for reason in reasons if stop_in_words(reason) != reason)
    table = Table("Stop reasons", ("", *(one.name for one in runs)), rows, (" ".join(words),))
    return Section("stops", "Stop reasons", (table,))


def _gold_notes(runs: _Runs) -> tuple[str, ...]:
    """Gold coverage."""
    said = []
    for one in runs:
        summary = one.summary
        mapped = f"{summary.gold_mapped:,} of {summary.gold_passages:,} gold passages are mapped to the corpus"
        without = f"; {summary.without_gold:,} questions have none" if summary.without_gold else ""
        said.append(f"{prefix(runs, one)}{mapped}{without}.")
    return tuple(said)
