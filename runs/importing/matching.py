"""Which question each prediction is of: by id, else by the question's text, folded; never by position.

Refused, each in one line that names the place: a row that has neither, or is of no question of the benchmark; an id
whose text is another question's; a text that several questions have; two rows of one question.
"""

from collections import defaultdict
from collections.abc import Sequence

from ...errors import UserError
from ...retrievers.text import squeeze
from ..benchmarks.record import BenchmarkQuestion
from .prediction import Prediction


def match(
    predictions: Sequence[Prediction], questions: Sequence[BenchmarkQuestion], benchmark: str
) -> dict[str, Prediction]:
    """The predictions by the question's id, in the benchmark's order.

    Args:
        predictions: Of a file, in its order.
        questions: The benchmark's.
        benchmark: What a person called it.

    Raises:
        UserError: A row cannot be matched, or two are of one question.
    """
    by_id = {question.id: question for question in questions}
    by_text: dict[str, list[BenchmarkQuestion]] = defaultdict(list)
    for question in questions:
        by_text[squeeze(question.question)].append(question)
    matched: dict[str, Prediction] = {}
    foreign: list[Prediction] = []
    for one in predictions:
        found = _question(one, by_id, by_text)
        if found is None:
            foreign.append(one)
        elif found.id in matched:
            first = matched[found.id].where
            raise UserError(
                f"{one.where}: question {found.id!r} has a prediction already, at {first}; keep one of them"
            )
        else:
            matched[found.id] = one
    if foreign:
        stray = foreign[0]
        named = f"id {stray.id!r}" if stray.id else f"question {stray.question[:60]!r}"
        raise UserError(
            f"{stray.where}: {named} is of no question of {benchmark} ({len(foreign):,} of {len(predictions):,} rows "
            "are not); give the question file that the predictions are of"
        )
    return {question.id: matched[question.id] for question in questions if question.id in matched}


def _question(
    one: Prediction, by_id: dict[str, BenchmarkQuestion], by_text: dict[str, list[BenchmarkQuestion]]
) -> BenchmarkQuestion | None:
    text = squeeze(one.question)
    found = by_id.get(one.id) if one.id else None
    if found is not None:
        if text and text != squeeze(found.question):
            raise UserError(
                f"{one.where}: question {one.id!r} is another one in the benchmark ({found.question[:60]!r}); give the "
                "question file that the predictions are of"
            )
        return found
    if not text:
        if not one.id:
            raise UserError(f"{one.where}: neither an id nor the question's text; one of them must say what it answers")
        return None
    fitting = by_text.get(text, [])
    if len(fitting) > 1:
        ids = ", ".join(question.id for question in fitting[:3])
        raise UserError(f"{one.where}: {len(fitting)} questions have this text ({ids}); give their ids")
    return fitting[0] if fitting else None
