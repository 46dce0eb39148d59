"""`ircot`: interleaved reasoning and retrieval (Trivedi et al., arXiv:2212.10509).

A search with the question, then in turn one sentence of reasoning from what was found so far and a search with that
sentence, until the reasoning is finished. The answer is read from the collected passages alone, as published: the
thoughts chose them and are not shown to the reader. The limits are those of all systems here (loops, context tokens)
in place of the published 8 sentences and 15 paragraphs, and prompts hold no demonstrations.
"""

from typing import Any

import dspy

from ..retrievers.index import Index
from ..signatures.force_answer import ForceAnswer
from ..signatures.next_thought import NextThought
from .baseline import Baseline, Gathering
from .evidence import NONE, read_query
from .question import QuestionState
from .transcript import Transcript


class IRCoT(Baseline):
    """Searches with each sentence of a growing chain of thought. A loop is one thought, with its search if it has one.

    A thought that could not be read, or is blank, ends the reasoning: there is nothing to search for.
    """

    def __init__(self, index: Index, **settings: Any) -> None:
        super().__init__(index, **settings)
        self.next_thought = dspy.Predict(NextThought)
        self.force_answer = dspy.Predict(ForceAnswer)

    def gather(self, state: QuestionState, question: str, transcript: Transcript) -> Gathering:
        """Alternate thoughts and searches."""
        seed = yield from state.search("semantic_search", state.question, None)
        transcript.observe(seed)
        while (limit := state.budget.exceeded) is None:
            state.loop = state.budget.loops + 1
            outputs = yield from state.ask("next_thought", question=question, transcript=transcript.text)
            state.budget.loops += 1
            _, query = read_query("semantic_search", str(outputs["thought"])) if outputs is not None else (None, "")
            if outputs is not None and not query:
                state.fail("next_thought", "blank thought; the reasoning ends")
            if outputs is None or outputs["finished"] or not query:
                return "answered"
            transcript.think(query)
            result = yield from state.search("semantic_search", query, None)
            transcript.observe(result, only_new=True)
        return limit

    def answer_inputs(self, question: str, transcript: Transcript, shown: Any) -> dict[str, str]:
        """The collected passages, without the thoughts."""
        return {**super().answer_inputs(question, transcript, shown), "findings": NONE}
