"""The context window of an LM, where it can be known without asking it."""

import functools
import logging
from typing import Any

logger = logging.getLogger(__name__)


def lm_window(lm: Any) -> int | None:
    """Tokens that an LM's window holds: from the LM itself, else from DSPy's model catalogue, else None."""
    told = getattr(lm, "context_window", None)
    if isinstance(told, int) and told > 0:
        return told
    provider, _, model = str(getattr(lm, "model", "")).partition("/")
    return _listed(provider, model) if model else None


@functools.lru_cache(maxsize=64)
def _listed(provider: str, model: str) -> int | None:
    """What the catalogue says; reading it takes as long as a step of a question does, without the LM."""
    try:
        from dspy.clients.model_metadata import model_info

        listed = model_info(provider, model).get("max_input_tokens")
    except Exception:  # the catalogue is advice: whatever is wrong with it must not stop a question
        logger.debug("no catalogue entry for %s/%s", provider, model, exc_info=True)
        return None
    return listed if isinstance(listed, int) and listed > 0 else None
