"""No tool hands over a passage that the session's own searches could not lead to.

Benchmark corpora lay the gold passages of a question side by side, so a tool that took positions or corpus ids, or gave
neighbours across documents, would be an oracle. Random corpora in chunks, whatever an LM writes: what a read gives was
returned before, or is a chunk of the same source document within reach.
"""

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from executionrag.retrievers import store
from executionrag.retrievers.index import Match
from executionrag.retrievers.passage import Passage
from executionrag.retrievers.session import MAX_NEIGHBOURS, SearchSession

# Ids as corpora have them: some look like aliases or positions, and neighbouring ids belong to different documents.
IDS = ["P1", "P2", "P3", "P7", "p12", "0", "1", "2", "3", "07", "41", "99", "musique-1a2b", "x:3", "P3 +1", "Ana Kell"]


class StoredIndex:
    """The index's own store of passages on disk, with searches that return what the test says."""

    def __init__(self, passages, found):
        with tempfile.TemporaryDirectory() as folder:
            store.write(sorted(passages, key=lambda one: one.id), Path(folder))
            self.store = store.PassageStore(Path(folder))
            self.passages = list(self.store)
        self.found = found

    def passage(self, passage_id):
        return self.store[self.store.find(passage_id)]

    def neighbours(self, passage_id, n):
        return self.store.neighbours(self.store.find(passage_id), n)

    def semantic_search(self, query, k):
        return [Match(one, 1.0) for one in self.found.get(query, ())[:k]]

    keyword_search = semantic_search


@st.composite
def corpora(draw, most_chunks=6):
    """Passages of documents in chunks; the ids are dealt out at random, so that their order is no document's."""
    sizes = draw(st.lists(st.integers(1, most_chunks), min_size=2, max_size=6))
    spare = [f"id{number}" for number in range(sum(sizes))]
    ids = draw(st.permutations([*IDS, *spare]))
    passages = []
    for document, size in enumerate(sizes):
        for position in range(size):
            key = ids[len(passages)]
            home = key if size == 1 else f"doc{document}"
            passages.append(Passage(key, f"Title {document}", f"Text {document}.{position}", home, position))
    return passages


@st.composite
def written(draw, passages):
    """What an LM may write for a read: aliases far and near, ids, positions, neighbours asked for, anything."""
    number = st.integers(-3, 200)
    one = st.one_of(
        number.map(lambda n: f"P{n}"),
        number.map(str),
        number.map(lambda n: f"passage {n}"),
        st.sampled_from([passage.id for passage in passages]),
        st.sampled_from([passage.document for passage in passages]),
        st.sampled_from([f"position {passage.position}" for passage in passages]),
        st.text(max_size=12),
    )
    parts = draw(st.lists(one, max_size=4))
    wide = draw(st.one_of(st.just(""), st.integers(0, 10**6).map(lambda n: f" +{n}"), st.just(" with 3 neighbours")))
    return draw(st.sampled_from([", ", " ", "; ", " and "])).join(parts) + wide


def may_give(returned, index):
    """What a read may give at most, by the definition: returned before, or near it in the same source document."""
    near = {
        other.id
        for one in returned
        for other in index.passages
        if other.document == index.passage(one).document
        and abs(other.position - index.passage(one).position) <= MAX_NEIGHBOURS
    }
    return set(returned) | near


def ids(result):
    return [hit.passage_id for hit in result.hits]


common = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@common
@given(data=st.data(), passages=corpora())
def test_whatever_is_written_a_read_gives_what_was_returned_or_is_near_it_in_its_document(data, passages):
    everything = [passage.id for passage in passages]
    found = data.draw(st.lists(st.sampled_from(everything), unique=True, max_size=4))
    index = StoredIndex(passages, {"query": found})
    session = SearchSession(index, k=5, deduplicate=data.draw(st.booleans()))
    returned = set(ids(session.semantic_search("query", loop=0)))
    assert returned == set(found)
    for loop in range(1, 4):
        allowed = may_give(returned, index)
        result = session.run("read_passages", data.draw(written(passages)), loop=loop)
        assert set(ids(result)) <= allowed
        returned |= set(ids(result))
        assert {one.passage_id for one in session.retrieved} == returned


