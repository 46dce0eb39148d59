"""The LM-free check of a retriever on a benchmark: what searching with the question alone finds of the gold.

It needs no LM and depends on nothing but encoder, corpus, tool and k, so that two setups can be told to be the same
before an expensive run. Questions without a mapped gold passage are left out; n says how many are in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ...metrics.evidence_recall import evidence_recall
from ...metrics.statistics import Estimate, mean
from .gold import GoldMapping
from .record import BenchmarkQuestion

if TYPE_CHECKING:
    from ...retrievers.index import Index, Match

SearchTool = Literal["semantic", "keyword", "graph"]


@dataclass(frozen=True, slots=True)
class QuestionRecall:
    """Mean evidence recall of one search with the question alone.

    Attributes:
        tool: What searched.
        k: How many passages a search returns.
        overall: Over all questions with mapped gold; None where there are none.
        by_hops: By hop count, in order.
    """

    tool: SearchTool
    k: int
    overall: Estimate | None
    by_hops: dict[int, Estimate]


def question_recall(
    questions: Sequence[BenchmarkQuestion],
    index: Index,
    gold: GoldMapping,
    *,
    tool: SearchTool = "semantic",
    k: int = 5,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> QuestionRecall:
    """Search with each question once and compare with its gold.

    Args:
        questions: What to search with.
        index: Where.
        gold: Their gold passages in it.
        tool: What searches: semantic or keyword search, or that of the entity graph.
        k: How many passages a search returns.
        progress: Called with (done, total).
    """
    search = _search(index, tool)
    recalls: dict[int, list[float]] = {}
    for done, question in enumerate(questions, start=1):
        wanted = gold.gold_ids(question.id)
        if wanted:
            found = [match.passage_id for match in search(question.question, k)]
            recalls.setdefault(question.hops, []).append(evidence_recall(wanted, found) or 0.0)
        progress(done, len(questions))
    every = mean([recall for group in recalls.values() for recall in group])
    by_hops = {hops: estimate for hops in sorted(recalls) if (estimate := mean(recalls[hops])) is not None}
    return QuestionRecall(tool, k, every, by_hops)


def _search(index: Index, tool: SearchTool) -> Callable[[str, int], list[Match]]:
    searches = {"semantic": index.semantic_search, "keyword": index.keyword_search, "graph": index.graph_search}
    return searches[tool]
