"""`a-rag`: the agentic baseline. An agent chooses freely among three tools until it answers; no register steers it.

As published: the three tools, any number of calls in a turn, at most 15 turns, of which the answering one is one,
128,000 tokens checked before each turn, and at a limit one message that forces the answer, tools off. Neither nudge nor
delta nor seed search; repeated queries are searched again. A turn that makes no call is the answering one, and so is
one whose reply cannot be read. At sentence granularity searches show snippets, and `read_passages` the text.

The transcript (thoughts, calls, what came back) only grows. It counts once, as it is appended, as the published agent
counts its list of messages. The answer comes in a reply of its own, in the signature of all systems, and sees the
agent's thoughts and every passage as it was shown.
"""

from typing import Any

import dspy

from ..retrievers.index import Index
from ..signatures.choose_action import ChooseAction
from ..signatures.force_answer import ForceAnswer
from .baseline import Baseline, Gathering
from .evidence import read_query
from .question import QuestionState
from .transcript import Transcript


class ARAG(Baseline):
    """Answers by free choice among the tools; a loop is one turn of the model. `deduplicate` is off, as published."""

    def __init__(self, index: Index, *, deduplicate: bool = False, **settings: Any) -> None:
        super().__init__(index, deduplicate=deduplicate, **settings)
        self.choose_action = dspy.Predict(ChooseAction)
        self.force_answer = dspy.Predict(ForceAnswer)

    def gather(self, state: QuestionState, question: str, transcript: Transcript) -> Gathering:
        """Take turns until one makes no call."""
        while (limit := state.budget.exceeded) is None:
            state.loop = state.budget.loops + 1
            outputs = yield from state.ask("choose_action", question=question, transcript=transcript.text)
            state.budget.loops += 1
            if outputs is None:
                return "answered"
            transcript.think(str(outputs["reasoning"] or ""))
            if not outputs["calls"]:
                return "answered"
            for call in outputs["calls"]:
                tool, query = read_query(call.tool, call.query)
                result = yield from state.search(tool, query, None)
                transcript.observe(result)
        return limit
