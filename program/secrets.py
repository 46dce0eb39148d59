"""Keys that a provider echoes in an error, masked before the message is recorded or shown."""

import os
import re

# What the well-known providers' keys look like, whole or already starred out in part.
_KEY_LIKE = re.compile(r"\b(?:sk|pk|gsk|xai|key|hf)[-_][A-Za-z0-9*_-]{8,}|\bAIza[A-Za-z0-9*_-]{8,}|(?i:\bbearer\s+)\S+")


def mask_keys(text: str) -> str:
    """The text with whatever looks like an API key, or is one in the environment, replaced."""
    for name, value in os.environ.items():
        if name.endswith(("_API_KEY", "_TOKEN")) and len(value) >= 8:
            text = text.replace(value, "[key]")
    return _KEY_LIKE.sub("[key]", text)
