"""What a plain DSPy metric reads from an example and a prediction; nothing here raises, whatever they are.

A metric that raises ends a whole evaluation, and `dspy.Evaluate` hands over an empty prediction for a question that
failed: every field may be missing or hold anything.
"""

import logging
from typing import Any

logger = logging.getLogger(__name__)


def golds_of(example: Any) -> list[str]:
    """The gold answer and its aliases: the example's `answers`, else its `answer` (one, or a collection of them).

    Numbers are taken as they are written. None is logged: such an example scores 0, which is no fault of an answer.
    """
    golds = texts(field(example, "answers")) or texts(field(example, "answer"))
    if not golds:
        logger.warning("scored 0: the example has no gold answer in `answers` or `answer`")
    return golds


def answer_of(prediction: Any) -> str | None:
    """The short answer, a number as it is written; None where there is no text, or where the prediction abstains."""
    if field(prediction, "abstained") is True:
        return None
    return _text(field(prediction, "answer"))


def benchmark_of(example: Any) -> str:
    """The kind of benchmark that the example is from; blank where it does not say."""
    kind = field(example, "benchmark")
    return kind if isinstance(kind, str) else ""


def texts(value: Any) -> list[str]:
    """The texts that are not blank in a text, a number, or a collection of these."""
    values = list(value) if isinstance(value, list | tuple | set | frozenset) else [value]
    return [text for text in map(_text, values) if text is not None and text.strip()]


def field(record: Any, name: str) -> Any:
    """A field of an example, a prediction or a mapping; None where it has none."""
    try:
        get = getattr(record, "get", None)
        return get(name) if callable(get) else getattr(record, name, None)
    except Exception:  # a foreign object may do anything when it is asked
        return None


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    try:
        return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    except ValueError:  # Python refuses to write out integers of thousands of digits
        return None
