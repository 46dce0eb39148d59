"""A benchmark's corpus file as passages: JSON Lines, HippoRAG's `*_corpus.json`, A-RAG's `chunks.json`.

HippoRAG's holds an array of objects with `title` and `text`, or in its first version one object of titles and texts (or
lists of sentences). A-RAG's holds an array of `"id:text"`. Anything else is read as any other corpus is.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UserError
from ...retrievers.corpus import load_corpus, passages_from_rows
from .source_rows import read_json

if TYPE_CHECKING:
    from ...retrievers.passage import Passage

_WHAT = "a corpus: JSON Lines, HippoRAG's *_corpus.json or A-RAG's chunks.json"


def read_corpus(path: Path | str, **sizes: int) -> list[Passage]:
    """Read a corpus file.

    Args:
        path: The file, or a folder of texts.
        **sizes: How long texts are cut, as `retrievers.corpus.load_corpus` takes them.

    Raises:
        UserError: It cannot be read, or an entry does not fit; the message names it.
    """
    path = Path(path)
    if path.suffix.lower() != ".json" or not path.is_file():
        return load_corpus(path, **sizes)
    content = read_json(path, _WHAT)
    if isinstance(content, dict):
        entries: Any = [{"title": title, "text": text} for title, text in content.items()]
    else:
        entries = content
    if not isinstance(entries, list) or not entries:
        raise UserError(f"{path}: the corpus is empty or no array; give {_WHAT}")
    return passages_from_rows(_rows(path, entries), **sizes)


def _rows(path: Path, entries: list[Any]) -> Iterator[tuple[str, str, str]]:
    for number, entry in enumerate(entries, start=1):
        where = f"{path}: entry {number}"
        if isinstance(entry, str):
            chunk_id, colon, text = entry.partition(":")
            if not colon or not chunk_id.strip().isdigit():
                raise UserError(f'{where}: no "id:text" as in A-RAG\'s chunks.json (the id is a number)')
            yield chunk_id.strip(), "", text
            continue
        fields: dict[str, Any] = entry if isinstance(entry, dict) else {}
        title, body = fields.get("title"), fields.get("text")
        if isinstance(body, list) and all(isinstance(one, str) for one in body):
            body = "".join(body)
        if not isinstance(body, str) or not isinstance(title, str | None):
            raise UserError(f"{where}: an object with `title` and `text` is expected, both texts")
        given = fields.get("id", fields.get("idx"))
        yield (str(number) if given is None else str(given)), title or "", body
