"""A key that a provider echoes reaches no trajectory, page or log line."""

import pytest

from executionrag.program.secrets import mask_keys


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Incorrect API key provided: sk-proj-abcDEF123456.", "Incorrect API key provided: [key]."),
        ("sk-proj-****************wxyz is wrong", "[key] is wrong"),
        ("AIzaSyA1234567890abcdef", "[key]"),
        ("Authorization: Bearer abc.def.ghi", "Authorization: [key]"),
        ("keyword_search found nothing; the task-force", "keyword_search found nothing; the task-force"),
    ],
)
def test_what_looks_like_a_key_is_masked_and_nothing_else(text, masked):
    assert mask_keys(text) == masked
