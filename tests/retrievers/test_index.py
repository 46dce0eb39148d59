"""What an index finds and how it is read, what it shares, and which encoder it takes."""

import copy
import json
import random
import threading

import pytest

from executionrag.errors import UserError
from executionrag.retrievers import encoder as encoder_module
from executionrag.retrievers import index as index_module
from executionrag.retrievers.corpus import passages_from_rows
from executionrag.retrievers.index import Index
from executionrag.retrievers.passage import Passage

TINY = passages_from_rows([("a", "A", "Alpha text."), ("b", "B", "Beta text.")])


def ids(matches):
    return [match.passage_id for match in matches]


def test_meaning_finds_what_words_do_not(passage_index):
    assert ids(passage_index.semantic_search("Which city is the seat of Japan's government?", 1)) == ["tokyo"]
    assert ids(passage_index.semantic_search("Who set up the star-gazing institute?", 3)).count("ada") == 1


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Tomas Hale", "orlin"),
        ("C++", "cpp"),
        ("X", "x"),
        ("首都", "tokyo"),
        ("都", "tokyo"),
        ("glenan", "glenan"),
        ("templates?", "cpp"),
    ],
)
def test_keywords_find_names_single_characters_and_cjk(passage_index, query, first):
    assert ids(passage_index.keyword_search(query, 1)) == [first]


@pytest.mark.parametrize("query", ["", "  ", "?!", "zzyzx", "\ud800"])
def test_a_query_that_shares_no_word_has_no_keyword_hit(passage_index, query):
    assert passage_index.keyword_search(query, 5) == []


def test_a_blank_query_has_no_semantic_hit_and_a_broken_one_does_no_harm(passage_index):
    assert passage_index.semantic_search(" \n", 5) == []
    assert len(passage_index.semantic_search("\ud800 whales", 5)) == 5
    assert len(passage_index.semantic_search("?", 2)) == 2


@pytest.mark.parametrize("tool", ["semantic_search", "keyword_search"])
def test_k_is_clamped_to_the_corpus_and_below(passage_index, sentence_index, tool):
    for index in (passage_index, sentence_index):
        search = getattr(index, tool)
        assert search("the whale", 0) == search("the whale", -3) == []
        found = ids(search("the whale crossed the sea", 10_000))
        assert len(found) == len(set(found)) <= len(index)
    assert len(passage_index.semantic_search("whale", 10_000)) == len(passage_index)
    assert len(sentence_index.semantic_search("whale", 10_000)) == len(sentence_index)


def test_ties_are_ordered_by_id_whatever_the_order_of_the_corpus(tmp_path):
    same = [Passage(name, "T", "The very same text.", name, 0) for name in ("m", "c", "z", "a", "q")]
    other = [Passage("b", "T", "Nothing alike at all.", "b", 0)]
    one = Index.build(same + other, tmp_path / "one")
    two = Index.build(other + same[::-1], tmp_path / "two")
    for index in (one, two):
        for tool in (index.semantic_search, index.keyword_search):
            matches = tool("the very same text", 3)
            assert ids(matches) == ["a", "c", "m"]
            assert len({match.score for match in matches}) == 1
    assert one.digest == two.digest
    assert one.corpus_digest == two.corpus_digest


def test_passages_are_a_sequence_in_the_order_of_their_ids(passage_index, passages):
    assert list(passage_index.passages) == sorted(passages, key=lambda passage: passage.id)
    assert len(passage_index.passages) == len(passage_index) == len(passages)
    assert passage_index.passages[-1] == passage_index.passages[len(passages) - 1]
    assert list(passage_index.passages[1:3]) == [passage_index.passages[1], passage_index.passages[2]]
    with pytest.raises(IndexError):
        passage_index.passages[len(passages)]


def test_every_passage_is_found_by_its_id_and_others_are_not(passage_index, passages):
    for passage in passages:
        assert passage_index.passage(passage.id) == passage
        assert passage.id in passage_index
    for unknown in ("", "nobody", "\ud800", "whales"):
        assert unknown not in passage_index
        with pytest.raises(KeyError):
            passage_index.passage(unknown)


def test_neighbours_are_chunks_of_the_same_document_and_never_cross_it(passage_index, passages):
    chunks = [passage for passage in passages if passage.document == "whales"]
    assert len(chunks) > 4
    for passage in passages:
        for distance in (0, 1, 2, 100):
            expected = [
                other
                for other in passages
                if other.document == passage.document and 0 < abs(other.position - passage.position) <= distance
            ]
            assert passage_index.neighbours(passage.id, distance) == expected
    assert passage_index.neighbours("ada", 5) == []
    with pytest.raises(KeyError):
        passage_index.neighbours("nobody", 1)


def test_sentence_granularity_gives_the_matching_sentences_by_passage(sentence_index):
    match = sentence_index.semantic_search("Where was Ada Vell born?", 1)[0]
    assert match.passage_id == "ada"
    assert "She was born in the harbour town of Mereth." in match.snippets
    match = sentence_index.keyword_search("red brick", 1)[0]
    assert (match.passage_id, match.snippets) == ("mereth", ("Its cathedral was built of red brick.",))


def test_a_keyword_that_only_a_title_holds_shows_the_first_sentence(tmp_path):
    index = Index.build(
        [Passage("p", "Zanzibar", "First one. Second one.", "p", 0)], tmp_path / "i", granularity="sentence"
    )
    assert index.keyword_search("zanzibar", 1)[0].snippets == ("First one.",)


