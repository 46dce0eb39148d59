"""Whether a text asks for a gold hop: its cosine to the hop's question, with the run's own encoder.

MuSiQue writes `#1` for the answer of an earlier hop; the substituted sub-question has that answer in its place.

`THRESHOLD` comes from the first 300 questions of our part of MuSiQue's train split, with MiniLM: two different hops of
one question reach it in 0.5 % of 379 pairs (median cosine 0.20, 99th percentile 0.63), a sub-question without its
question word in all of 637 (1st percentile 0.84). The whole question reaches it for 40 % of its hops: it restates the
last of them. Those rewordings are light; a heavy one can fall below, so "never asked for" is an upper bound.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..metrics.example_fields import field

#: Cosine from which on a text asks for a hop.
THRESHOLD = 0.7

Encode = Callable[[str], Any]
_EARLIER = re.compile(r"#(\d+)")


@dataclass(frozen=True, slots=True)
class GoldHop:
    """A hop as feedback speaks of it.

    Attributes:
        number: From 1.
        question: The sub-question with earlier gold answers in it; blank where the benchmark gives none.
        written: The sub-question as the benchmark writes it.
        title: Title of the gold passage; blank where unknown.
        passage_id: Id of the gold passage in the index; None where it is not mapped.
    """

    number: int
    question: str
    written: str
    title: str
    passage_id: str | None


def gold_hops(example: Any) -> list[GoldHop]:
    """The hops of an example: its decomposition, else one a supporting paragraph, without a question.

    Args:
        example: With `decomposition`, `supporting` and `supporting_ids` (passage ids in the index, in the order of
            `supporting`), as far as it has them.
    """
    supporting = list(field(example, "supporting") or ())
    ids = list(field(example, "supporting_ids") or ())
    hops = list(field(example, "decomposition") or ())

    def evidence(place: int | None) -> tuple[str, str | None]:
        if place is None or not 0 <= place < len(supporting):
            return "", None
        return str(supporting[place].get("title", "")), ids[place] if place < len(ids) else None

    if not hops:
        return [GoldHop(number, "", "", *evidence(number - 1)) for number in range(1, len(supporting) + 1)]
    answers = [str(hop.get("answer", "")) for hop in hops]
    found = []
    for number, hop in enumerate(hops, 1):
        written = str(hop.get("question", ""))
        found.append(GoldHop(number, substituted(written, answers), written, *evidence(hop.get("support"))))
    return found


def substituted(question: str, answers: Sequence[str]) -> str:
    """A sub-question with `#1`, `#2` … replaced by the answers of those hops; `a >> b` reads `a b`."""

    def earlier(match: re.Match[str]) -> str:
        place = int(match[1]) - 1
        return answers[place] if 0 <= place < len(answers) else match[0]

    return _EARLIER.sub(earlier, question).replace(" >> ", " ")


class AskedFor:
    """Matches texts with hops; each text is encoded once.

    Args:
        encode: Text to unit vector: the encoder of the index that is searched.
        threshold: Cosine from which on they match.
    """

    def __init__(self, encode: Encode, threshold: float = THRESHOLD) -> None:
        self._encode, self.threshold = encode, threshold
        self._vectors: dict[str, Any] = {}

    def close(self, text: str, question: str) -> bool:
        """Whether a text asks what a sub-question asks."""
        if not text.strip() or not question.strip():
            return False
        return float(self._vector(text) @ self._vector(question)) >= self.threshold

    def hop(self, hop: GoldHop, queries: Sequence[str], retrieved: Sequence[str]) -> bool:
        """Whether a hop was asked for: its gold passage was retrieved, or some query asks its question."""
        return hop.passage_id in retrieved or any(self.close(query, hop.question) for query in queries)

    def requirement(self, text: str, hops: Sequence[GoldHop]) -> bool:
        """Whether a requirement matches a hop, as substituted or as written: it may not know earlier answers yet."""
        return any(self.close(text, hop.question) or self.close(text, _EARLIER.sub("", hop.written)) for hop in hops)

    def _vector(self, text: str) -> Any:
        if text not in self._vectors:
            self._vectors[text] = self._encode(text)
        return self._vectors[text]

    def __deepcopy__(self, memo: dict[int, Any]) -> "AskedFor":
        return self
