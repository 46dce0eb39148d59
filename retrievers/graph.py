"""The entity graph of a corpus: passages joined to the entities that they name, searched by personalised PageRank.

Of the HippoRAG and LinearRAG family, without an LM. Nodes are the passages and the entities (`entities.py`). An edge
says that a passage names an entity, or has it as its title, and weighs more the rarer the entity is. No edge joins
passages by their place in the corpus: benchmarks lay the gold passages of a question side by side.

The walk restarts at the question's seeds with the rule of HippoRAG 2 (arXiv:2502.14802): at entities by their
specificity, 1 / the number of their passages, and at every passage by its similarity to the question, scaled from 0
to 1, times a small weight. What differs: the entities are those that the question names, not those of LM-made facts;
their restarts sum to 1 whatever their number; and the small weight is 0.01 for 0.05. That weight and the one of titles
were chosen on 310 of MuSiQue's train questions. Where the question names no entity, the passages alone are seeds.

A score is the passage's PageRank as a share of the best passage's, rounded to 1e-5; equal ones go by id.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .entities import Casing, entity_keys, named_in, title_keys
from .passage import Passage
from .ranking import DECIMALS, rank
from .titles import TitleFinder

if TYPE_CHECKING:
    import numpy as np

#: How often the walk goes on along an edge rather than restarting: HippoRAG 2's and LinearRAG's.
DAMPING = 0.5
#: The restart of the passage most similar to the question, where the question's entities together have 1.
PASSAGE_WEIGHT = 0.01
#: How much more the edge to its title's entity weighs than one to an entity in the text.
TITLE_WEIGHT = 3.0


@dataclass(frozen=True, eq=False)
class EntityGraph:
    """The edges between the passages of an index, by row, and their entities. Read-only, safe from many threads.

    Attributes:
        passages: How many passages.
        entities: The keys of the entities, sorted.
        edges: (passage row, place of the entity) an edge, int32 of shape (edges, 2), sorted.
        weights: Of the edges, float64 of shape (edges,).
    """

    passages: int
    entities: Sequence[str]
    edges: "np.ndarray"
    weights: "np.ndarray"

    def search(self, question: str, similarities: "np.ndarray", k: int) -> list[tuple[int, float]]:
        """The best `k` passages as (row, score), best first.

        Args:
            question: Its entities are seeds.
            similarities: Of each passage to the question, of shape (passages,).
            k: How many.
        """
        import numpy as np

        restarts = self._restarts(question, similarities)
        if not restarts.any():
            return []
        ranks = self._graph.personalized_pagerank(
            damping=DAMPING, directed=False, weights="weight", reset=restarts.tolist(), implementation="prpack"
        )
        scores = np.array(ranks[: self.passages])
        return rank(np.arange(self.passages), scores / scores.max(), k)

    def named(self, question: str) -> list[str]:
        """The entities that a question names, in its order."""
        return named_in(question, self._places)

    def _restarts(self, question: str, similarities: "np.ndarray") -> "np.ndarray":
        import numpy as np

        restarts = np.zeros(self.passages + len(self.entities))
        # Rounded as every score is, so that the last bits of a vector decide nothing.
        near = np.round(similarities.astype(np.float64), DECIMALS)
        spread = near.max() - near.min()
        restarts[: self.passages] = PASSAGE_WEIGHT * ((near - near.min()) / spread if spread else 1.0)
        places = [self._places[key] for key in self.named(question)]
        if places:
            specific = 1.0 / self._frequencies[places]
            restarts[[self.passages + place for place in places]] = specific / specific.sum()
        return restarts

    @cached_property
    def _places(self) -> dict[str, int]:
        return {key: place for place, key in enumerate(self.entities)}

    @cached_property
    def _frequencies(self) -> "np.ndarray":
        import numpy as np

        return np.bincount(self.edges[:, 1], minlength=len(self.entities))

    @cached_property
    def _graph(self) -> Any:
        import igraph
        import numpy as np

        ends = self.edges.astype(np.int64) + np.array([0, self.passages])
        graph = igraph.Graph(n=self.passages + len(self.entities), edges=ends.tolist())
        graph.es["weight"] = self.weights.tolist()
        return graph

    def prepare(self) -> "EntityGraph":
        """Make what searches need, so that threads need not; gives the graph itself."""
        _ = self._places, self._frequencies, self._graph
        return self


def build(passages: Sequence[Passage]) -> EntityGraph:
    """Make the graph of passages, which must be in the order of their ids."""
    import numpy as np

    casing = Casing()
    for passage in passages:
        casing.add(passage.text)
    titles = TitleFinder(key for passage in passages for key in title_keys(passage.title))
    named: list[dict[str, float]] = []
    for passage in passages:
        weights = dict.fromkeys([*entity_keys(passage.text, casing), *titles.find(passage.text)], 1.0)
        named.append(weights | dict.fromkeys(title_keys(passage.title), TITLE_WEIGHT))
    frequencies = Counter(key for weights in named for key in weights)
    entities = sorted(frequencies)
    places = {key: place for place, key in enumerate(entities)}
    edges = sorted((row, places[key], weight) for row, weights in enumerate(named) for key, weight in weights.items())
    rarity = {places[key]: np.log1p(len(passages) / count) for key, count in frequencies.items()}
    return EntityGraph(
        passages=len(passages),
        entities=entities,
        edges=np.array([(row, place) for row, place, _ in edges], dtype=np.int32).reshape(-1, 2),
        weights=np.array([weight * rarity[place] for _, place, weight in edges], dtype=np.float64),
    )
