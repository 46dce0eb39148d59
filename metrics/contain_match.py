"""Contain-match: the gold answer stands in the short answer, as whole words in a row.

Policy: a yes/no gold matches only an answer that starts with it ("no" is inside "there is no record"). An abstention
never matches, whatever words it uses. A gold that normalisation leaves empty ("A", "The The") is compared as a whole,
case folded. Several golds are aliases of one answer: any of them will do.
"""

import logging
from collections.abc import Sequence
from typing import Any

from .normalize import normalize

logger = logging.getLogger(__name__)
_YES_NO = ("yes", "no")


def contain_match(golds: Sequence[str], answer: str, abstained: bool = False) -> bool:
    """Whether some gold stands in the answer.

    Args:
        golds: The gold answer and its aliases; blank ones match nothing.
        answer: The short answer of the prediction.
        abstained: The prediction gives no answer.
    """
    return not abstained and any(_contains(gold, answer) for gold in golds)


def answer_contains(example: Any, prediction: Any, trace: Any = None) -> float:
    """Contain-match as a plain DSPy metric: 1.0 or 0.0.

    The golds are the example's `answers` (a list), else its `answer` (a string or a list). It never raises: a
    prediction without an answer, such as the empty one that `dspy.Evaluate` makes of a failure, gets 0.0; so does an
    example without a gold, which is logged.
    """
    golds = _texts(_field(example, "answers")) or _texts(_field(example, "answer"))
    if not golds:
        logger.warning("scored 0: the example has no gold answer in `answers` or `answer`")
    answer = _field(prediction, "answer")
    abstained = _field(prediction, "abstained") is True
    return float(isinstance(answer, str) and contain_match(golds, answer, abstained))


def _contains(gold: str, answer: str) -> bool:
    wanted, tokens = normalize(gold).split(), normalize(answer).split()
    if not wanted:
        folded = gold.strip().casefold()
        return bool(folded) and folded == answer.strip().casefold()
    if len(wanted) == 1 and wanted[0] in _YES_NO:
        return tokens[:1] == wanted
    return any(tokens[start : start + len(wanted)] == wanted for start in range(len(tokens) - len(wanted) + 1))


def _field(record: Any, name: str) -> Any:
    """A field of an example or prediction, None where it has none."""
    get = getattr(record, "get", None)
    return get(name) if callable(get) else getattr(record, name, None)


def _texts(value: Any) -> list[str]:
    values = [value] if isinstance(value, str) else value if isinstance(value, list | tuple) else []
    return [text for text in values if isinstance(text, str) and text.strip()]
