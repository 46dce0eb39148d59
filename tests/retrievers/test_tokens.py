import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executionrag.retrievers.tokens import tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Founders founded foundations", ["founder", "found", "foundat"]),
        ("C++ or C# or C", ["c", "c++", "or", "c", "c#", "or", "c"]),
        ("the U.S. of 7", ["the", "u", "s", "us", "of", "7"]),
        ("東京都X", ["東", "京", "都", "東京", "京都", "x"]),
        ("Glénan ＧＬＥＮＡＮ", ["glenan", "glenan"]),
        ("Жук straße", ["жук", "strass"]),
        ("snake_case", ["snake", "case"]),
        ("?! …", []),
        ("", []),
    ],
)
def test_what_a_person_would_search_for_is_a_token(text, expected):
    assert tokens(text) == expected


@settings(deadline=None)
@given(st.text(), st.text())
def test_any_text_has_tokens_and_those_of_a_part_between_spaces_stay(left, right):
    assert tokens(f"{left} . {right}") == tokens(left) + tokens(right)
