"""One MLflow run from one finished run folder: written once from its records, so that trouble here costs no result.

The same state of a folder (settings, records, verdicts) is tracked once: a tag holds its digest, and what an
interrupted attempt left is taken away first. A folder that has grown since gives a new MLflow run.
"""

import contextlib
import importlib.metadata
import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import UserError
from ..run_folder import RECORDS, VERDICTS
from ..scored_run import ScoredRun
from .artifacts import TABLE, state_of, write_artifacts
from .figures import figures
from .store import check_mlflow, check_store, hide, quiet_mlflow, sqlite_path, tracking_uri
from .traces import log_traces

_STATE = "executionrag.state"
_METRICS_AT_ONCE = 900
_PACKAGES = ("executionrag", "dspy", "mlflow", "sentence-transformers", "faiss-cpu", "bm25s")


@dataclass(frozen=True)
class Tracked:
    """What came of tracking: the run's name and experiment, whether it was there before, the traces logged."""

    name: str
    experiment: str
    already: bool = False
    traces: int = 0


def track(path: Path | str, uri: str | None = None, *, traces: int = 0) -> Tracked:
    """Track a run folder.

    Args:
        path: The run folder.
        uri: The store; None is `MLFLOW_TRACKING_URI`, else the SQLite file of the working folder.
        traces: Questions to log a trace of.

    Raises:
        UserError: There is no run, MLflow is missing, or the store cannot be had; the run folder is as before.
    """
    check_mlflow()
    place = tracking_uri(uri)
    run = ScoredRun.open(path)
    check_store(place)
    try:
        with quiet_mlflow():
            return _track(run, place, traces)
    except UserError:
        raise
    except Exception as error:  # whatever MLflow, its database or its server raise
        raise UserError(f"MLflow at {hide(place)}: {_line(error)}") from error


def _line(error: BaseException) -> str:
    """What went wrong, in one line: a database's own words, without the statement that met it."""
    text = " ".join(str(getattr(error, "message", "") or error).split())
    text = text.split("[SQL:")[0].split("(Background on")[0].strip()
    return hide(f"{type(error).__name__}: {text[:240]}")


def _track(run: ScoredRun, uri: str, traces: int) -> Tracked:
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=uri)
    settings = run.settings
    benchmark = str(settings.get("benchmark") or "benchmark")
    name = run_name(settings, str(run.folder.header.get("variant_name") or ""))
    state = state_of(run.folder.path, run.folder.digest)
    experiment = _experiment(client, benchmark, uri)
    for earlier in client.search_runs([experiment], f"tags.`{_STATE}` = '{state}'"):
        if earlier.info.status == "FINISHED":
            return Tracked(earlier.info.run_name or name, benchmark, already=True)
        client.delete_run(earlier.info.run_id)
    run_id = client.create_run(experiment, tags=_tags(run, state), run_name=name).info.run_id
    with _failed_unless_done(client, run_id):
        _log(client, run, run_id)
        count = log_traces(uri, experiment, run_id, run.records, traces) if traces else 0
    return Tracked(name, benchmark, traces=count)


@contextlib.contextmanager
def _failed_unless_done(client: Any, run_id: str) -> Iterator[None]:
    """A run that is only half written is never one that counts."""
    try:
        yield
        client.set_terminated(run_id, "FINISHED")
    except BaseException:
        with contextlib.suppress(Exception):
            client.set_terminated(run_id, "FAILED")
        raise


def run_name(settings: dict[str, Any], variant: str = "") -> str:
    """`system · variant · LM · retriever`; a variant without a name goes by its digest."""
    lm = str(settings.get("lm", "")).partition("@")[0]
    encoder = str(settings.get("encoder", "")).rpartition("/")[2]
    parts = (str(settings.get("system", "")), variant or str(settings.get("variant") or "baseline"), lm, encoder)
    return " · ".join(part for part in parts if part)


def _experiment(client: Any, name: str, uri: str) -> str:
    """The benchmark's experiment; its artifacts stand beside an SQLite store."""
    found = client.get_experiment_by_name(name)
    if found is not None:
        if found.lifecycle_stage != "active":
            client.restore_experiment(found.experiment_id)
        return str(found.experiment_id)
    path = sqlite_path(uri)
    location = None if path is None else (path.parent / "artifacts" / name).as_uri()
    return str(client.create_experiment(name, artifact_location=location))


def _tags(run: ScoredRun, state: str) -> dict[str, str]:
    settings, header = run.settings, run.folder.header
    tags = {
        _STATE: state,
        "executionrag.run": run.folder.digest,
        "run_folder": run.name,
        "benchmark_digest": str(settings.get("benchmark_digest", "")),
        "index_digest": str(settings.get("index_digest", "")),
        "judges": ", ".join(run.judges),
        "wrong_is": run.wrong_is,
        # Of the code that answered, not of what tracks it later.
        "git_commit": str(header.get("commit") or ""),
        "mlflow.loggedArtifacts": json.dumps([{"path": TABLE, "type": "table"}]),
        "mlflow.source.name": "executionrag",
    }
    for package in _PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            tags[f"version.{package}"] = importlib.metadata.version(package)
    # What answered may be older than what tracks it.
    made_with = header.get("versions")
    for package, version in (made_with if isinstance(made_with, dict) else {}).items():
        tags[f"version.{package}"] = str(version)
    return {key: hide(value)[:4000] for key, value in tags.items() if value}


def _log(client: Any, run: ScoredRun, run_id: str) -> None:
    from mlflow.entities import Metric, Param

    from ..report.build import build_report
    from ..report.page import render_html, render_markdown

    report = build_report([run.folder.path])
    now = int(time.time() * 1000)
    metrics = [Metric(key, value, now, 0) for key, value in figures(report.summaries[0]).items()]
    asked = {"questions_asked": len(run.folder.question_ids), "questions_finished": len(run.records)}
    settings = run.settings | asked
    settings["variant"] = settings.get("variant") or "baseline"
    params = [Param(key, hide(_shown(value))[:5000]) for key, value in sorted(settings.items())]
    client.log_batch(run_id, params=params)
    for first in range(0, len(metrics), _METRICS_AT_ONCE):
        client.log_batch(run_id, metrics=metrics[first : first + _METRICS_AT_ONCE])
    for name in (RECORDS, VERDICTS):
        if (run.folder.path / name).is_file():
            client.log_artifact(run_id, str(run.folder.path / name))
    with tempfile.TemporaryDirectory() as made:
        write_artifacts(run, render_html(report), render_markdown(report), Path(made))
        client.log_artifacts(run_id, made)


def _shown(value: Any) -> str:
    return "default" if value is None else str(value)
