import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executionrag.retrievers.chunking import chunks, estimate_tokens, sentence_spans, sentences

PROSE = st.lists(
    st.sampled_from(
        [
            "J. R. Tolkien wrote. ",
            "Dr. Who? ",
            "e.g. this",
            "3.14 ",
            "東京です。",
            "\n\n",
            "\r\n",
            " ",
            "word ",
            "x" * 40,
            "!",
        ]
    ),
    max_size=60,
).map("".join)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("J. R. R. Tolkien wrote it. He was born in 1892.", ["J. R. R. Tolkien wrote it. ", "He was born in 1892."]),
        (
            "It cost $3.50, e.g. in the U.S. of old. See Fig. 3.",
            ["It cost $3.50, e.g. in the U.S. of old. ", "See Fig. 3."],
        ),
        ("東京は首都です。人口は多い！", ["東京は首都です。", "人口は多い！"]),
        ("no full stop anywhere", ["no full stop anywhere"]),
        ("One.\n\nTwo.", ["One.\n\n", "Two."]),
        ("  Led by space. End", ["  Led by space. ", "End"]),
        ("", []),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text, expected):
    assert sentences(text) == expected


@settings(deadline=None)
@given(st.one_of(st.text(), PROSE))
def test_sentences_lose_no_character(text):
    assert "".join(sentences(text)) == text


@settings(max_examples=20, deadline=None)
@given(PROSE, st.integers(1, 60))
def test_a_text_longer_than_the_window_loses_no_character(text, times):
    long = (text + "One more sentence, with J. R. Tolkien in it. ") * times * 5
    assert "".join(sentences(long)) == long


def test_sentences_across_the_window_are_the_same_as_within_it():
    sentence = "The keeper of the light, Mr. J. Harrow, wrote 3.5 pages. "
    assert set(sentences(sentence * 1000)) == {sentence}


@settings(deadline=None)
@given(st.one_of(st.text(), PROSE), st.integers(1, 50))
def test_chunks_lose_nothing_and_keep_the_limit(text, limit):
    cut = chunks(text, limit)
    assert "".join(cut) == text
    assert all(estimate_tokens(chunk) <= limit for chunk in cut)


def test_chunks_end_with_sentences_and_leave_no_stub():
    text = " ".join(f"Sentence {number} is about ships." for number in range(50))
    cut = chunks(text, 100)
    assert all(chunk.strip().endswith("ships.") for chunk in cut)
    sizes = [estimate_tokens(chunk) for chunk in cut]
    assert min(sizes) > max(sizes) / 2


def test_a_sentence_beyond_the_limit_is_cut_between_words_and_a_word_between_characters():
    assert chunks("alpha beta gamma delta", 2) == ["alpha beta ", "gamma delta"]
    assert "".join(chunks("x" * 100, 3)) == "x" * 100
    assert len(chunks("x" * 100, 3)) > 1


@settings(deadline=None)
@given(st.one_of(st.text(), PROSE))
def test_sentence_spans_are_bare_ordered_and_cover_all_but_space(text):
    spans = sentence_spans(text)
    parts = [text[start:end] for start, end in spans]
    assert all(part == part.strip() and part for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert spans == sorted(spans)


@pytest.mark.parametrize("unit", ["A short sentence. ", "日本語の文です。", "word ", "x", "a.b. ", "\n", "J. "])
def test_a_megabyte_of_anything_is_cut_within_seconds(unit):
    text = unit * (1_000_000 // len(unit.encode()))
    started = time.monotonic()
    cut = chunks(text, 220)
    assert time.monotonic() - started < 20
    assert "".join(cut) == text
