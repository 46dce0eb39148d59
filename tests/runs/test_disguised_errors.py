"""Which answers are errors in disguise, and which only speak of errors."""

import pytest

from executionrag.runs.importing.disguised_errors import disguised_error


@pytest.mark.parametrize(
    "answer",
    [
        "Error: 'choices'",
        "ERROR : timeout",
        "[Error]: no reply",
        "LLM error: overloaded",
        "Error code: 429 - rate limited",
        "openai.APITimeoutError: Request timed out.",
        "RateLimitError(429)",
        "Exception: no answer",
        "Traceback (most recent call last):\n  File",
        "An unexpected error occurred while answering",
        "Failed to generate final answer",
        "Request timed out.",
        "rate limit exceeded, retry",
        "503 Service Unavailable",
    ],
)
def test_an_error_in_disguise_is_recognised(answer):
    assert disguised_error(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "Error",
        "The Comedy of Errors",
        "Errors and Omissions: a Play",
        "trial and error",
        "Error by Neighborhood: 2004",
        "Exceptional",
        "Rate",
        "He timed out in the final",
        "The error occurred in 1931",
        "Bad Gateway, a novel",
    ],
)
def test_an_answer_that_only_speaks_of_errors_is_an_answer(answer):
    assert disguised_error(answer) is None
