"""Predictions of a file made into a run folder, whole or not at all.

Denominator: the questions of the file. Blank answers are abstentions; errors, those in disguise too, are failed rows,
which keep what was retrieved. Where a search's k, LM or retriever is not known its setting is left out, so that a
comparison says "unknown". Tokens, calls and seconds that the file does not give stand as 0, its cost as unknown.
"""

from __future__ import annotations

import importlib.metadata
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ...errors import UserError
from ...metrics.certified import SEARCHES
from ...metrics.record import QuestionRecord
from ...retrievers.temporaries import remove_stale, temporary_beside
from ..answer_record import answered_record
from ..asked import Asked
from ..benchmarks.source_rows import read_rows
from ..run_folder import RunFolder
from .arag_layout import arag_prediction
from .as_prediction import as_prediction
from .disguised_errors import disguised_error
from .import_settings import ImportSettings
from .jsonl_layout import FIELDS, RetrievedAre, jsonl_prediction
from .matching import match
from .references import References, map_references

Layout = Literal["arag", "jsonl"]
_COUNTS = ("prompt_tokens", "completion_tokens", "llm_calls", "seconds")


@dataclass(frozen=True)
class Imported:
    """What an import came to.

    Attributes:
        folder: The run.
        records: Its rows, in the benchmark's order.
        absent: How many of the benchmark's questions the file does not have.
        references: What its passages are.
        disguised: For each question whose answer is an error in disguise, which.
        not_given: Of tokens, calls and seconds those that some row does not give.
        unread: Fields of the file that are not read.
    """

    folder: Path
    records: tuple[QuestionRecord, ...]
    absent: int
    references: References
    disguised: Mapping[str, str]
    not_given: tuple[str, ...]
    unread: tuple[str, ...]


def import_predictions(
    file: Path,
    layout: Layout,
    asked: Asked,
    out: Path,
    *,
    system: str,
    lm: str = "imported",
    retrieved_are: RetrievedAre = "ids",
    k: int | None = None,
    command: str = "",
) -> Imported:
    """Import a file of predictions.

    Args:
        file: The predictions.
        layout: How it is laid out.
        asked: The benchmark that they are of, over the index that holds their passages.
        out: The run folder to make.
        system: What to call the system.
        lm: What made the answers, where known.
        retrieved_are: What the JSONL's passages are.
        k: Passages a search, where they searched this very index; None where they did not or it is not known.
        command: What made it, for the header.

    Raises:
        UserError: The place is taken or cannot be written to, or the file does not fit; nothing is left behind.
    """
    if out.exists() or out.is_symlink():
        raise UserError(f"{out}: exists and is left alone; give another --out")
    rows, digest = read_rows(file, "a file of predictions")
    predictions = [arag_prediction(row) if layout == "arag" else jsonl_prediction(row, retrieved_are) for row in rows]
    matched = match(predictions, asked.benchmark.dev, asked.benchmark.name)
    references = map_references(matched.values(), asked.index, str(file))
    chosen = [question for question in asked.benchmark.dev if question.id in matched]
    gold, kind = asked.gold_of(chosen), asked.benchmark.kind
    records = [
        answered_record(
            question,
            gold[question.id],
            as_prediction(matched[question.id], references, asked),
            benchmark=kind,
            system=system,
        )
        for question in chosen
    ]
    index, searched = asked.index, k is not None
    if k is not None:
        _check_k(records, k, file)
    settings = ImportSettings(
        system=system,
        lm=lm,
        benchmark=kind,
        benchmark_digest=asked.benchmark.digest,
        predictions_digest=digest,
        mapped_index_digest=index.digest,
        index_digest=index.digest if searched else None,
        encoder=asked.encoder if searched else None,
        granularity=index.granularity if searched else None,
        k=k,
    )
    header: dict[str, Any] = {"imported": {"file": file.name, "layout": layout, "rows": len(rows)}, "command": command}
    _write(out, settings, records, asked, header)
    return Imported(
        folder=out,
        records=tuple(records),
        absent=len(asked.benchmark.dev) - len(chosen),
        references=references,
        disguised={
            key: name for key, one in matched.items() if not one.error and (name := disguised_error(one.answer))
        },
        not_given=tuple(name for name in _COUNTS if any(getattr(one, name) is None for one in matched.values())),
        unread=tuple(sorted({key for row in rows for key in row.fields} - FIELDS)) if layout == "jsonl" else (),
    )


def _check_k(records: Sequence[QuestionRecord], k: int, file: Path) -> None:
    """See that no search found more than k passages: what lies behind is not what a search at k returns.

    Raises:
        UserError: One did.
    """
    for record in records:
        for step in record.searches:
            if step.tool in SEARCHES and len(step.found) > k:
                raise UserError(
                    f"{file}: --k {k}: a search of question {record.id} found {len(step.found)} passages; give the k "
                    "that was searched with, or leave --k out"
                )


def _write(
    out: Path, settings: ImportSettings, records: Sequence[QuestionRecord], asked: Asked, header: dict[str, Any]
) -> None:
    """Write the folder under a temporary name, then rename it.

    Raises:
        UserError: The place cannot be written to, or the disk is full.
    """
    versions = {"executionrag": importlib.metadata.version("executionrag")}
    ids = [record.id for record in records]
    temporary = temporary_beside(out.absolute(), "tmp")
    try:
        remove_stale(out.absolute(), "tmp")
        folder = RunFolder.create(temporary, settings.known, settings.digest, ids, versions=versions, **header)
        with folder.appending():
            for record in records:
                folder.append(record, _texts(record, asked))
        temporary.rename(out)
    except OSError as error:
        raise UserError(f"{out}: cannot be written ({error.strerror or error}); give another --out") from error
    except UserError as error:
        raise UserError(str(error).replace(str(temporary), str(out))) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _texts(record: QuestionRecord, asked: Asked) -> dict[str, tuple[str, str]]:
    """Title and text of the retrieved and the gold passages."""
    passages = [asked.index.passage(key) for key in dict.fromkeys((*record.retrieved_ids, *record.gold_ids))]
    return {passage.id: (passage.title, passage.text) for passage in passages}
