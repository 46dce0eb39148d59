"""Parquet files as rows, with the columns of the hub's datasets turned into the official JSON layouts.

There HotpotQA's `context` and `supporting_facts` are structs of lists (`title`, `sentences`; `title`, `sent_id`)
instead of pairs, and some 2WikiMultiHopQA exports hold them as JSON text. Needs `pyarrow` (`pip install pyarrow`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import UserError

_PAIRS = {"context": ("title", "sentences"), "supporting_facts": ("title", "sent_id")}
_JSON_TEXTS = ("context", "supporting_facts", "evidences")


def parquet_rows(path: Path) -> list[dict[str, Any]]:
    """Read all rows of a Parquet file.

    Raises:
        UserError: `pyarrow` is not installed, or the file is no Parquet.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise UserError(f"{path}: reading Parquet needs pyarrow: pip install pyarrow") from error
    try:
        rows = parquet.read_table(path).to_pylist()
    except (OSError, pyarrow.ArrowException) as error:
        said = " ".join(str(error).split())[:160]
        raise UserError(f"{path}: no readable Parquet file ({said}); give the dataset's own file") from error
    return [official(row) for row in rows]


def official(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with its struct-of-lists and JSON-text columns as the official JSON layouts have them."""
    fields = dict(row)
    for name in _JSON_TEXTS:
        value = fields.get(name)
        if isinstance(value, str):
            try:
                fields[name] = json.loads(value)
            except ValueError:
                continue  # the layout's own check names the field
    for name, (first, second) in _PAIRS.items():
        value = fields.get(name)
        if isinstance(value, dict) and isinstance(value.get(first), list) and isinstance(value.get(second), list):
            fields[name] = [list(pair) for pair in zip(value[first], value[second], strict=False)]
    return fields
