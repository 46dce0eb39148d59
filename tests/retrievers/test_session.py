import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executionrag.errors import UserError
from executionrag.retrievers.aliases import parse_reads, read_alias
from executionrag.retrievers.session import SearchSession


def aliases(result):
    return [hit.alias for hit in result.hits]


@pytest.fixture
def session(passage_index):
    return SearchSession(passage_index, k=3)


def test_aliases_follow_the_order_of_arrival(session):
    first = session.semantic_search("Orlin Observatory", loop=0)
    assert aliases(first) == ["P1", "P2", "P3"]
    assert [hit.rank for hit in first.hits] == [1, 2, 3]
    assert all(hit.new and hit.full and hit.text for hit in first.hits)
    second = session.keyword_search("Orlin Observatory director whale", loop=1)
    assert [hit.new for hit in second.hits] == [hit.alias not in aliases(first) for hit in second.hits]
    for hit in (*first.hits, *second.hits):
        assert session.alias(hit.passage_id) == hit.alias
        assert session.passage_id(hit.alias) == hit.passage_id
        assert session.passage(hit.passage_id).title == hit.title
    with pytest.raises(KeyError):
        session.alias("never returned")


def test_a_passage_is_read_from_the_index_once(passage_index, monkeypatch):
    session = SearchSession(passage_index, k=3)
    read = []
    real = type(passage_index).passage

    def passage(self, passage_id):
        read.append(passage_id)
        return real(self, passage_id)

    monkeypatch.setattr(type(passage_index), "passage", passage)
    hits = session.semantic_search("Orlin Observatory", loop=0).hits
    session.keyword_search("Orlin Observatory director whale", loop=1)
    session.read_passages(["P1", "P2"], neighbours=1, loop=2)
    assert session.passage(hits[0].passage_id).text == hits[0].text
    assert sorted(read) == sorted(set(read))


def test_provenance_is_of_the_first_bringing(session):
    session.semantic_search("Orlin Observatory", k=1, loop=0)
    session.keyword_search("Orlin director", k=2, loop=4)
    came = [(entry.alias, entry.loop, entry.tool, entry.query, entry.rank) for entry in session.retrieved]
    assert came[0] == ("P1", 0, "semantic_search", "Orlin Observatory", 1)
    assert all(entry[1:4] == (4, "keyword_search", "Orlin director") for entry in came[1:])
    assert [entry[0] for entry in came] == [f"P{number}" for number in range(1, len(came) + 1)]
    assert len({entry.passage_id for entry in session.retrieved}) == len(came)


@pytest.mark.parametrize(
    "repeat",
    [
        "orlin OBSERVATORY",
        "  Orlin,  Observatory?! ",
        "Ｏｒｌｉｎ Observatory",
        "Orlin-Observatory",
        "«Orlin» Observatory",
    ],
)
def test_a_repeat_gives_the_earlier_hits_and_does_not_search(session, monkeypatch, repeat):
    first = session.semantic_search("Orlin Observatory", loop=1)
    monkeypatch.setattr(type(session.index), "semantic_search", lambda *_: pytest.fail("searched again"))
    again = session.semantic_search(repeat, loop=2)
    assert aliases(again) == aliases(first)
    assert again.repeated
    assert not any(hit.new for hit in again.hits)
    assert again.note == "repeat of an earlier query: same passages"
    assert again.query == repeat
    assert session.repeats == 1
    assert all(entry.loop == 1 for entry in session.retrieved)


def test_another_tool_k_or_word_is_no_repeat(session):
    session.semantic_search("Orlin Observatory", loop=0)
    assert not session.keyword_search("Orlin Observatory", loop=0).repeated
    assert not session.semantic_search("Orlin Observatory", k=2, loop=0).repeated
    assert not session.semantic_search("Orlin Observatories", loop=0).repeated
    assert session.semantic_search("Orlin Observatory", k=3, loop=0).repeated
    assert session.repeats == 1


def test_queries_of_punctuation_alone_are_told_apart(session):
    session.semantic_search("?", loop=0)
    assert not session.semantic_search("!", loop=0).repeated


def test_without_deduplication_a_repeat_is_searched_and_counted(passage_index):
    session = SearchSession(passage_index, k=2, deduplicate=False)
    first = session.semantic_search("whales", loop=0)
    again = session.semantic_search("Whales", loop=1)
    assert (again.repeated, again.note) == (False, "")
    assert aliases(again) == aliases(first)
    assert session.repeats == 1


def test_a_search_without_result_says_so_also_when_repeated(session):
    assert session.keyword_search("zzyzx", loop=0).note == "no passage matches"
    assert session.keyword_search("zzyzx", loop=1).note == "repeat of an earlier query: again no passage matches"


@pytest.mark.parametrize("query", ["", " \n\t"])
def test_a_blank_query_searches_nothing_and_is_told(session, query):
    for tool in (session.semantic_search, session.keyword_search):
        result = tool(query, loop=0)
        assert (result.hits, result.note) == ((), "a blank query: nothing was searched")
    assert session.retrieved == ()
    assert session.repeats == 0


def test_a_lone_surrogate_never_leaves_the_session(session):
    result = session.semantic_search("whales \ud800", loop=0)
    assert result.query == "whales �"
    assert session.retrieved[0].query.encode()
    assert session.run("read_passages", "P1 \udfff", loop=1).query.encode()


