"""The report as one HTML page that needs nothing but itself, and the same figures as Markdown.

Tables and charts are there without JavaScript. Questions and passages lie in the page as JSON, a line each, and become
elements when they are opened. Nothing from a corpus or a language model is ever markup: the templates escape, the JSON
holds no `<`, the script sets text only, and the page's policy runs no script but its own, by digest.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any

from ...metrics.summary import Summary
from ..plain_text import clean
from .chart import Chart, Drawing, draw
from .table import FEW, Cell, Table, escaped, markdown_table

#: Reports of up to this many questions list them in Markdown; longer lists are for the page.
LISTED = 60


@dataclass(frozen=True)
class Section:
    """A heading with its charts and tables; `id` names it within the page."""

    id: str
    title: str
    tables: tuple[Table, ...]
    charts: tuple[Chart, ...] = ()
    notes: tuple[str, ...] = ()

    @cached_property
    def drawings(self) -> list[Drawing]:
        """The charts in pixels."""
        return [draw(chart) for chart in self.charts]


@dataclass(frozen=True)
class Report:
    """What page and Markdown show.

    Attributes:
        title: The page's.
        lead: What has to be known before any figure, such as which definition of wrong holds.
        warnings: What makes figures doubtful, such as failed questions.
        sections: The tables and charts.
        footer: Last line.
        runs: Names of the runs.
        summaries: What each of them came to.
        rows: The list of questions (`replay.list_row`).
        questions: What each of them shows when opened (`replay.question_json`), in the same order.
        passages: Id, title and text of every passage that they refer to by number.
    """

    title: str
    lead: tuple[str, ...]
    warnings: tuple[str, ...]
    sections: tuple[Section, ...]
    footer: str
    runs: tuple[str, ...]
    summaries: tuple[Summary, ...]
    rows: Sequence[list[Any]]
    questions: Sequence[dict[str, Any]]
    passages: Sequence[tuple[str, str, str]]

    @property
    def scores(self) -> Table:
        """The table of scores."""
        return next(section for section in self.sections if section.id == "scores").tables[0]


def render_html(report: Report) -> str:
    """The page."""
    import jinja2

    # No file-system loader: the templates are package data, wherever the package is installed.
    folder = files("executionrag.runs.report") / "templates"

    def source(name: str) -> str:
        return (folder / name).read_text(encoding="utf-8")

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(source),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: clean(value) if type(value) is str else value,
    )
    script = source("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    page: str = environment.get_template("report.html").render(
        report=report,
        few=FEW,
        css=source("report.css"),
        js=script,
        script_hash=f"sha256-{digest}",
        data_list=script_json({"runs": report.runs, "rows": report.rows}),
        data_questions="\n".join(script_json(question) for question in report.questions),
        data_passages="\n".join(script_json(passage) for passage in report.passages),
    )
    return page


def render_markdown(report: Report) -> str:
    """The same lead, warnings and tables as Markdown; of a short report the list of questions too."""
    lines = [f"# {escaped(report.title)}", ""]
    for line in report.lead:
        lines += [escaped(line), ""]
    for warning in report.warnings:
        lines += [f"**{escaped(warning)}**", ""]
    for section in report.sections:
        lines += [f"## {escaped(section.title)}", ""]
        for note in section.notes:
            lines += [escaped(note), ""]
        for table in section.tables:
            if len(section.tables) > 1 or table.title != section.title:
                lines += [f"### {escaped(table.title)}", ""]
            lines += [*markdown_table(table), ""]
    if len(report.rows) <= LISTED:
        lines += ["## Questions", "", *markdown_table(_question_table(report)), ""]
    return "\n".join([*lines, escaped(report.footer), ""])


def _question_table(report: Report) -> Table:
    """The rows of `replay.list_row` as a table."""
    rows = []
    for run, name, question, gold, answer, outcome, category, _, _, found, mapped in report.rows:
        why = f"{outcome}: {category}" if category and outcome == "wrong" else outcome
        cells = (name, question, gold, answer or "–", why, f"{found} of {mapped}")
        rows.append(tuple(Cell(cell) for cell in ((report.runs[run], *cells) if len(report.runs) > 1 else cells)))
    head = ("id", "question", "gold", "answer", "outcome", "gold passages retrieved")
    return Table("Questions", ("run", *head) if len(report.runs) > 1 else head, tuple(rows))


def script_json(value: Any) -> str:
    """A value as one line of JSON that can stand inside a `script` element: it holds no `<`, `>` or `&`."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
