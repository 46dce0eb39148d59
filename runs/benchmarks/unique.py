"""The one check across rows: an id names one question."""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import UserError
from .record import BenchmarkQuestion


def with_unique_ids(questions: Iterable[tuple[str, BenchmarkQuestion]]) -> list[BenchmarkQuestion]:
    """The questions of (where, question) pairs, in their order.

    Raises:
        UserError: An id is used twice; the message names both places.
    """
    places: dict[str, str] = {}
    kept: list[BenchmarkQuestion] = []
    for where, question in questions:
        if question.id in places:
            raise UserError(
                f"{where}: field `id`: {question.id!r} is used before, in {places[question.id]}; give each question "
                "its own id"
            )
        places[question.id] = where
        kept.append(question)
    return kept
