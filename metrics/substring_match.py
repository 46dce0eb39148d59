"""Substring match: the normalised gold is a substring of the normalised answer, inside words too.

The looser contain-match that A-RAG and LinearRAG publish, reported under its own name beside the token one: "19" is in
"1933" and "no" in "north". A blank answer or gold matches nothing, as there. Two policies differ from theirs: an
abstention never matches, and a gold that normalisation leaves empty ("A"), which would be a substring of every answer,
is compared as a whole, case folded. Several golds are aliases of one answer: any of them will do.
"""

from collections.abc import Iterable
from typing import Any

from .example_fields import answer_of, golds_of
from .normalize import normalize, same_as_written


def substring_match(golds: Iterable[str], answer: str, abstained: bool = False) -> bool:
    """Whether some gold is a substring of the answer, both normalised.

    Args:
        golds: The gold answer and its aliases; blank ones match nothing.
        answer: The short answer of the prediction.
        abstained: The prediction gives no answer.
    """
    return not abstained and any(_inside(gold, answer) for gold in golds)


def substring_metric(example: Any, prediction: Any, trace: Any = None) -> float:
    """Substring match as a plain DSPy metric: 1.0 or 0.0; it never raises.

    The golds are the example's `answers`, else its `answer`; a prediction without an answer gets 0.0.
    """
    golds, answer = golds_of(example), answer_of(prediction)
    return float(answer is not None and substring_match(golds, answer))


def _inside(gold: str, answer: str) -> bool:
    wanted = normalize(gold)
    return wanted in normalize(answer) if wanted else same_as_written(gold, answer)
