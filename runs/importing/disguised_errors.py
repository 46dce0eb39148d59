"""Answers that are errors in disguise: what a runner wrote into the answer because there was none.

Each is recognised at the beginning of the answer, case aside but for the class names, and makes the row a failed one:
it is not right, and *Not scored* in the failure categories. An answer that merely speaks of an error is an answer.
"""

import re

#: What is recognised, by name. The README lists them.
DISGUISES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "Error: …",
        re.compile(r"\W{0,3}(?:(?:api|llm|lm|http|request|server|client|model) )?error\W{0,2}:", re.IGNORECASE),
    ),
    ("Error code: 429 …", re.compile(r"\W{0,3}error (?:code:? ?)?\d{3}\b", re.IGNORECASE)),
    ("RateLimitError: …, openai.APIError(…)", re.compile(r"(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception)\s*[:(]")),
    ("Exception: …", re.compile(r"exception:", re.IGNORECASE)),
    ("Traceback (most recent call last)", re.compile(r"traceback \(most recent call last\)", re.IGNORECASE)),
    ("An error occurred …", re.compile(r"an? (?:\w+ )?(?:error|exception) (?:has )?occurred\b", re.IGNORECASE)),
    (
        "Failed to generate …",
        re.compile(r"failed to (?:generate|get|produce)\b.{0,20}\b(?:answer|response)", re.IGNORECASE),
    ),
    (
        "Connection error, Request timed out",
        re.compile(r"(?:connection error|(?:request )?timed out)\W*$", re.IGNORECASE),
    ),
    ("Rate limit exceeded …", re.compile(r"rate ?limit (?:reached|exceeded)", re.IGNORECASE)),
    (
        "Internal Server Error, Bad Gateway, Service Unavailable, Gateway Timeout",
        re.compile(
            r"(?:5\d\d )?(?:internal server error|bad gateway|service unavailable|gateway time-?out)\W*$", re.IGNORECASE
        ),
    ),
)


def disguised_error(answer: str) -> str | None:
    """The name of the disguise that an answer is; None where it is an answer."""
    said = answer.strip()
    return next((name for name, pattern in DISGUISES if pattern.match(said)), None)
