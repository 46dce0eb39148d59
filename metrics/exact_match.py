"""Exact match: the answer equals a gold answer after normalisation.

`compute_exact` of MuSiQue (`metrics/answer.py`, from SQuAD 2.0), and `exact_match_score` of HotpotQA
(`hotpot_evaluate_v1.py`) and 2WikiMultiHopQA (`2wikimultihop_evaluate_v1.1.py`): all of them compare
`normalize_answer` of both sides, the best over the gold answers where there are several. So "A" and "the", both empty
after normalisation, are equal, as they are there. An abstention gives no answer to compare and never matches.
"""

from collections.abc import Iterable
from typing import Any

from .example_fields import answer_of, golds_of
from .normalize import normalize


def exact_match(golds: Iterable[str], answer: str, abstained: bool = False) -> bool:
    """Whether the answer equals some gold after normalisation.

    Args:
        golds: The gold answer and its aliases; blank ones match nothing.
        answer: The short answer of the prediction.
        abstained: The prediction gives no answer.
    """
    normalized = normalize(answer)
    return not abstained and any(gold.strip() and normalize(gold) == normalized for gold in golds)


def exact_match_metric(example: Any, prediction: Any, trace: Any = None) -> float:
    """Exact match as a plain DSPy metric: 1.0 or 0.0; it never raises.

    The golds are the example's `answers`, else its `answer`; a prediction without an answer gets 0.0.
    """
    golds, answer = golds_of(example), answer_of(prediction)
    return float(answer is not None and exact_match(golds, answer))
