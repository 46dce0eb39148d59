"""Evidence recall: how much of the gold evidence was retrieved.

It is over the gold passages that the corpus holds (those that could be mapped to a passage id): an unmapped one is no
fault of retrieval. Retrieved means that any tool returned the passage, as a snippet or in full.
"""

from collections.abc import Iterable, Sequence


def evidence_recall(gold_ids: Iterable[str], retrieved_ids: Iterable[str]) -> float | None:
    """The share, 0 to 1, of the distinct gold passages that were retrieved; None where there is no gold passage."""
    gold = set(gold_ids)
    return len(gold.intersection(retrieved_ids)) / len(gold) if gold else None


def found_by_hop(hop_ids: Sequence[str | None], retrieved_ids: Iterable[str]) -> tuple[bool | None, ...]:
    """For each hop in order, whether its gold passage was retrieved; None where it could not be mapped."""
    retrieved = set(retrieved_ids)
    return tuple(None if hop is None else hop in retrieved for hop in hop_ids)
