"""Loading a corpus: JSON lines of titles and texts, or a folder of `.txt` and `.md` files.

A row of a JSONL file is a passage as its author cut it and stays whole, up to `whole_tokens`; longer rows, and the
files of a folder, are cut into chunks of `chunk_tokens` at sentence ends. A document cut in chunks gives passages
`id#1`, `id#2`, …, which remember their document and position and all carry its title.

What cannot be used is refused, never skipped, with the file, the line and the field in one line. Only blank files of a
folder are left out, with a warning. Lone surrogates become U+FFFD and are counted in one warning.
"""

import json
import logging
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..errors import UserError
from .chunking import chunks, estimate_tokens
from .passage import Passage
from .text import replace_surrogates

logger = logging.getLogger(__name__)

#: Size of a chunk of a longer document: with its title it fits the 256 tokens that small encoders read.
CHUNK_TOKENS = 220
#: A JSONL row up to this size stays one passage: well above the paragraphs of the multi-hop benchmarks.
WHOLE_TOKENS = 4_000

_TEXT_FILES = {".txt", ".md", ".markdown"}
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)


def load_corpus(
    path: Path | str, *, chunk_tokens: int = CHUNK_TOKENS, whole_tokens: int = WHOLE_TOKENS
) -> list[Passage]:
    """Load the passages of a corpus file or folder.

    Args:
        path: A JSONL file with `text` and optionally `title` and `id` (a row without id gets its row number, from 1); a
            single text file; or a folder, read recursively (hidden entries left out) in the order of its paths.
        chunk_tokens: Size limit of a chunk, in approximate tokens.
        whole_tokens: Up to this size a JSONL row stays one passage, in approximate tokens.

    Raises:
        UserError: The path is missing or unreadable, the corpus is empty, or a row or file cannot be used.
    """
    path = Path(path)
    if chunk_tokens < 1 or whole_tokens < 1:
        raise UserError(f"chunk sizes must be at least 1 token, not {min(chunk_tokens, whole_tokens)}")
    if not path.exists():
        raise UserError(f"{path}: no such file or folder; give a JSONL file, or a folder of .txt and .md files")
    if path.is_dir() or path.suffix.lower() in _TEXT_FILES:
        rows = _files(path)
        limit = chunk_tokens
    else:
        rows = _lines(path)
        limit = whole_tokens
    passages = _cut(rows, chunk_tokens, limit, str(path))
    if not passages:
        found = "no .txt or .md file with text" if path.is_dir() else "no row"
        raise UserError(f"{path}: the corpus is empty ({found}); give at least one passage")
    return passages


def passages_from_rows(
    rows: Iterable[tuple[str, str, str]], *, chunk_tokens: int = CHUNK_TOKENS, whole_tokens: int = WHOLE_TOKENS
) -> list[Passage]:
    """Make passages of (id, title, text) rows held in memory, under the rules of a JSONL row.

    Raises:
        UserError: No row, a blank text or id, or a repeated id; the message names the row number, from 1.
    """
    numbered = ((f"row {number}", *row) for number, row in enumerate(rows, start=1))
    passages = _cut(numbered, chunk_tokens, whole_tokens, "the rows")
    if not passages:
        raise UserError("the corpus is empty; give at least one passage")
    return passages


def _cut(rows: Iterable[tuple[str, str, str, str]], chunk_tokens: int, limit: int, source: str) -> list[Passage]:
    """Turn rows of (where, id, title, text) into passages, cutting those above `limit`."""
    passages: list[Passage] = []
    seen: dict[str, str] = {}
    documents: dict[str, str] = {}
    replaced = 0
    for where, *fields in rows:
        clean = [replace_surrogates(field) for field in fields]
        replaced += sum(count for _, count in clean)
        document, title, text = (value for value, _ in clean)
        if not document.strip():
            raise UserError(f"{where}: field `id` is blank; give each passage its own id, or none")
        if not text.strip():
            raise UserError(f"{where}: field `text` is blank; every passage needs a text")
        if document in documents:
            raise UserError(
                f"{where}: field `id`: {document!r} is used before, in {documents[document]}; make ids unique"
            )
        documents[document] = where
        parts = [text]
        if estimate_tokens(text) > limit:
            parts = [part.strip() for part in chunks(text, chunk_tokens) if part.strip()]
        for position, part in enumerate(parts):
            passage_id = f"{document}#{position + 1}" if len(parts) > 1 else document
            if passage_id in seen:
                raise UserError(
                    f"{where}: field `id`: {passage_id!r} is used before, in {seen[passage_id]}; make ids unique"
                )
            seen[passage_id] = where
            passages.append(Passage(passage_id, title, part, document, position))
    if replaced:
        logger.warning("%s: %d characters that are no valid Unicode were replaced by U+FFFD", source, replaced)
    return passages


def _lines(path: Path) -> Iterator[tuple[str, str, str, str]]:
    row = 0
    try:
        with path.open("rb") as lines:
            for line_number, raw in enumerate(lines, start=1):
                where = f"{path}:{line_number}"
                line = _decode(raw, where, first=line_number == 1)
                if line.strip():
                    row += 1
                    yield (where, *_row(line, row, where))
    except OSError as error:
        raise UserError(
            f"{path}: cannot be read ({error.strerror or error}); check the path and its permissions"
        ) from error


def _row(line: str, number: int, where: str) -> tuple[str, str, str]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(
            f"{where}: not valid JSON ({error}); each line must be one JSON object with a `text`"
        ) from error
    if not isinstance(record, dict):
        raise UserError(f"{where}: a JSON {_kind(record)}, not an object; each line must be an object with a `text`")
    if record.get("text") is None:
        raise UserError(f"{where}: field `text` is missing; every passage needs a text")
    given = record.get("id")
    if isinstance(given, int) and not isinstance(given, bool):
        given = str(given)
    values = {"id": str(number) if given is None else given, "title": record.get("title"), "text": record["text"]}
    if values["title"] is None:
        values["title"] = ""
    for field, value in values.items():
        if not isinstance(value, str):
            raise UserError(f"{where}: field `{field}` is a JSON {_kind(value)}; it must be a string")
    return values["id"], values["title"], values["text"]


def _kind(value: Any) -> str:
    kinds = {type(None): "null", bool: "boolean", int: "number", float: "number", str: "string", list: "array"}
    return kinds.get(type(value), "object")


def _files(path: Path) -> Iterator[tuple[str, str, str, str]]:
    root = path if path.is_dir() else path.parent
    try:
        candidates = path.rglob("*") if path.is_dir() else [path]
        found = {
            file.relative_to(root).as_posix(): file
            for file in candidates
            if file.suffix.lower() in _TEXT_FILES
            and file.is_file()
            and not any(part.startswith(".") for part in file.relative_to(root).parts)
        }
        for name in sorted(found):
            text = _decode(found[name].read_bytes(), str(found[name]), first=True)
            if not text.strip():
                logger.warning("%s: a blank file, left out", found[name])
                continue
            heading = _HEADING.search(text) if found[name].suffix.lower() != ".txt" else None
            yield str(found[name]), name, heading.group(1) if heading else found[name].stem, text
    except OSError as error:
        place = error.filename or path
        raise UserError(f"{place}: cannot be read ({error.strerror or error}); check its permissions") from error


def _decode(raw: bytes, where: str, *, first: bool) -> str:
    try:
        return raw.decode("utf-8-sig" if first else "utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{where}: not UTF-8 (byte {error.start + 1}); save the file as UTF-8") from error
