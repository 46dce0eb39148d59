"""Where runs are tracked, and MLflow made quiet, quick to give up, and unable to tell a secret.

The store is an SQLite file under `mlflow/` in the working folder, its artifacts beside it, unless a URI or
`MLFLOW_TRACKING_URI` names another. MLflow retries a dead server or a locked file for minutes; here it may not.
"""

import contextlib
import logging
import os
import re
import sqlite3
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ...errors import UserError
from ...program.secrets import mask_keys

_USER_INFO = re.compile(r"(://)[^/\s]+@")
_SECRETS = ("MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN")
_PATIENCE = 5  # seconds that a locked file is waited for
_ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "15",
    "MLFLOW_ENABLE_ASYNC_TRACE_LOGGING": "false",
    "MLFLOW_CONFIGURE_LOGGING": "false",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "GIT_PYTHON_REFRESH": "quiet",
}


def tracking_uri(given: str | None) -> str:
    """The store's URI: what is given, else `MLFLOW_TRACKING_URI`, else the SQLite file of the working folder.

    Raises:
        UserError: It names a plain folder, which MLflow keeps no runs in any more.
    """
    uri = given or os.environ.get("MLFLOW_TRACKING_URI", "").strip()
    if not uri:
        return f"sqlite:///{(Path.cwd() / 'mlflow' / 'mlflow.db').as_posix()}"
    if uri.startswith("file:") or "://" not in uri:
        raise UserError(
            f"--tracking-uri {hide(uri)}: no store; give sqlite:///FILE.db or a server's http(s):// address"
        )
    path = sqlite_path(uri)
    return uri if path is None else f"sqlite:///{path.as_posix()}"


def sqlite_path(uri: str) -> Path | None:
    """The file of an SQLite URI, absolute; None of any other."""
    prefix, separator, rest = uri.partition(":///")
    if not separator or prefix.split("+")[0] != "sqlite":
        return None
    return Path(unquote(rest.split("?")[0])).absolute()


def hide(text: str) -> str:
    """The text without user names, passwords and keys."""
    for name in _SECRETS:
        value = os.environ.get(name, "")
        if value:
            text = text.replace(value, "[secret]")
    return mask_keys(_USER_INFO.sub(r"\1…@", text))


def check_mlflow() -> None:
    """See that MLflow is there, without importing it.

    Raises:
        UserError: It is not.
    """
    import importlib.util

    if importlib.util.find_spec("mlflow.tracking") is None:
        raise UserError("MLflow is not installed; install it with pip install 'executionrag[mlflow]'")


def check_store(uri: str) -> None:
    """See that an SQLite store can be written to, where MLflow would try again for minutes.

    Raises:
        UserError: It cannot.
    """
    path = sqlite_path(uri)
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            return
        with contextlib.closing(sqlite3.connect(path, timeout=_PATIENCE)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.rollback()
    except (OSError, sqlite3.Error) as error:
        raise UserError(f"{path}: the store cannot be written to ({error})") from error


@contextlib.contextmanager
def quiet_mlflow() -> Iterator[None]:
    """MLflow without its messages, its telemetry and its long retries; what was set before is set again after."""
    before = {name: os.environ.get(name) for name in _ENVIRONMENT}
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    loggers = [logging.getLogger(name) for name in ("mlflow", "alembic", "sqlalchemy", "git")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), _few_retries():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        for name, old in before.items():
            if old is None:
                os.environ.pop(name, None)


@contextlib.contextmanager
def _few_retries() -> Iterator[None]:
    """A database that cannot be opened is tried twice, not ten times."""
    import mlflow.store.db.utils as utils

    module: Any = utils
    before = getattr(module, "MAX_RETRY_COUNT", None)
    module.MAX_RETRY_COUNT = 2
    try:
        yield
    finally:
        if before is not None:
            module.MAX_RETRY_COUNT = before
