"""Contain-match: the gold answer stands in the short answer, as whole words in a row.

Policy: a yes/no gold matches only an answer that starts with it ("no" is inside "there is no record"). An abstention
never matches, whatever words it uses. A gold that normalisation leaves empty ("A", "The The") is compared as a whole,
case folded. Several golds are aliases of one answer: any of them will do.
"""

from collections.abc import Sequence
from typing import Any

from .example_fields import answer_of, golds_of
from .normalize import normalize, same_as_written

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
    golds, answer = golds_of(example), answer_of(prediction)
    return float(answer is not None and contain_match(golds, answer))


def _contains(gold: str, answer: str) -> bool:
    wanted, tokens = normalize(gold).split(), normalize(answer).split()
    if not wanted:
        return same_as_written(gold, answer)
    if len(wanted) == 1 and wanted[0] in _YES_NO:
        return tokens[:1] == wanted
    return any(tokens[start : start + len(wanted)] == wanted for start in range(len(tokens) - len(wanted) + 1))
