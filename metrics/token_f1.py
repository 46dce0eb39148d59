"""Token F1: the harmonic mean of precision and recall over the bags of normalised tokens, the best over the golds.

Two official definitions, chosen by the kind of benchmark:

- HotpotQA (`f1_score` of `hotpot_evaluate_v1.py`) and 2WikiMultiHopQA (`2wikimultihop_evaluate_v1.1.py`): 0 where
  either side is "yes", "no" or "noanswer" after normalisation and they differ; 0 where no token is shared, hence also
  where both sides are empty after normalisation (there exact match is 1 and F1 is 0).
- MuSiQue (`compute_f1` of `metrics/answer.py`, that of SQuAD 2.0), and every other benchmark: no rule for yes and no;
  where either side is empty after normalisation, 1 if both are and else 0.

An abstention gives no answer to compare: 0.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from .example_fields import answer_of, benchmark_of, golds_of
from .normalize import normalize

_HOTPOT_RULES = frozenset({"hotpotqa", "2wiki"})
_WHOLE_ANSWERS = frozenset({"yes", "no", "noanswer"})


def token_f1(golds: Iterable[str], answer: str, *, benchmark: str = "", abstained: bool = False) -> float:
    """The best token F1 over the golds, 0 to 1.

    Args:
        golds: The gold answer and its aliases; blank ones count nothing.
        answer: The short answer of the prediction.
        benchmark: The kind of benchmark; `hotpotqa` and `2wiki` follow the HotpotQA script, all others MuSiQue's.
        abstained: The prediction gives no answer.
    """
    if abstained:
        return 0.0
    score = _hotpot_f1 if benchmark in _HOTPOT_RULES else _squad_f1
    normalized = normalize(answer)
    return max((score(normalize(gold), normalized) for gold in golds if gold.strip()), default=0.0)


def f1_metric(example: Any, prediction: Any, trace: Any = None) -> float:
    """Token F1 as a plain DSPy metric, 0.0 to 1.0; it never raises.

    The golds are the example's `answers`, else its `answer`; its `benchmark`, where it has one, chooses the rules. A
    prediction without an answer gets 0.0.
    """
    golds, answer = golds_of(example), answer_of(prediction)
    return 0.0 if answer is None else token_f1(golds, answer, benchmark=benchmark_of(example))


def _hotpot_f1(gold: str, answer: str) -> float:
    if gold != answer and (gold in _WHOLE_ANSWERS or answer in _WHOLE_ANSWERS):
        return 0.0
    return _bag_f1(gold.split(), answer.split())


def _squad_f1(gold: str, answer: str) -> float:
    if not gold or not answer:
        return float(gold == answer)
    return _bag_f1(gold.split(), answer.split())


def _bag_f1(gold: list[str], answer: list[str]) -> float:
    shared = (Counter(gold) & Counter(answer)).total()
    if shared == 0:
        return 0.0
    precision, recall = shared / len(answer), shared / len(gold)
    return 2 * precision * recall / (precision + recall)
