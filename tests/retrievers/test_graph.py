"""The entity graph: what it finds that similarity does not, and that a stored one is the same."""

import json
import logging
import shutil
import threading

import numpy as np
import pytest

from executionrag.errors import UserError
from executionrag.retrievers import graph_store
from executionrag.retrievers.graph import build
from executionrag.retrievers.index import Index
from executionrag.retrievers.passage import Passage
from executionrag.retrievers.session import SearchSession

# The second fact shares no word or subject with the question: only "Dorvane Pell" leads there from the first.
BRIDGE = [
    ("opera", "The Salt Choir", "The Salt Choir is an opera composed by Dorvane Pell for the festival."),
    ("pell", "Dorvane Pell", "Dorvane Pell kept bees and spent every summer in a hut near Quarn."),
    ("mill", "The Quiet Mill", "The Quiet Mill is an opera whose composer was born in a town by the sea."),
    ("birth", "Birth of opera", "The composer of the first opera was born in the town where opera itself was born."),
    ("choirs", "Choirs", "A choir is born when a composer gathers singers of a town."),
    ("salt", "Salt", "Salt was traded in every town by the sea where ships were born."),
]
QUESTION = "Where was the composer of The Salt Choir born?"


def passages(rows):
    return [Passage(id=key, title=title, text=text, document=key, position=0) for key, title, text in rows]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return Index.build(passages(BRIDGE), tmp_path_factory.mktemp("graph") / "index").path


@pytest.fixture
def place(made, tmp_path):
    """A copy of the index that has no graph yet."""
    shutil.copytree(made, tmp_path / "index", ignore=shutil.ignore_patterns("graph"))
    return tmp_path / "index"


def ids(matches):
    return [match.passage_id for match in matches]


def content(place):
    return {file.name: file.read_bytes() for file in sorted((place / "graph").iterdir())}


def test_the_second_hop_is_found_where_similarity_at_the_same_k_misses_it(place):
    index = Index.load(place)
    assert "pell" not in ids(index.semantic_search(QUESTION, 3))
    assert ids(index.graph_search(QUESTION, 3))[:2] == ["opera", "pell"]


def test_scores_are_shares_of_the_best_rounded_and_in_order(place):
    scores = [match.score for match in Index.load(place).graph_search(QUESTION, 6)]
    assert scores[0] == 1.0
    assert scores == sorted(scores, reverse=True)
    assert all(score == round(score, 5) for score in scores)


def test_a_question_without_known_names_is_still_answered_by_similarity(place):
    index = Index.load(place)
    assert index.graph.named("who gathers singers?") == []
    assert ids(index.graph_search("who gathers singers?", 1)) == ids(index.semantic_search("who gathers singers?", 1))
    assert index.graph_search("  ", 3) == []
    assert index.graph_search(QUESTION, 0) == []
    assert len(index.graph_search(QUESTION, 99)) == len(BRIDGE)


def test_equal_passages_go_by_id(tmp_path):
    rows = [(f"p{number}", "", "The same words about Dorvane Pell.") for number in range(6)]
    index = Index.build(passages(reversed(rows)), tmp_path / "same")
    assert ids(index.graph_search("Who is Dorvane Pell?", 4)) == ["p0", "p1", "p2", "p3"]


def test_the_order_of_the_corpus_does_not_matter(place, tmp_path):
    other = Index.build(passages(BRIDGE[::-1]), tmp_path / "reversed")
    assert other.graph_search(QUESTION, 6) == Index.load(place).graph_search(QUESTION, 6)
    assert content(other.path) == content(place)


def test_a_stored_graph_is_the_same_as_a_new_one_and_the_index_stays_as_it_was(place):
    before = Index.load(place)
    digest, found = before.digest, before.graph_search(QUESTION, 6)
    again = Index.load(place, verify=True)
    assert again.digest == digest
    assert again.graph_search(QUESTION, 6) == found
    fresh, stored = build(again.passages), again.graph
    assert list(stored.entities) == list(fresh.entities)
    assert np.array_equal(stored.edges, fresh.edges)
    assert np.array_equal(stored.weights, fresh.weights)
    assert not any(path.name.startswith(".") for path in place.iterdir())


def test_a_stored_graph_is_read_and_not_made_again(place, monkeypatch):
    found = Index.load(place).graph_search(QUESTION, 6)
    monkeypatch.setattr(graph_store, "build", None)
    assert Index.load(place).graph_search(QUESTION, 6) == found


