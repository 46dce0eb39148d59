"""Rows of a dataset on the hub, through the `datasets` library: Parquet or JSON files only, no loading scripts."""

from __future__ import annotations

import hashlib
import json

from ...errors import UserError
from .parquet_rows import official
from .source_rows import SourceRow

_SPLIT = "validation"


def hub_rows(name: str) -> tuple[list[SourceRow], str]:
    """Read a split of a dataset.

    Args:
        name: `OWNER/NAME[:CONFIG[:SPLIT]]`; the split is `validation` where it is not said.

    Returns:
        The rows, and the SHA-256 of them as canonical JSON.

    Raises:
        UserError: `datasets` is not installed, or the dataset cannot be had.
    """
    try:
        import datasets
    except ImportError as error:
        raise UserError(f"hub:{name}: needs the datasets library (pip install datasets); or give a file") from error
    dataset, _, rest = name.partition(":")
    config, _, split = rest.partition(":")
    try:
        loaded = datasets.load_dataset(dataset, config or None, split=split or _SPLIT)
    except Exception as error:  # the library raises its own, the hub client's, and those of every file format
        said = " ".join(str(error).split())[:160]
        raise UserError(
            f"hub:{name}: cannot be loaded ({said}); give a file, or another OWNER/NAME:CONFIG:SPLIT"
        ) from error
    rows = [official(row) for row in loaded]
    digest = hashlib.sha256(json.dumps(rows, sort_keys=True, ensure_ascii=True, default=str).encode()).hexdigest()
    return [SourceRow(f"hub:{name}: row {number}", row) for number, row in enumerate(rows, start=1)], digest