def test_sentence_granularity_counts_passages_and_scores_by_the_best_sentence(sentence_index):
    matches = sentence_index.semantic_search("how a whale crossed the sea", 4)
    assert len({match.passage_id for match in matches}) == 4
    assert [match.score for match in matches] == sorted((match.score for match in matches), reverse=True)
    for match in matches:
        text = sentence_index.passage(match.passage_id).text
        places = [text.index(snippet) for snippet in match.snippets]
        assert places == sorted(places)


def test_passage_granularity_gives_no_snippets(passage_index):
    assert all(match.snippets == () for match in passage_index.semantic_search("whales", 3))


def test_a_loaded_index_answers_like_the_built_one(passage_index, sentence_index):
    for index in (passage_index, sentence_index):
        loaded = Index.load(index.path, verify=True)
        assert loaded.digest == index.digest
        assert loaded.granularity == index.granularity
        for query in ("whales", "Orlin Observatory", "東京"):
            assert loaded.semantic_search(query, 5) == index.semantic_search(query, 5)
            assert loaded.keyword_search(query, 5) == index.keyword_search(query, 5)


def test_digests_tell_corpus_and_granularity_apart(passage_index, sentence_index, tmp_path):
    assert passage_index.corpus_digest == sentence_index.corpus_digest
    assert passage_index.encoder_digest == sentence_index.encoder_digest
    assert passage_index.digest != sentence_index.digest
    assert Index.build(TINY, tmp_path / "tiny").corpus_digest != passage_index.corpus_digest


def test_copies_share_the_index(passage_index):
    assert copy.deepcopy(passage_index) is passage_index
    assert copy.copy(passage_index) is passage_index
    assert copy.deepcopy({"tools": [passage_index]})["tools"][0] is passage_index


def test_eight_threads_find_what_one_finds(passage_index, sentence_index):
    queries = ["whales at sea", "Orlin Observatory director", "C++ templates", "東京の人口"]

    def answers(index, order):
        found = {}
        for query in order:
            found[query] = (ids(index.semantic_search(query, 4)), ids(index.keyword_search(query, 4)))
        return found

    for index in (passage_index, sentence_index):
        expected = answers(index, queries)
        results = []

        def work(seed, index=index, results=results):
            order = random.Random(seed).sample(queries, len(queries))
            results.append(answers(index, order))

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == [expected] * 8


def test_an_index_made_by_another_encoder_is_refused(passage_index, copy_encoder):
    other = copy_encoder("other", pooling_mode_cls_token=True, pooling_mode_mean_tokens=False)
    with pytest.raises(UserError, match="made by another encoder") as error:
        Index.load(passage_index.path, encoder=str(other))
    assert "\n" not in str(error.value)


def test_the_same_encoder_in_another_place_is_accepted(passage_index, copy_encoder):
    index = Index.load(passage_index.path, encoder=str(copy_encoder("moved")))
    assert index.encoder_name.endswith("moved")
    assert index.encoder_digest == passage_index.encoder_digest


def test_an_encoder_whose_weights_changed_since_is_refused_at_the_first_semantic_search(
    tmp_path, copy_encoder, monkeypatch
):
    folder = copy_encoder("mine")
    Index.build(TINY, tmp_path / "index", encoder=str(folder))
    config = folder / "1_Pooling" / "config.json"
    pooling = json.loads(config.read_text()) | {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    config.write_text(json.dumps(pooling))
    monkeypatch.setattr(encoder_module, "_encoders", {})
    index = Index.load(tmp_path / "index")
    assert ids(index.keyword_search("alpha", 1)) == ["a"]
    with pytest.raises(UserError, match="made by another encoder"):
        index.semantic_search("alpha", 1)


def test_loading_and_keyword_search_need_no_encoder(passage_index, monkeypatch):
    monkeypatch.setattr(index_module, "get_encoder", lambda *_: pytest.fail("asked for the encoder"))
    assert ids(Index.load(passage_index.path).keyword_search("Hale", 1)) == ["orlin"]


def test_passages_of_punctuation_and_broken_text_can_be_indexed(tmp_path):
    index = Index.build([Passage("p", "", "?!", "p", 0), Passage("q", "\ud800", "… \udfff", "q", 0)], tmp_path / "i")
    assert index.keyword_search("?!", 3) == []
    assert index.passage("q").title == "�"
    assert len(index.semantic_search("what", 5)) == 2


@pytest.mark.parametrize("text", ["word " * 200_000, "?" * 1000 + " a"])
def test_odd_passages_work_at_sentence_granularity(tmp_path, text):
    rows = passages_from_rows([("big", "", text[:20_000])])
    index = Index.build(rows[:3], tmp_path / "i", granularity="sentence")
    assert index.semantic_search("word", 1)


def test_a_large_corpus_uses_the_graph_and_finds_the_same(passages, passage_index, tmp_path, monkeypatch):
    monkeypatch.setattr(index_module.dense, "FLAT_LIMIT", 5)
    index = Index.build(passages, tmp_path / "i")
    assert (tmp_path / "i" / "vectors.hnsw").exists()
    assert json.loads((tmp_path / "i" / "dense.json").read_bytes())["probes_from"] == "texts"
    for query in ("whales", "the director of the observatory"):
        assert ids(index.semantic_search(query, 5)) == ids(passage_index.semantic_search(query, 5))
    content = (tmp_path / "i" / "vectors.hnsw").read_bytes()
    (tmp_path / "i" / "vectors.hnsw").write_bytes(content[:200])
    with pytest.raises(UserError, match=r"vectors\.hnsw.*damaged"):
        Index.load(tmp_path / "i")
