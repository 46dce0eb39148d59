"""What went wrong with an LM, in one line that says what to do.

DSPy's errors name the cause by class; their messages are the provider's own and may run over many lines. Keys that a
provider echoes are masked.
"""

import http.client

import dspy

from ..errors import UserError
from ..program.secrets import mask_keys

_LONGEST_DETAIL = 300
# How DSPy's transport says that something answered, but not as a web server does.
_NO_HTTP = ("malformed", "closed connection before", "body bytes outstanding", "response head exceeded")


def explain_lm_error(error: BaseException, *, base_url: str | None = None) -> str:
    """Explain a failed LM call in one line with the remedy.

    Args:
        error: What the call raised.
        base_url: The server's address, where it is known.

    Returns:
        One line, without any key.
    """
    if isinstance(error, UserError):
        return str(error)
    model = getattr(error, "model", None) or "the LM"
    where = f"{model} at {base_url}" if base_url else str(model)
    detail = _detail(error)
    match error:
        case dspy.AdapterParseError():
            return (
                f"the LM's reply does not have the asked form: {_detail(error)}; a larger model or JSON mode may help"
            )
        case dspy.LMNotConfiguredError():
            variables = " or ".join(getattr(error, "env_keys", ()) or ())
            return f"{where} has no API key: set {variables or 'the environment variable of its provider'}"
        case dspy.LMConfigurationError():
            return f"{where} is configured wrongly: {detail}"
        case dspy.LMAuthError():
            return f"{where} refused the API key: check it, and that it belongs to this server ({detail})"
        case dspy.LMBillingError():
            return f"{where} refused for lack of credit: check the account's billing ({detail})"
        case dspy.LMRateLimitError():
            return f"{where} limits the rate or the quota is used up: wait, or use fewer threads ({detail})"
        case dspy.LMUnsupportedModelError() | dspy.LMInvalidRequestError(status=404):
            return (
                f"{where} is not known there: check the model's name after the prefix, and that the address is the "
                f"OpenAI-compatible root, ending in /v1 ({detail})"
            )
        case dspy.ContextWindowExceededError():
            return f"the prompt is longer than the context window of {where}: use fewer or shorter passages ({detail})"
        case dspy.LMTimeoutError():
            return f"{where} took too long to answer: try again, or allow a longer timeout ({detail})"
        case dspy.LMTransportError():
            if "timed out" in detail.lower() or "timeout" in detail.lower():
                return f"{where} did not answer in time: is the server busy or stuck? ({detail})"
            if any(sign in detail for sign in _NO_HTTP):
                return f"{where} broke off or speaks no HTTP: are address and port right? ({detail})"
            return f"{where} cannot be reached: is the server running and the address right? ({detail})"
        case dspy.LMServerError():
            return f"{where} failed on its own side: try again later, or read the server's log ({detail})"
        case dspy.LMInvalidRequestError():
            return f"{where} refused the request: {detail}"
        case dspy.LMUnsupportedFeatureError():
            return f"{where} does not support what was asked: {detail}"
        case dspy.LMError():
            return f"{where} failed: {detail}"
        case http.client.HTTPException():
            return (
                f"{where} broke off or speaks no HTTP: are address and port right? ({type(error).__name__}: {detail})"
            )
    return f"the LM call failed: {type(error).__name__}: {detail}"


def _detail(error: BaseException) -> str:
    """The error's own message on one line, cut and masked, with the HTTP status where there is one."""
    text = str(getattr(error, "message", "") or error) or type(error).__name__
    text = mask_keys(" ".join(text.split()))
    if len(text) > _LONGEST_DETAIL:
        text = text[:_LONGEST_DETAIL] + "…"
    status = getattr(error, "status", None)
    return f"HTTP {status}: {text}" if status and str(status) not in text else text
