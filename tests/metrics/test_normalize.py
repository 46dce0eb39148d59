"""Normalisation gives what the official scripts give, case by case."""

import pytest

from executionrag.metrics.normalize import normalize


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("The Red Kite", "red kite"),
        ("a, an & the!", ""),
        ("  New\tYork\n City ", "new york city"),
        ("Anglo-Saxon", "anglosaxon"),
        ("U.S.", "us"),
        ("1,250", "1250"),
        ("Athena", "athena"),  # an article inside a word stays
        ("the-end", "theend"),  # punctuation is deleted before articles are dropped
        ("A", ""),
        ("The The", ""),
        ("", ""),
        ("Beyoncé", "beyoncé"),
        ("O’Hara", "o’hara"),  # only ASCII punctuation, as the scripts
        ("ÉCOLE", "école"),
        ("東京", "東京"),
        ("\ud800 x", "\ud800 x"),
    ],
)
def test_text_is_normalised_as_by_the_official_scripts(text, normalized):
    assert normalize(text) == normalized


def test_normalising_twice_changes_nothing():
    for text in ("The the cat", "a-the", "...", "No.", "An  A"):
        assert normalize(normalize(text)) == normalize(text)
