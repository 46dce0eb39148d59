"""Reading a question file into rows, whatever its form: JSON Lines, one JSON array, or Parquet.

A row is a JSON object with the place that it stands at, so that an adapter can name file, line and field. Nothing is
skipped: a benchmark with rows missing would give wrong totals.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, StrictStr, ValidationError

from ...errors import UserError
from ...retrievers.text import replace_surrogates


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One row.

    Attributes:
        where: Its place, as messages name it: `file:line`, or `file: row 3` where the form has no lines.
        fields: Its fields as JSON values.
    """

    where: str
    fields: dict[str, Any]


def _text(value: str) -> str:
    # The corpus loader replaces lone surrogates too, so that gold paragraphs still equal their passages.
    return replace_surrogates(value)[0]


def _filled(value: str) -> str:
    if not value.strip():
        raise ValueError("is blank")
    return _text(value)


Text = Annotated[StrictStr, AfterValidator(_text)]
Filled = Annotated[StrictStr, AfterValidator(_filled)]
#: An answer that may be a list: the first is the answer, the others its aliases.
Answers = Annotated[list[Filled], BeforeValidator(lambda value: value if isinstance(value, list) else [value])]


class RowModel(BaseModel):
    """What an adapter expects of a row; other fields are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore")


_Model = TypeVar("_Model", bound=RowModel)


def fitted(model: type[_Model], row: SourceRow, layout: str) -> _Model:
    """The row as its layout has it.

    Raises:
        UserError: A field does not fit; the message names file, line and field, and the layout that is expected.
    """
    try:
        return model.model_validate(row.fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        said = first["msg"].removeprefix("Value error, ")
        if first["type"] == "missing" and field == "answer":
            said = "is missing, and every question needs a gold answer"
        said = said[:1].lower() + said[1:]
        raise UserError(f"{row.where}: field `{field}`: {said}; {layout} layout is expected") from error


def read_rows(path: Path, what: str = "a benchmark's question file") -> tuple[list[SourceRow], str]:
    """Read all rows of a file, in its own order.

    Args:
        path: JSON Lines (blank lines are passed over), a JSON array, or Parquet by its name.
        what: What the file should be, for messages.

    Returns:
        The rows, at least one, and the SHA-256 of the file.

    Raises:
        UserError: The file cannot be read, is empty, or a row is no JSON object.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error}); give {what}") from error
    if path.suffix.lower() == ".parquet":
        from .parquet_rows import parquet_rows

        numbered = enumerate(parquet_rows(path), start=1)
        rows = [SourceRow(f"{path}: row {number}", fields) for number, fields in numbered]
    else:
        rows = list(_json_rows(path, content.removeprefix(b"\xef\xbb\xbf")))
    if not rows:
        raise UserError(f"{path}: the file has no questions; give {what}, one question a line")
    return rows, hashlib.sha256(content).hexdigest()


def read_json(path: Path, what: str) -> Any:
    """Read a whole file as one JSON value.

    Raises:
        UserError: It cannot be read, or is no valid JSON.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error}); give {what}") from error
    return _parsed(content.removeprefix(b"\xef\xbb\xbf"), str(path), f"give {what}")


def _json_rows(path: Path, content: bytes) -> Iterator[SourceRow]:
    if content.lstrip()[:1] == b"[" and content.rstrip()[-1:] == b"]":
        for number, value in enumerate(_parsed(content, str(path), "a JSON array is expected"), start=1):
            yield _row(value, f"{path}: row {number}", "the row")
        return
    # Split on line feeds only: str.splitlines would also break a row at U+2028 inside a paragraph.
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            where = f"{path}:{number}"
            yield _row(_parsed(line, where, "each line holds one question"), where, "the line")


def _parsed(content: bytes, where: str, expected: str) -> Any:
    try:
        return json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: no valid JSON in UTF-8 ({error}); {expected}") from error


def _row(value: Any, where: str, it: str) -> SourceRow:
    if not isinstance(value, dict):
        raise UserError(f"{where}: {it} is no JSON object; each holds one question")
    return SourceRow(where, value)
