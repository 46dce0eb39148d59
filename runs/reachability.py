"""The reachability audit of a benchmark over an index: probes made from its gold, searched without an LM.

Sub-questions come from the benchmark's decomposition, `#1`, `#2`, … replaced by the gold answers of earlier hops; those
of 2Wiki are subject and relation; HotpotQA has none. Peers' queries come from run folders and are searched anew, so a
peer may have used another index. A peer's search with the question itself is grade 0 and not counted again as its own.
Nothing is kept between calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UserError
from ..metrics.certified import SEARCHES
from ..metrics.reachability import PassageReach, Probe, SearchTool, probe_gold
from ..retrievers.chunking import sentences
from ..retrievers.text import squeeze
from .benchmarks.gold import GoldMapping
from .benchmarks.record import BenchmarkQuestion, SubQuestion
from .run_folder import RunFolder

if TYPE_CHECKING:
    from ..retrievers.index import Index

_EARLIER = re.compile(r"#([1-9][0-9]*)")


@dataclass(frozen=True)
class Peer:
    """A run whose queries are tried.

    Attributes:
        name: What reports call it: its system and its folder.
        queries: What it searched for, each once, by question id.
    """

    name: str
    queries: Mapping[str, tuple[str, ...]]


def load_peer(path: Path, questions: Iterable[BenchmarkQuestion]) -> Peer:
    """Read the searches of a run; reads of passages are no queries.

    Raises:
        UserError: No run there, or not one of these questions is in it as it is asked here.
    """
    folder = RunFolder.open(path)
    asked = {question.id: question.question for question in questions}
    records = [record for record in folder.records() if asked.get(record.id) == record.question]
    if not records:
        raise UserError(f"{path}: none of its finished questions is in the benchmark; give runs of the same benchmark")
    queries = {
        record.id: tuple(dict.fromkeys(step.query for step in record.searches if step.tool in SEARCHES))
        for record in records
    }
    return Peer(f"{folder.settings.get('system') or records[0].system} ({path})", queries)


def sub_questions(question: BenchmarkQuestion) -> list[str]:
    """The gold sub-questions as one who knew the earlier answers would ask them, in order."""
    hops = question.decomposition
    return [_asked(hop, hops[:place]) for place, hop in enumerate(hops)]


def _asked(hop: SubQuestion, earlier: Sequence[SubQuestion]) -> str:
    """The sub-question with gold answers; a number that is no earlier hop's stands as it is ("the #1 hit")."""

    def answer(found: re.Match[str]) -> str:
        number = int(found[1])
        return earlier[number - 1].answer if number <= len(earlier) else found[0]

    return _EARLIER.sub(answer, hop.question)


def make_probes(
    question: BenchmarkQuestion, gold: Iterable[str], index: Index, peers: Iterable[Peer] = ()
) -> list[Probe]:
    """All probes of a question, by grade.

    Args:
        question: Whose.
        gold: Its mapped gold passages.
        index: Holds them.
        peers: Whose queries are tried.
    """
    probes = [Probe(0, question.question)]
    own = squeeze(question.question)
    for peer in peers:
        probes += [
            Probe(1, query, source=peer.name) for query in peer.queries.get(question.id, ()) if squeeze(query) != own
        ]
    probes += [Probe(2, asked) for asked in sub_questions(question)]
    for passage_id in gold:
        passage = index.passage(passage_id)
        probes.append(Probe(3, passage.title, passage_id))
        probes += [Probe(4, first.strip(), passage_id) for first in sentences(passage.text)[:1]]
    return [probe for probe in probes if probe.query.strip()]


def audit(
    questions: Sequence[BenchmarkQuestion],
    index: Index,
    gold: GoldMapping,
    *,
    k: int = 5,
    tools: Sequence[SearchTool] = ("semantic_search", "keyword_search"),
    peers: Sequence[Peer] = (),
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[PassageReach]:
    """Probe each mapped gold passage of each question.

    Args:
        questions: Whose gold.
        index: What is searched.
        gold: Their gold passages in it; unmapped ones cannot be probed and are left out.
        k: How many passages a search returns.
        tools: By which tools, each apart.
        peers: Whose queries are grade 1.
        progress: Called with (done, total) of the questions.
    """

    def search(tool: SearchTool, query: str) -> list[str]:
        find = index.semantic_search if tool == "semantic_search" else index.keyword_search
        return [match.passage_id for match in find(query, k)]

    found: list[PassageReach] = []
    for done, question in enumerate(questions, start=1):
        wanted = gold.gold_ids(question.id)
        if wanted:
            probes = make_probes(question, wanted, index, peers)
            found += probe_gold(question.id, question.hops, wanted, probes, tools, search)
        progress(done, len(questions))
    return found
