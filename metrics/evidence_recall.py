"""Evidence recall: how much of the gold evidence was retrieved.

It is over the gold passages that the corpus holds (those that could be mapped to a passage id): an unmapped one is no
fault of retrieval. Retrieved means that any tool returned the passage, as a snippet or in full.
"""

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from .example_fields import field, texts

logger = logging.getLogger(__name__)


def evidence_recall(gold_ids: Iterable[str], retrieved_ids: Iterable[str]) -> float | None:
    """The share, 0 to 1, of the distinct gold passages that were retrieved; None where there is no gold passage."""
    gold = set(gold_ids)
    return len(gold.intersection(retrieved_ids)) / len(gold) if gold else None


def found_by_hop(hop_ids: Sequence[str | None], retrieved_ids: Iterable[str]) -> tuple[bool | None, ...]:
    """For each hop in order, whether its gold passage was retrieved; None where it could not be mapped."""
    retrieved = set(retrieved_ids)
    return tuple(None if hop is None else hop in retrieved for hop in hop_ids)


def evidence_recall_metric(example: Any, prediction: Any, trace: Any = None) -> float:
    """Evidence recall as a plain DSPy metric, 0.0 to 1.0; it never raises.

    The gold passages are the example's `gold_ids`, ids in the index that the program searches; those retrieved are the
    prediction's `retrieved_ids`. A prediction without them gets 0.0; so does an example without gold, which is logged.
    """
    recall = evidence_recall(texts(field(example, "gold_ids")), texts(field(prediction, "retrieved_ids")))
    if recall is None:
        logger.warning("scored 0: the example has no gold passage in `gold_ids`")
    return recall or 0.0
