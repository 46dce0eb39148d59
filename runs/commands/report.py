"""`executionrag report`: one or more runs as a page and as Markdown."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UsageError, UserError
from .options import check_place, count

if TYPE_CHECKING:
    from ...metrics.summary import Summary
    from ..output import Console


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser = commands.add_parser(
        "report",
        parents=[common],
        help="show a run, or several side by side, as a page and as Markdown",
        description="Print the scores, and write a self-contained HTML page (scores, failures, evidence, efficiency, "
        "a replay of every question) and a Markdown summary.",
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "folders", metavar="RUN", nargs="+", help="run folders, made by executionrag evaluate, or a study's folder"
    )
    parser.add_argument("--html", metavar="FILE", help="where the page goes (default, of one run: RUN/report.html)")
    parser.add_argument(
        "--markdown", metavar="FILE", help="where the Markdown goes (default, of one run: RUN/report.md)"
    )


def run(args: argparse.Namespace, console: "Console") -> int:
    """Write the report."""
    folders = [Path(folder) for folder in args.folders]
    from ..study.plan import is_study, load_plan

    if len(folders) == 1 and is_study(folders[0]):
        from .study import write_report

        write_report(load_plan(folders[0]), folders[0], console, args.html, args.markdown)
        return 0
    html, markdown = _places(folders, args.html, args.markdown)
    from ..run_folder import RunFolder

    for folder in folders:
        RunFolder.open(folder)  # a wrong folder shows before anything is written or computed
    for place, option in ((html, "--html"), (markdown, "--markdown")):
        if place is not None:
            check_place(place, option)
    from ..report.build import build_report
    from ..report.page import render_html, render_markdown
    from ..report.table import plain_table
    from ..story import write_page

    report = build_report(folders)
    for folder, summary in zip(folders, report.summaries, strict=True):
        _keep_summary(folder / "summary.json", summary, console)
    console.out.block("\n".join(plain_table(report.scores)))
    for note in report.scores.notes:
        console.out.entry("", note, style="dim")
    for warning in report.warnings:
        console.err.entry("warning:", warning, head_style="yellow")
    if html is not None:
        content = render_html(report)
        write_page(html, content)
        size = len(content.encode("utf-8", "replace")) / 1e6
        console.out.line(f"page: {html} ({size:.1f} MB, {count(len(report.rows), 'question')})")
    if markdown is not None:
        write_page(markdown, render_markdown(report))
        console.out.line(f"Markdown: {markdown}")
    return 0


def _keep_summary(place: Path, summary: "Summary", console: "Console") -> None:
    """Write a run's summary beside its records; a folder that cannot be written to is still reported."""
    from ..story import write_page

    try:
        write_page(place, summary.model_dump_json(indent=1) + "\n")
    except UserError as error:
        console.err.line(f"warning: {error}", "yellow")


def _places(folders: list[Path], html: str | None, markdown: str | None) -> tuple[Path | None, Path | None]:
    """Where page and Markdown go; of several runs only what is named.

    Raises:
        UsageError: Several runs and no place.
    """
    given = (Path(html) if html else None, Path(markdown) if markdown else None)
    if len(folders) == 1:
        return given[0] or folders[0] / "report.html", given[1] or folders[0] / "report.md"
    if given == (None, None):
        raise UsageError("several runs: say where the report goes with --html FILE or --markdown FILE")
    return given
