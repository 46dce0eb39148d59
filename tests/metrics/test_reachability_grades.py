"""Grades of gold passages: which probe of which tool retrieves what, and what that makes of a missed passage."""

import pytest

from executionrag.metrics.reachability import (
    PassageReach,
    Probe,
    ProbeHit,
    count_reach,
    probe_gold,
    reach_of,
    share,
    share_by_hops,
)

SEMANTIC, KEYWORD = "semantic_search", "keyword_search"
PROBES = [
    Probe(0, "the question"),
    Probe(1, "a peer's", source="a-rag (x)"),
    Probe(2, "sub-question"),
    Probe(3, "Ana Kell", "ana"),
    Probe(4, "Salt is an opera.", "salt"),
    Probe(3, "  ", "salt"),
]
FOUND = {
    (SEMANTIC, "the question"): ["salt", "mill"],
    (SEMANTIC, "sub-question"): ["mill", "ana"],
    (SEMANTIC, "Ana Kell"): ["ana", "salt"],
    (KEYWORD, "a peer's"): ["mill", "salt"],
    (KEYWORD, "Ana Kell"): ["ana"],
}


def probed(tools=(SEMANTIC, KEYWORD)):
    return probe_gold("q", 2, ["salt", "ana"], PROBES, tools, lambda tool, query: FOUND.get((tool, query), []))


def test_each_hit_keeps_its_grade_tool_rank_and_peer():
    salt, ana = probed()
    assert salt.hits == (ProbeHit(0, SEMANTIC, "the question", 1), ProbeHit(1, KEYWORD, "a peer's", 2, "a-rag (x)"))
    assert ana.hits == (
        ProbeHit(2, SEMANTIC, "sub-question", 2),
        ProbeHit(3, SEMANTIC, "Ana Kell", 1),
        ProbeHit(3, KEYWORD, "Ana Kell", 1),
    )


def test_a_title_stands_for_its_own_passage_only_and_a_blank_one_is_no_probe():
    salt, ana = probed()
    assert salt.probed == (0, 1, 2, 4)
    assert ana.probed == (0, 1, 2, 3)
    assert 3 not in salt.found_by([SEMANTIC, KEYWORD])


def test_tools_are_told_apart():
    salt, ana = probed()
    assert (salt.found_by([SEMANTIC]), salt.found_by([KEYWORD])) == ((0,), (1,))
    assert (ana.reach([SEMANTIC]), ana.reach([KEYWORD])) == ("unasked", "upper bound only")
    assert [one.hits for one in probed([KEYWORD])][1] == (ProbeHit(3, KEYWORD, "Ana Kell", 1),)


@pytest.mark.parametrize(
    ("found", "reach"),
    [
        ([], "not certified"),
        ([0], "unasked"),
        ([1], "unasked"),
        ([2, 3, 4], "unasked"),
        ([3], "upper bound only"),
        ([4], "upper bound only"),
    ],
)
def test_the_lowest_grade_decides(found, reach):
    assert reach_of(found) == reach


def passage(question, hops, name, probed, *grades):
    return PassageReach(question, hops, name, probed, tuple(ProbeHit(grade, SEMANTIC, "q", 1) for grade in grades))


PASSAGES = [
    passage("q1", 2, "a", (0, 2, 3, 4), 2),
    passage("q1", 2, "b", (0, 2, 3, 4), 4),
    passage("q2", 2, "a", (0, 2, 3, 4), 0, 2),
    passage("q3", 4, "c", (0, 3, 4)),
]


def test_a_share_is_over_the_passages_with_such_a_probe():
    assert (share(PASSAGES, [2], [SEMANTIC]).value, share(PASSAGES, [2], [SEMANTIC]).n) == (2 / 3, 3)
    assert (share(PASSAGES, [0, 2], [SEMANTIC]).value, share(PASSAGES, [0, 2], [SEMANTIC]).n) == (0.5, 4)
    assert share(PASSAGES, [2], [KEYWORD]).value == 0
    assert share(PASSAGES, [1], [SEMANTIC]) is None


def test_by_hops_each_question_counts_once():
    two = share_by_hops(PASSAGES, [2], [SEMANTIC])
    assert {hops: (one.value, one.n) for hops, one in two.items()} == {2: (0.75, 2)}
    assert {hops: one.value for hops, one in share_by_hops(PASSAGES, [0], [SEMANTIC]).items()} == {2: 0.5, 4: 0}


def test_every_passage_is_of_one_kind():
    assert count_reach(PASSAGES, [SEMANTIC]) == {"unasked": 2, "upper bound only": 1, "not certified": 1}
    assert count_reach(PASSAGES, [KEYWORD]) == {"unasked": 0, "upper bound only": 0, "not certified": 4}
