"""`graph-rag`: one search of the entity graph with the question, then the answer from what came back.

Structured retrieval of the HippoRAG and LinearRAG family, without an LM at indexing: `retrievers/graph.py` says how the
graph is made and searched. Its search stands where `vanilla-rag` has the semantic one: it is no loop, its k is the
run's, and nothing else differs. The graph is made at the first search where the index has none yet.
"""

from .baseline import Baseline, Gathering
from .question import QuestionState
from .transcript import Transcript


class GraphRAG(Baseline):
    """Searches the entity graph once and answers."""

    def gather(self, state: QuestionState, question: str, transcript: Transcript) -> Gathering:
        """Search once with the question."""
        result = yield from state.search("graph_search", state.question, None)
        transcript.observe(result)
        return "answered"
