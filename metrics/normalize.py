"""Answer normalisation as the field's official scripts do it."""

import re
import string

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = frozenset(string.punctuation)


def normalize(text: str) -> str:
    """Lower case, without punctuation and the articles a, an, the, white space squeezed.

    The same four steps in the same order as `normalize_answer` of SQuAD v1.1 (`evaluate-v1.1.py`, Rajpurkar et al.
    2016), which HotpotQA (`hotpot_evaluate_v1.py`), 2WikiMultiHopQA (`2wikimultihop_evaluate.py`) and MuSiQue
    (`metrics/answer.py`) copy. Like theirs, punctuation is that of ASCII and is deleted, not replaced by a space
    ("Anglo-Saxon" becomes "anglosaxon"); accents stay.
    """
    text = "".join(character for character in text.lower() if character not in _PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())


def same_as_written(gold: str, answer: str) -> bool:
    """Whether an answer is the gold, case folded: how golds are compared that normalisation leaves empty ("A")."""
    folded = gold.strip().casefold()
    return bool(folded) and folded == answer.strip().casefold()
