"""Certified pairs: exactly the gold passages that one's searches returned and the other never retrieved."""

from hypothesis import given
from hypothesis import strategies as st

from executionrag.metrics.certified import SEARCHES, CertifiedPassage, certified
from executionrag.metrics.record import GoldPassage, QuestionRecord, Retrieved
from executionrag.program.trajectory import Found, SearchStep

GOLD = ("g1", "g2", "g3")
TOOLS = (*SEARCHES, "read_passages", "graph_search")


def record(name, calls, gold=GOLD):
    """A record of tool calls: (tool, the ids that came back), one a loop."""
    steps, first = [], {}
    for loop, (tool, ids) in enumerate(calls):
        query = f"query {loop}"
        found = tuple(
            Found(alias=f"P{rank}", passage_id=one, title="", rank=rank) for rank, one in enumerate(ids, start=1)
        )
        steps.append(SearchStep(loop=loop, target=None, tool=tool, query=query, found=found))
        for one in found:
            came = Retrieved(passage_id=one.passage_id, loop=loop, tool=tool, query=query, rank=one.rank, full=True)
            first.setdefault(one.passage_id, came)
    return QuestionRecord(
        id=name,
        question="Who?",
        benchmark="minihop",
        type="bridge",
        hops=2,
        answers=("x",),
        gold=tuple(GoldPassage(title=f"T {one}", passage_id=one) for one in gold),
        retrieved=tuple(first.values()),
        trajectory=tuple(steps),
    )


CALLS = st.lists(
    st.tuples(st.sampled_from(TOOLS), st.lists(st.sampled_from([*GOLD, "x", "y"]), unique=True, max_size=4)), max_size=4
)
SYSTEM = st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), CALLS)


def pairs(found):
    return [(one.question_id, one.passage_id) for one in found]


@given(SYSTEM, SYSTEM)
def test_pairs_are_exactly_what_one_searched_out_and_the_other_never_had(one, other):
    found = certified([record(*row) for row in one.items()], [record(*row) for row in other.items()])
    searched, read = set(), set()
    for name in one.keys() & other.keys():
        had = {each for _, ids in one[name] for each in ids}
        by_search = {each for tool, ids in other[name] if tool in SEARCHES for each in ids}
        by_any = {each for _, ids in other[name] for each in ids}
        searched |= {(name, gold) for gold in GOLD if gold in by_search - had}
        read |= {(name, gold) for gold in GOLD if gold in by_any - by_search - had}
    assert (set(pairs(found.by_search)), set(pairs(found.by_read))) == (searched, read)
    assert len(found.by_search) == len(searched)
    assert len(found.by_read) == len(read)


@given(SYSTEM, SYSTEM)
def test_swapping_the_two_swaps_the_lists(one, other):
    a = [record(*row) for row in one.items()]
    b = [record(*row) for row in other.items()]
    there, back = certified(a, b), certified(b, a)
    assert not set(pairs(there.by_search + there.by_read)) & set(pairs(back.by_search + back.by_read))
    for missing, finding, found in ((one, other, there), (other, one, back)):
        for pair in found.by_search + found.by_read:
            assert all(pair.passage_id not in ids for _, ids in missing[pair.question_id])
            tool, ids = finding[pair.question_id][pair.loop]
            assert (pair.tool, ids[pair.rank - 1], pair.query) == (tool, pair.passage_id, f"query {pair.loop}")


def test_a_pair_names_what_first_searched_it_out_even_after_a_read():
    a = record("q", [("semantic_search", ["g2"])])
    b = record(
        "q", [("read_passages", ["g1", "g3"]), ("keyword_search", ["x", "g1"]), ("semantic_search", ["g1", "g2"])]
    )
    found = certified([a], [b])
    assert found.by_search == (CertifiedPassage("q", "g1", "T g1", "keyword_search", "query 1", 1, 2),)
    assert found.by_read == (CertifiedPassage("q", "g3", "T g3", "read_passages", "query 0", 0, 2),)


def test_rows_without_a_trajectory_are_told_by_what_was_retrieved():
    b = record("q", [("semantic_search", ["g1"])]).model_copy(update={"trajectory": ()})
    assert pairs(certified([record("q", [])], [b]).by_search) == [("q", "g1")]


def test_unmapped_gold_and_questions_of_one_side_are_left_out():
    a = record("q", [], gold=(None, "g1"))
    b = record("q", [("semantic_search", ["g1"])])
    other = record("only-there", [("semantic_search", ["g1"])])
    assert pairs(certified([a], [b, other]).by_search) == [("q", "g1")]


def test_the_pairs_of_some_questions():
    found = certified(
        [record("q1", []), record("q2", [])],
        [record("q1", [("semantic_search", ["g1"])]), record("q2", [("read_passages", ["g1"])])],
    )
    assert pairs(found.of_questions({"q1"}).by_search) == [("q1", "g1")]
    assert found.of_questions({"q1"}).by_read == ()
    assert pairs(found.of_questions({"q2"}).by_read) == [("q2", "g1")]
