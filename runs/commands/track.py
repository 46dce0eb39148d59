"""`executionrag track`: finished runs into MLflow."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UsageError, UserError
from .options import count, whole

if TYPE_CHECKING:
    from ..output import Console
    from ..tracking.track import Tracked


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser = commands.add_parser(
        "track",
        parents=[common],
        help="put finished runs into MLflow, to compare them there",
        description="Write run folders into MLflow, each as one run: settings, scores with intervals, the table of "
        "questions, report and prompts. What is there already is left as it is.",
    )
    parser.set_defaults(run=run)
    parser.add_argument("folders", metavar="RUN", nargs="+", help="run folders, made by executionrag evaluate")
    add_store_options(parser)


def add_store_options(parser: Any) -> None:
    """Add where to track, and how many traces."""
    parser.add_argument(
        "--tracking-uri",
        metavar="URI",
        help="sqlite:///FILE.db or a server's address (default: MLFLOW_TRACKING_URI, else mlflow/mlflow.db here)",
    )
    parser.add_argument(
        "--trace-sample", type=whole(0), metavar="N", default=0, help="log traces of N questions (default: 0)"
    )


def add_mlflow_options(parser: argparse.ArgumentParser) -> None:
    """Add `--mlflow` and its options to a command that answers questions."""
    group = parser.add_argument_group("MLflow")
    group.add_argument("--mlflow", action="store_true", help="put the run into MLflow when it is finished")
    add_store_options(group)


def check_mlflow_options(args: argparse.Namespace) -> None:
    """See, before hours of answers, that MLflow is there where it is wanted.

    Raises:
        UserError: It is not installed, or an option of it stands without `--mlflow`.
    """
    if args.mlflow:
        from ..tracking.store import check_mlflow, tracking_uri

        check_mlflow()
        tracking_uri(args.tracking_uri)
    elif args.tracking_uri or args.trace_sample:
        raise UsageError(f"{'--tracking-uri' if args.tracking_uri else '--trace-sample'} goes with --mlflow")


def run(args: argparse.Namespace, console: "Console") -> int:
    """Track each run; 1 where one could not be."""
    from ..tracking.track import track

    failed = False
    for folder in args.folders:
        try:
            _tell(track(folder, args.tracking_uri, traces=args.trace_sample), console)
        except UserError as error:
            console.fail(str(error))
            failed = True
    return int(failed)


def track_finished(folder: Path, args: argparse.Namespace, console: "Console") -> None:
    """Track what a command has just answered; trouble is one warning, for the run is complete on disk."""
    from ..tracking.track import track

    try:
        _tell(track(folder, args.tracking_uri, traces=args.trace_sample), console)
    except UserError as error:
        said = f"{error}; the run is complete, track it later: executionrag track {folder}"
        console.err.line(f"warning: not tracked: {said}", "yellow")


def _tell(tracked: "Tracked", console: "Console") -> None:
    where = f"{tracked.experiment} / {tracked.name}"
    if tracked.already:
        console.out.line(f"MLflow: already there: {where}")
        return
    traces = f" · {count(tracked.traces, 'trace')}" if tracked.traces else ""
    console.out.line(f"MLflow: {where}{traces}")
