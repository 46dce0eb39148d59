"""Names told by how they are written: what is one, where it ends, and what a question names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from executionrag.retrievers.entities import Casing, entity_key, entity_keys, named_in, title_keys
from executionrag.retrievers.titles import TitleFinder


def keys(text, *others):
    casing = Casing()
    for one in (text, *others):
        casing.add(one)
    return entity_keys(text, casing)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("an opera by Ana Kell, sung in Orrim.", ["ana kell", "orrim"]),
        ("played by Ludwig van Beethoven there", ["ludwig van beethoven"]),
        ("the painter Rogier van der Weyden died", ["rogier van der weyden"]),
        ("the Bank of the West failed", ["bank of the west", "west"]),
        ("met the President of the United States", ["president of the united states", "united states"]),
        ("ruled by Charles de Gaulle and Anna of Cleves", ["charles de gaulle", "anna of cleves", "cleves"]),
        ("he went to Paris of his own will", ["paris"]),
        ("the dog of Anna Smith-Jones's aunt", ["anna smith jones"]),
        ("said Germany's Angela Merkel", ["germany", "angela merkel"]),
        ("the Browns' house and the O’Brien farm", ["browns", "o brien"]),
        ("written by J. R. R. Tolkien in Oxford", ["j r r tolkien", "oxford"]),
        ("in the U.S. state of Michigan", ["u s", "michigan"]),
        ("at St. Mary's with Dr. Ada Vell", ["st mary", "dr ada vell"]),
        ("the crew of Apollo 11 landed", ["apollo 11"]),
        ("shown by 20th Century Fox in the 19th century", ["20th century fox"]),
        ("built for AT&T and for Tiffany & Co in town", ["at t", "tiffany co"]),
        ("on the Glénan Islands near Łódź", ["glenan islands", "łódź"]),
        ("an iPhone of a NASA engineer", ["iphone", "nasa"]),
        ("it was in May and on Monday that I came", []),
        ("nothing here is written with a capital, in 1904", []),
        ("東京は日本の首都です。", []),
        ("", []),
    ],
)
def test_names_are_found_and_end_where_they_end(text, expected):
    assert keys("so " + text if text else text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Salt Choir is an opera.", ["salt choir"]),
        ("Often Mac Hale sang. When Ana came, Sally left.", ["mac hale", "ana", "sally"]),
        ("In 1904 Anna Smith won.", ["anna smith"]),
        ("The 1914 FA Cup Final was played.", ["1914 fa cup final"]),
        ("Ana Kell sang. She left.", ["ana kell"]),
    ],
)
def test_what_begins_a_sentence_is_a_name_only_by_more_than_its_capital(text, expected):
    assert keys(text) == expected


def test_one_word_that_begins_a_sentence_is_judged_by_the_rest_of_the_corpus():
    assert keys("Glassblowing came to Orrim.") == ["orrim"]
    assert keys("Mereth is a town.") == []
    assert keys("Mereth is a town.", "born in Mereth") == ["mereth"]
    assert keys("Glass is made here.", "old Glass", "green glass and blue glass") == []
    assert keys("Glass Kell sang.", "green glass") == ["kell"]


def test_a_key_ignores_case_punctuation_accents_width_and_article():
    assert {
        entity_key(name) for name in ("The Glénan-Islands", "glenan  islands", "GLÉNAN ISLANDS'", "a Glenan Islands")
    } == {"glenan islands"}
    assert entity_key("The") == "the"
    assert entity_key("東京") == "東京"


def test_a_title_counts_whole_and_without_its_last_brackets():
    assert title_keys("Ana Kell (cyclist)") == ["ana kell cyclist", "ana kell"]
    assert title_keys("The Quiet Mill") == ["quiet mill"]
    assert title_keys("  ") == []


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Where was the mother of the composer of The Salt Choir born?", ["salt choir"]),
        ("where was the mother of ana kell born", ["ana kell"]),
        ("Who is Ana Kell's mother?", ["ana kell"]),
        ("Is Ana Kell (cyclist) older than Brask?", ["ana kell cyclist", "brask"]),
        ("Which river runs by the brask?", []),
        ("which river is near brask", ["river", "brask"]),
        ("Ana Kell, Ana Kell and ANA KELL", ["ana kell"]),
        ("", []),
    ],
)
def test_a_question_names_the_longest_known_keys(question, expected):
    known = {"ana kell", "ana kell cyclist", "salt choir", "choir", "brask", "river", "kell", "where"}
    assert named_in(question, known) == expected


def test_titles_are_found_however_they_are_written_but_never_one_word_alone():
    finder = TitleFinder(["person centered therapy", "therapy", "therapy today", "andaman and nicobar islands"])
    said = "A person-centered therapy, not therapy; see Therapy Today of the Andaman and Nicobar Islands."
    assert finder.find(said) == ["person centered therapy", "therapy today", "andaman and nicobar islands"]
    assert finder.find("") == []


@given(st.text(max_size=200))
def test_any_text_gives_clean_keys_that_are_their_own_keys(text):
    casing = Casing()
    casing.add(text)
    for key in entity_keys(text, casing):
        assert key == " ".join(key.split())
        assert key
    named_in(text, {"a b"})
    title_keys(text)