@pytest.mark.parametrize(
    "written", ["P1", "p1", "[P1]", "1", " passage 1", "Passage P1"[8:], "P01", "(P1).", "P-1", "Ｐ１", "P1: Orlin"]
)
def test_aliases_are_read_leniently(session, written):
    session.semantic_search("Orlin Observatory", loop=0)
    assert session.passage_id(written) == session.retrieved[0].passage_id


@pytest.mark.parametrize(
    "written", ["", "P", "P0", "P4", "P99", "R1", "one", "orlin", "1871 census", "P1x", "\ud800", "P1234567890"]
)
def test_what_was_never_returned_is_no_alias(session, written):
    session.semantic_search("Orlin Observatory", loop=0)
    assert session.passage_id(written) is None


def test_reading_gives_full_texts_without_score_and_refuses_the_unknown(session):
    session.semantic_search("Orlin Observatory", loop=0)
    result = session.read_passages(["P2", "p1", "P2", "P99", "corpus-id", " "], loop=1)
    assert aliases(result) == ["P2", "P1"]
    assert result.note == "unknown ids refused: P99, corpus-id"
    assert all(hit.full and hit.score is None and not hit.new for hit in result.hits)
    assert result.hits[0].text == session.passage(result.hits[0].passage_id).text


def test_a_corpus_id_is_never_a_way_to_a_passage(session):
    session.semantic_search("Orlin Observatory", k=1, loop=0)
    result = session.read_passages(["mereth", "cpp"], loop=1)
    assert result.hits == ()
    assert result.note == "unknown ids refused: mereth, cpp"
    assert session.run("read_passages", "tell me more", loop=1).note == "nothing to read: no passage id was given"


def test_reading_neighbours_stays_in_the_document_and_names_the_new_ones(session):
    result = session.keyword_search("whale number 30", k=1, loop=0)
    middle = session.passage(result.hits[0].passage_id)
    assert middle.position > 0
    read = session.run("read_passages", "P1 +1", loop=1)
    found = [session.passage(hit.passage_id) for hit in read.hits]
    assert [passage.position for passage in found] == [middle.position - 1, middle.position, middle.position + 1]
    assert {passage.document for passage in found} == {"whales"}
    assert [hit.new for hit in read.hits] == [True, False, True]
    assert session.retrieved[1].tool == "read_passages"
    one = session.run("semantic_search", "Ada Vell", loop=2).hits[0]
    assert [hit.passage_id for hit in session.run("read_passages", f"{one.alias} +5", loop=3).hits] == ["ada"]


def test_a_repeated_read_is_a_repeat_in_any_order(session):
    session.semantic_search("Orlin Observatory", loop=0)
    first = session.read_passages(["P1", "P2"], loop=1)
    again = session.read_passages(["[P2]", "p1", "P77"], loop=2)
    assert again.repeated
    assert aliases(again) == aliases(first)
    assert "P77" in again.note
    assert not session.read_passages(["P1", "P2"], neighbours=1, loop=3).repeated


def test_a_huge_request_for_neighbours_is_limited(session):
    session.keyword_search("whale number 30", k=1, loop=0)
    assert len(session.read_passages(["P1"], neighbours=10**6, loop=1).hits) <= 11


def test_snippets_are_not_full_until_the_passage_is_read(sentence_index):
    session = SearchSession(sentence_index, k=1)
    hit = session.keyword_search("red brick", loop=0).hits[0]
    assert (hit.full, hit.text) == (False, "Its cathedral was built of red brick.")
    assert not session.retrieved[0].full
    read = session.read_passages(["P1"], loop=1).hits[0]
    assert read.full
    assert "river Quill" in read.text
    assert session.retrieved[0].full
    assert (session.retrieved[0].tool, session.retrieved[0].loop) == ("keyword_search", 0)


def test_run_calls_the_tool_that_it_names(session):
    assert session.run("keyword_search", "Tomas Hale", loop=0).hits[0].passage_id == "orlin"
    assert session.run("semantic_search", "capital of Japan", k=1, loop=0).hits[0].passage_id == "tokyo"
    assert session.run("read_passages", "P1", loop=1).hits[0].passage_id == "orlin"


def test_k_must_be_positive(passage_index):
    with pytest.raises(UserError, match="k is 0"):
        SearchSession(passage_index, k=0)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("P3, P4 +1", (["P3", "P4"], 1)),
        ("[P3] [p4]", (["P3", "P4"], 0)),
        ("read passages 3 and 4 with 2 neighbours", (["P3", "P4"], 2)),
        ("P3;P3 neighbors=1", (["P3"], 1)),
        ("passage 3, 1 neighbour", (["P3"], 1)),
        ('["P3", "P12"]', (["P3", "P12"], 0)),
        ("P3 ±2", (["P3"], 2)),
        ("Who wrote it?", ([], 0)),
        ("", ([], 0)),
    ],
)
def test_requests_to_read_are_parsed_leniently(written, expected):
    assert parse_reads(written) == expected


@settings(deadline=None)
@given(st.text())
def test_whatever_is_written_is_read_without_an_error(written):
    read_alias(written)
    found, neighbours = parse_reads(written)
    assert neighbours >= 0
    assert all(isinstance(alias, str) for alias in found)