def _edit(**changed):
    def edit(folder):
        about = json.loads((folder / "graph.json").read_text()) | changed
        (folder / "graph.json").write_text(json.dumps(about))

    return edit


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / "edges.npy").write_bytes(b"no array"),
        lambda folder: (folder / "weights.npy").unlink(),
        lambda folder: (folder / "entities.json").write_text("[]"),
        lambda folder: (folder / "graph.json").write_text("{"),
        lambda folder: (folder / "graph.json").write_text("[1]"),
        lambda folder: (folder / "graph.json").unlink(),
        _edit(version=0),
        _edit(index="of another"),
        _edit(files={}),
    ],
    ids=["edges", "missing", "entities", "torn", "no-object", "no-json", "older", "foreign", "no-files"],
)
def test_a_graph_that_cannot_be_used_is_made_anew_with_a_line_in_the_log(place, spoil, caplog):
    found = Index.load(place).graph_search(QUESTION, 6)
    whole = content(place)
    spoil(place / "graph")
    with caplog.at_level(logging.WARNING):
        assert Index.load(place).graph_search(QUESTION, 6) == found
    assert [record.message for record in caplog.records if "made anew" in record.message]
    assert content(place) == whole


def test_where_it_cannot_be_stored_it_is_used_from_memory_with_a_warning(place, monkeypatch, caplog):
    def refuse(*_):
        raise UserError("no room")

    monkeypatch.setattr(graph_store, "_write", refuse)
    with caplog.at_level(logging.WARNING):
        assert ids(Index.load(place).graph_search(QUESTION, 2)) == ["opera", "pell"]
    assert "kept in memory only: no room" in caplog.text
    assert not (place / "graph").exists()


def test_a_folder_that_cannot_be_written_to_is_one_warning(place, monkeypatch, caplog):
    def refuse(self, *_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.mkdir", refuse)
    with caplog.at_level(logging.WARNING):
        assert ids(Index.load(place).graph_search(QUESTION, 2)) == ["opera", "pell"]
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_while_another_makes_it_one_is_made_in_memory_and_nothing_written(place):
    with graph_store.locked(place) as held:
        assert held
        assert ids(Index.load(place).graph_search(QUESTION, 2)) == ["opera", "pell"]
    assert not (place / "graph").exists()


def test_many_threads_make_one_graph(place, monkeypatch):
    index, made, found = Index.load(place), [], []
    monkeypatch.setattr(graph_store, "build", lambda rows: made.append(1) or build(rows))
    threads = [threading.Thread(target=lambda: found.append(index.graph_search(QUESTION, 6))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]
    assert all(one == found[0] for one in found)
    assert len(found) == 6


def test_at_sentence_granularity_it_gives_whole_passages(tmp_path):
    index = Index.build(passages(BRIDGE), tmp_path / "sentences", granularity="sentence")
    matches = index.graph_search(QUESTION, 3)
    assert ids(matches)[:2] == ["opera", "pell"]
    assert all(match.snippets == () for match in matches)


def test_no_edge_joins_passages_and_every_passage_is_joined_to_its_title(place):
    graph = Index.load(place).graph
    assert graph.edges[:, 0].max() == len(BRIDGE) - 1
    assert graph.edges[:, 1].max() == len(graph.entities) - 1
    named = {(int(row), graph.entities[place]) for row, place in graph.edges}
    order = sorted(key for key, _, _ in BRIDGE)
    assert (order.index("opera"), "dorvane pell") in named
    assert (order.index("pell"), "dorvane pell") in named
    assert (order.index("mill"), "dorvane pell") not in named


def test_the_session_records_it_under_its_own_name_and_answers_repeats_from_memory(place):
    session = SearchSession(Index.load(place), k=2)
    first = session.run("graph_search", QUESTION, loop=0)
    assert (first.tool, [hit.alias for hit in first.hits]) == ("graph_search", ["P1", "P2"])
    assert all(hit.full and hit.new for hit in first.hits)
    second = session.run("graph_search", QUESTION.upper(), loop=1)
    assert second.repeated
    assert session.repeats == 1
    came = session.retrieved[1]
    assert (came.passage_id, came.tool, came.query, came.rank, came.loop) == ("pell", "graph_search", QUESTION, 2, 0)