@common
@given(data=st.data(), passages=corpora(most_chunks=1))
def test_a_document_of_one_passage_has_no_neighbours(data, passages):
    everything = [passage.id for passage in passages]
    found = data.draw(st.lists(st.sampled_from(everything), unique=True, min_size=1, max_size=3))
    session = SearchSession(StoredIndex(passages, {"query": found}))
    session.keyword_search("query", loop=0)
    wide = session.read_passages([f"P{n}" for n in range(1, 200)], neighbours=data.draw(st.integers(0, 10**6)), loop=1)
    assert set(ids(wide)) == set(found)
    for loop in range(2, 4):
        assert set(ids(session.run("read_passages", data.draw(written(passages)), loop=loop))) <= set(found)


@common
@given(data=st.data(), passages=corpora())
def test_before_anything_was_returned_there_is_nothing_to_read(data, passages):
    session = SearchSession(StoredIndex(passages, {}))
    assert session.run("read_passages", data.draw(written(passages)), loop=1).hits == ()
    assert session.read_passages([passage.id for passage in passages], neighbours=5, loop=1).hits == ()
    assert session.retrieved == ()


@common
@given(passages=corpora(), distance=st.integers(0, 12))
def test_neighbours_are_exactly_the_chunks_of_the_document_within_reach(passages, distance):
    target = passages[-1]
    session = SearchSession(StoredIndex(passages, {"query": [target.id]}))
    session.semantic_search("query", loop=0)
    reach = min(distance, MAX_NEIGHBOURS)
    wanted = {
        one.id for one in passages if one.document == target.document and abs(one.position - target.position) <= reach
    }
    assert set(ids(session.read_passages(["P1"], neighbours=distance, loop=1))) == wanted


# Two documents whose chunks lie between one another in the order of ids, as a benchmark lays gold beside gold.
BESIDE = [
    Passage("10", "Gold", "First half.", "gold", 0),
    Passage("11", "Other", "A foreign text.", "11", 0),
    Passage("12", "Gold", "Second half.", "gold", 1),
    Passage("13", "More gold", "The other gold passage.", "13", 0),
]


@pytest.mark.parametrize(
    "asked",
    ["P2", "2", "10", "11", "13", "P13", "passage 11", "0", "-1", "P0", "[11]", "id 11", "gold", "Other", "P1+1e9, 11"],
)
def test_corpus_ids_positions_and_numbers_beyond_what_was_returned_are_refused(asked):
    session = SearchSession(StoredIndex(BESIDE, {"query": ["12"]}))
    session.semantic_search("query", loop=0)
    assert set(ids(session.run("read_passages", asked, loop=1))) <= {"10", "12"}
    assert not {"11", "13"} & {one.passage_id for one in session.retrieved}


@pytest.mark.parametrize("asked", ["11", "P2", "P13", "position 0"])
def test_what_is_refused_is_said(asked):
    session = SearchSession(StoredIndex(BESIDE, {"query": ["12"]}))
    session.semantic_search("query", loop=0)
    result = session.run("read_passages", asked, loop=1)
    assert result.hits == ()
    assert "refused" in result.note


def test_neighbours_do_not_cross_the_border_of_a_document():
    session = SearchSession(StoredIndex(BESIDE, {"query": ["12"], "other": ["11"]}))
    session.semantic_search("query", loop=0)
    assert ids(session.run("read_passages", "P1 +5", loop=1)) == ["10", "12"]
    session.semantic_search("other", loop=2)
    assert ids(session.run("read_passages", "P3 +5", loop=3)) == ["11"], "a document of one passage"


def test_a_read_leads_on_only_through_the_same_document(passage_index):
    """On a real index: what a chain of reads can reach is the document that a search led to, and no other."""
    session = SearchSession(passage_index, k=1)
    (first,) = session.keyword_search("whale chapter 30", loop=0).hits
    home = passage_index.passage(first.passage_id).document
    for loop in range(1, 8):
        session.run("read_passages", f"{', '.join(f'P{n}' for n in range(1, 60))} +5", loop=loop)
    reached = {passage_index.passage(one.passage_id).document for one in session.retrieved}
    assert reached == {home}
    assert len(session.retrieved) > 1
