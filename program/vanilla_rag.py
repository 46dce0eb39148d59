"""`vanilla-rag`: one semantic search with the question, then the answer from what came back.

Its search is the seed search of ExecutionRAG (loop 0): it is no loop, and no limit of loops forbids it. At sentence
granularity it answers from snippets, for it makes no second call.
"""

from .baseline import Baseline, Gathering
from .question import QuestionState
from .transcript import Transcript


class VanillaRAG(Baseline):
    """Retrieves the top k once and answers."""

    def gather(self, state: QuestionState, question: str, transcript: Transcript) -> Gathering:
        """Search once with the question."""
        result = yield from state.search("semantic_search", state.question, None)
        transcript.observe(result)
        return "answered"
