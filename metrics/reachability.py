"""Could the gold passages have been found at all? Probes in grades, searched without an LM.

A probe is a query that a system might have asked, and its grade says how much it had to know:

0. the question;
1. the queries of peer systems on it;
2. its gold sub-questions, with gold earlier answers;
3. the passage's title;
4. the passage's first sentence.

Grades 0 to 2 could have been asked: what they retrieve and a system missed was *unasked*. Grades 3 and 4 know the
passage itself, so what only they retrieve is an *upper bound only*. What no probe retrieves is *not certified*, never
"unreachable". Grades and tools are kept apart, and a share is over the passages that have a probe of its grade.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from .statistics import Estimate, mean, proportion

SearchTool = Literal["semantic_search", "keyword_search"]
Grade = Literal[0, 1, 2, 3, 4]
Reach = Literal["unasked", "upper bound only", "not certified"]
Search = Callable[[SearchTool, str], Sequence[str]]
"""Gives the ids of the passages that a tool finds for a query, best first, at the audit's k."""

GRADES: tuple[Grade, ...] = (0, 1, 2, 3, 4)
ASKED: tuple[Grade, ...] = (0, 1, 2)
REACHES: tuple[Reach, ...] = ("unasked", "upper bound only", "not certified")


@dataclass(frozen=True, slots=True)
class Probe:
    """A query to try.

    Attributes:
        grade: How much it knows.
        query: Its text.
        passage_id: The one passage that it stands for (grades 3 and 4); None where it stands for all of the question.
        source: The peer whose query it is (grade 1); else blank.
    """

    grade: Grade
    query: str
    passage_id: str | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class ProbeHit:
    """A probe that retrieved the passage: by which tool, at which rank from 1."""

    grade: Grade
    tool: SearchTool
    query: str
    rank: int
    source: str = ""


@dataclass(frozen=True, slots=True)
class PassageReach:
    """What the probes found of one gold passage of one question.

    Attributes:
        question_id: Whose.
        hops: How many the benchmark counts.
        passage_id: Which.
        probed: The grades that had a probe for it, in order.
        hits: What retrieved it, in the order of the probes, tool by tool.
    """

    question_id: str
    hops: int
    passage_id: str
    probed: tuple[Grade, ...]
    hits: tuple[ProbeHit, ...]

    def found_by(self, tools: Collection[SearchTool]) -> tuple[Grade, ...]:
        """The grades of which some probe retrieved it with one of the tools, in order."""
        found = {hit.grade for hit in self.hits if hit.tool in tools}
        return tuple(grade for grade in GRADES if grade in found)

    def reach(self, tools: Collection[SearchTool]) -> Reach:
        """What a system that missed it could have done with these tools."""
        return reach_of(self.found_by(tools))


def reach_of(found: Iterable[Grade]) -> Reach:
    """What the grades that retrieved a passage make of it; the lowest decides."""
    lowest = min(found, default=None)
    if lowest is None:
        return "not certified"
    return "unasked" if lowest in ASKED else "upper bound only"


def probe_gold(
    question_id: str,
    hops: int,
    gold: Sequence[str],
    probes: Iterable[Probe],
    tools: Sequence[SearchTool],
    search: Search,
) -> list[PassageReach]:
    """Search with each probe of a question once a tool.

    Args:
        question_id: Whose.
        hops: How many the benchmark counts.
        gold: Its mapped gold passages, each once.
        probes: What to search with; blank queries are left out.
        tools: By which tools.
        search: Does the searching.

    Returns:
        One a gold passage, in their order.
    """
    asked = [probe for probe in probes if probe.query.strip()]
    hits: dict[str, list[ProbeHit]] = {passage_id: [] for passage_id in gold}
    for tool in tools:
        for probe in asked:
            for rank, passage_id in enumerate(search(tool, probe.query), start=1):
                if passage_id in hits and probe.passage_id in (None, passage_id):
                    hits[passage_id].append(ProbeHit(probe.grade, tool, probe.query, rank, probe.source))
    return [
        PassageReach(question_id, hops, passage_id, _probed(asked, passage_id), tuple(found))
        for passage_id, found in hits.items()
    ]


def _probed(probes: Iterable[Probe], passage_id: str) -> tuple[Grade, ...]:
    grades = {probe.grade for probe in probes if probe.passage_id in (None, passage_id)}
    return tuple(grade for grade in GRADES if grade in grades)


def share(
    passages: Sequence[PassageReach], grades: Collection[Grade], tools: Collection[SearchTool]
) -> Estimate | None:
    """The share of gold passages that some probe of these grades retrieves; None where none has such a probe.

    Its interval is Wilson's over passages; those of one question are not independent, so it is rather too narrow.
    """
    found = [bool(set(grades) & set(one.found_by(tools))) for one in passages if set(grades) & set(one.probed)]
    return proportion(sum(found), len(found))


def share_by_hops(
    passages: Sequence[PassageReach], grades: Collection[Grade], tools: Collection[SearchTool]
) -> dict[int, Estimate]:
    """The same share as a mean over questions, by hop count in order; questions without such a probe are left out."""
    questions: dict[tuple[int, str], list[bool]] = {}
    for one in passages:
        if set(grades) & set(one.probed):
            found = bool(set(grades) & set(one.found_by(tools)))
            questions.setdefault((one.hops, one.question_id), []).append(found)
    shares: dict[int, list[float]] = {}
    for (hops, _), answers in questions.items():
        shares.setdefault(hops, []).append(sum(answers) / len(answers))
    return {hops: estimate for hops in sorted(shares) if (estimate := mean(shares[hops])) is not None}


def count_reach(passages: Iterable[PassageReach], tools: Collection[SearchTool]) -> dict[Reach, int]:
    """How many passages are of each kind, had a system missed them all; the kinds in their order."""
    kinds = [one.reach(tools) for one in passages]
    return {kind: kinds.count(kind) for kind in REACHES}
