"""A question of many loops, and what each of its loops takes of our CPU.

Its reader plans as many requirements as a register holds. Each takes two loops: the first finds a tentative value, the
second settles it, with a query of its own. So all that a loop shows and keeps grows until the last.
"""

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from time import thread_time
from typing import Any

import dspy

from ...program.register import MAX_ITEMS
from ...program.systems import make_system
from ..benchmarks.minihop import MiniHop
from .predictor_cpu import PredictorCpu
from .reader import Reader
from .workload import SYSTEM, ReaderEngine, TimedIndex, scripted_lm

LOOPS = 2 * MAX_ITEMS
QUESTION = "What do all of these have in common?"


@dataclass(frozen=True)
class Loop:
    """What lies between the query of one loop and that of the next.

    Attributes:
        calls: LM calls in it.
        ours: Seconds of CPU outside DSPy's predictors, the LM, retrieval and encoding.
        dspys: Seconds of CPU inside DSPy's predictors, the LM left out.
    """

    calls: int
    ours: float
    dspys: float


class LongReader(Reader):
    """Replies that use every loop; the same prompt always has the same one."""

    def __init__(self) -> None:
        """Plan the first sub-questions of MiniHop, which stand on their own."""
        hops = [hop.question for question in MiniHop.dev for hop in question.decomposition[:1]]
        self._plan = list(dict.fromkeys(re.sub(r"#\d+", "it", hop) for hop in hops))[:MAX_ITEMS]

    def outputs(self, step: str, inputs: Mapping[str, str]) -> dict[str, Any]:
        """The output fields of a step."""
        tentative = "tentative answer: " in inputs.get("target", "")
        asked = inputs.get("target", "R1: ").splitlines()[0].split(": ", 1)
        if step == "initialize":
            items = [{"text": text, "needs": [], "support": [], "answer": ""} for text in self._plan]
            return {"inner_description": "as read", "one_hop_questions": self._plan, "requirements": items}
        if step == "select":
            return {"reasoning": "the first", "selected_id": inputs["open_ids"].split(",")[0]}
        if step == "write_query":
            query = f"{asked[1]} Once more, with its date and place." if tentative else asked[1]
            return {"missing": "all of it", "query": query, "tool": "semantic_search"}
        if step == "update":
            settled = {
                "requirement": asked[0],
                "note": f"as the passages say of {asked[0]}",
                "support": re.findall(r"(?m)^\[(P\d+)\]", inputs["new_passages"])[:1],
                "answer": f"the value of {asked[0]}",
                "status": "resolved" if tentative else "open",
                "reason": "",
            }
            return {"updates": [settled], "new_requirements": []}
        return {"explanation": "From [P1].", "abstained": "false", "answer": "a value"}


def long_question(index: TimedIndex) -> list[Loop]:
    """Answer the question once, under the settings of an evaluation; its loops in order, the last left out.

    The last ends with the answering step, which no other loop has.
    """
    engine = ReaderEngine(LongReader())
    marks: list[tuple[int, float, float]] = []

    def entered(predictor: dspy.Predict) -> None:
        if "query" in predictor.signature.output_fields:
            ours = thread_time() - predictors.cpu - index.cpu
            marks.append((predictors.calls, ours, predictors.cpu - engine.cpu))

    program = make_system(SYSTEM, index, max_loops=LOOPS)  # type: ignore[arg-type]
    with (
        PredictorCpu(entered) as predictors,
        dspy.context(lm=scripted_lm(engine), adapter=dspy.ChatAdapter(), max_history_size=16, trace=None),
    ):
        program(question=QUESTION)
    return [
        Loop(*(later - earlier for earlier, later in zip(*pair, strict=True)))  # type: ignore[arg-type]
        for pair in itertools.pairwise(marks)
    ]
