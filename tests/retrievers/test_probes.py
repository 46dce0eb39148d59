"""Probe queries: made from the passages alone, the same each time, lying between two of them."""

from hypothesis import given
from hypothesis import strategies as st

from executionrag.retrievers.passage import Passage
from executionrag.retrievers.probes import COUNT, probe_texts

TEXTS = st.text(min_size=1).filter(str.strip)


def corpus(count):
    return [Passage(f"p{i:04}", f"Title {i}", f"Start of {i}. End of {i}.", f"p{i:04}", 0) for i in range(count)]


def test_a_probe_is_the_title_of_one_passage_with_a_sentence_of_any():
    made = probe_texts(corpus(40), 10)
    assert len(made) == 10
    sentences = {sentence for i in range(40) for sentence in (f"Start of {i}.", f"End of {i}.")}
    for text in made:
        _, number, rest = text.split(" ", 2)
        assert text.startswith("Title ")
        assert 0 <= int(number) < 40
        assert rest.strip() in sentences


def test_no_passage_is_named_twice_and_there_are_no_more_probes_than_passages():
    made = probe_texts(corpus(12))
    assert sorted(int(text.split()[1]) for text in made) == list(range(12))
    assert len(probe_texts(corpus(COUNT + 5))) == COUNT


def test_probes_are_the_same_each_time():
    assert probe_texts(corpus(300)) == probe_texts(corpus(300))


def test_a_passage_without_title_is_named_by_its_first_words():
    (made,) = probe_texts([Passage("a", " ", "one two three four five six seven eight nine ten", "a", 0)])
    assert made.startswith("one two three four five six seven eight one two")


@given(st.lists(st.tuples(st.text(), TEXTS), min_size=1, max_size=8))
def test_every_corpus_gives_probes_that_say_something(rows):
    made = probe_texts([Passage(str(i), title, text, str(i), 0) for i, (title, text) in enumerate(rows)])
    assert len(made) == len(rows)
    assert all(text.strip() for text in made)
