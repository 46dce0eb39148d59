"""The metric that prompts are optimised by: a score, and for each step in words what went wrong.

The score is `ANSWER_WEIGHT` x contain-match + `EVIDENCE_WEIGHT` x evidence recall, 0 to 1, and the same whether a whole
question or one step is judged. Without a mapped gold passage it is contain-match alone. A prediction that failed
or cannot be read scores what it has; nothing here raises.
"""

import logging
from collections.abc import Sequence
from typing import Any

from ..metrics.contain_match import contain_match
from ..metrics.evidence_recall import evidence_recall
from ..metrics.example_fields import answer_of, field, golds_of, texts
from ..program.trajectory import RegisterStep, SearchStep, Step, load_trajectory
from .asked_for import AskedFor, Encode, GoldHop, gold_hops

logger = logging.getLogger(__name__)

ANSWER_WEIGHT = 0.5
EVIDENCE_WEIGHT = 0.5
#: A demonstration is worth showing from here on: a right answer with at least half of its evidence.
DEMO_THRESHOLD = 0.75


class FeedbackMetric:
    """The metric, for every optimiser.

    Called with a program's prediction it gives `dspy.Prediction(score, feedback)`, as GEPA wants; `score` gives the
    number, as the others want.

    Args:
        encode: The encoder of the index that is searched: text to unit vector.
    """

    def __init__(self, encode: Encode) -> None:
        self._asked = AskedFor(encode)

    def __call__(self, gold: Any, pred: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None) -> Any:
        """Score and feedback: of the step `pred_name`, or of all steps where none is named."""
        import dspy

        said = self.feedback(gold, pred)
        if pred_name is None:
            lines = [f"{name}: {line}" for name in sorted(said) for line in said[name]]
        else:
            lines = said.get(str(pred_name), [])
        score = self.score(gold, pred)
        words = "\n".join(lines) or f"Nothing to object to in this step; the question scored {score:.2f}."
        return dspy.Prediction(score=score, feedback=words)

    def score(self, example: Any, prediction: Any, trace: Any = None) -> float:
        """The score, 0 to 1."""
        right = self._right(example, prediction)
        recall = evidence_recall(texts(field(example, "gold_ids")), texts(field(prediction, "retrieved_ids")))
        return float(right) if recall is None else ANSWER_WEIGHT * right + EVIDENCE_WEIGHT * recall

    def feedback(self, example: Any, prediction: Any) -> dict[str, list[str]]:
        """What went wrong, by predictor name; a step without a fault is left out."""
        steps = _steps(prediction)
        hops, gold = gold_hops(example), set(texts(field(example, "gold_ids")))
        retrieved = texts(field(prediction, "retrieved_ids"))
        said = {
            "initialize": self._strangers(steps, hops),
            "write_query": self._unasked(steps, hops, retrieved) + _repeats(steps),
            "update": _false_resolutions(steps, gold),
        }
        unasked = [line for line in said["write_query"] if "never asked for" in line]
        said["select"] = [f"{line} Choose the requirement that leads there." for line in unasked]
        if not self._right(example, prediction):
            said["answer"] = said["force_answer"] = [_wrong(example, prediction, gold, retrieved)]
        return {name: lines for name, lines in said.items() if lines}

    def _right(self, example: Any, prediction: Any) -> bool:
        answer = answer_of(prediction)
        return answer is not None and contain_match(golds_of(example), answer)

    def _unasked(self, steps: Sequence[Step], hops: Sequence[GoldHop], retrieved: Sequence[str]) -> list[str]:
        queries = [step.query for step in steps if isinstance(step, SearchStep) and step.tool != "read_passages"]
        return [
            f"Hop {hop.number} was never asked for{f': {hop.question!r}' if hop.question else ''}"
            f"{f' (its evidence is in the passage {hop.title!r})' if hop.title else ''}."
            for hop in hops
            if (hop.question or hop.passage_id) and not self._asked.hop(hop, queries, retrieved)
        ]

    def _strangers(self, steps: Sequence[Step], hops: Sequence[GoldHop]) -> list[str]:
        """Initial requirements that match no gold sub-question; none where the benchmark gives no sub-questions."""
        if not any(hop.question for hop in hops):
            return []
        first = next((step for step in steps if isinstance(step, RegisterStep) and step.cause == "initialize"), None)
        wanted = "; ".join(hop.question for hop in hops if hop.question)
        return [
            f"The requirement {item.id} ({item.text!r}) matches no fact that the answer needs; needed are: {wanted}."
            for item in (first.changed if first else ())
            if not self._asked.requirement(item.text, hops)
        ]


def _repeats(steps: Sequence[Step]) -> list[str]:
    return [
        f"The query {step.query!r} (loop {step.loop}) repeated an old one: it found nothing new."
        for step in steps
        if isinstance(step, SearchStep) and step.repeated
    ]


def _false_resolutions(steps: Sequence[Step], gold: set[str]) -> list[str]:
    """Requirements that stand resolved at the end on support without a gold passage; none where no gold is known."""
    if not gold:
        return []
    items = {item.id: item for step in steps if isinstance(step, RegisterStep) for item in step.changed}
    titles = {found.passage_id: found.title for step in steps if isinstance(step, SearchStep) for found in step.found}
    return [
        f"{item.id} ({item.text!r}) was resolved as {item.answer!r} on passages that hold no gold evidence: "
        f"{', '.join(repr(titles.get(one, one)) for one in item.support)}."
        for item in items.values()
        if item.status == "resolved" and not gold.intersection(item.support)
    ]


def _wrong(example: Any, prediction: Any, gold: set[str], retrieved: Sequence[str]) -> str:
    given = answer_of(prediction)
    golds = golds_of(example)
    said = f"The answer was {given!r}" if given is not None else "No answer was given"
    found = f"; {len(gold.intersection(retrieved))} of its {len(gold)} gold passages were retrieved" if gold else ""
    return f"{said}; right is {golds[0] if golds else ''!r}{found}."


def _steps(prediction: Any) -> list[Step]:
    try:
        return load_trajectory(field(prediction, "trajectory") or ())
    except Exception:  # a failed prediction, or that of a foreign program, has none
        logger.debug("a prediction without a readable trajectory")
        return []
