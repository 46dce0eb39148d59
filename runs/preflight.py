"""A look at the LM before a question is started: is it there, does it take the key, does it know the model.

The server's list of models answers all three without generating anything, so without cost. Only where a provider has no
such list, or the name is not on it, is a completion of a few tokens asked for.
"""

import difflib
import json
import urllib.request
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import dspy

from ..errors import UserError
from .lm_errors import explain_lm_error
from .local_lm.lm import PROVIDER as EMBEDDED_PROVIDER

# DSPy's prefixes as its native engine spells them; a model string "provider:name" is lm15's own.
_NATIVE = {
    "openai": "openai-chat",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "groq": "groq",
    "openrouter": "openrouter",
    "deepseek": "deepseek",
    "xai": "xai",
    "ollama": "ollama",
    "ollama_chat": "ollama",
    "hosted_vllm": "vllm",
    "moonshot": "moonshotai",
}
_CONNECT_SECONDS = 5
_READ_SECONDS = 15
_PROBE_TOKENS = 16


@dataclass(frozen=True)
class ModelList:
    """What a server says about its models.

    Attributes:
        names: As the server spells them.
        any_name: Whether the server takes whatever name it is given (llama.cpp with one model).
        context_window: Tokens, for the model asked about, where the server says it.
    """

    names: tuple[str, ...]
    any_name: bool = False
    context_window: int | None = None

    def has(self, name: str) -> bool:
        """Whether the server answers to the name."""
        return self.any_name or name in self.names or f"{name}:latest" in self.names


def check_lm(lm: dspy.LM) -> None:
    """Raise unless the LM is ready to answer; seconds at the most, and free wherever a model list is served.

    Raises:
        UserError: It cannot be reached, refuses the key, or does not know the model; one line with the remedy.
    """
    prefix, _, name = lm.model.partition("/")
    if prefix == EMBEDDED_PROVIDER:
        return  # it was loaded when it was made
    base_url = lm.kwargs.get("api_base")
    try:
        models = list_models(lm)
    except dspy.LMError as error:
        raise UserError(explain_lm_error(error, base_url=base_url)) from error
    if models is not None and models.has(name):
        return
    try:
        complete_tiny(lm)
    except Exception as error:
        unknown = isinstance(error, dspy.LMUnsupportedModelError) or getattr(error, "status", None) == 404
        if unknown and models is not None and models.names:
            where = f" at {base_url}" if base_url else ""
            raise UserError(f"{lm.model} is not served{where}: {suggest(name, models)}") from error
        raise UserError(explain_lm_error(error, base_url=base_url)) from error


def list_models(lm: dspy.LM) -> ModelList | None:
    """Ask the provider for its models; None where it serves no such list.

    Raises:
        dspy.LMError: It cannot be reached, or refuses the key.
    """
    from dspy import lm15

    prefix, _, name = lm.model.partition("/")
    provider = _NATIVE.get(prefix)
    if provider is None:
        return None
    base_url, key = lm.kwargs.get("api_base"), lm.kwargs.get("api_key")
    config = lm15.RouterConfig(
        api_keys={provider: key} if key else None,
        base_urls={provider: base_url} if base_url else None,
        timeouts=lm15.Timeouts(connect=_CONNECT_SECONDS, read=_READ_SECONDS),
    )
    try:
        found = lm15.LMRouter(config).lm(f"{provider}:{name}").list_models()
    except (lm15.AuthError, lm15.NotConfiguredError, lm15.TransportError, lm15.TimeoutError) as error:
        raise _as_dspy(error, lm.model) from error
    except (lm15.LM15Error, ValueError, TypeError):
        return None  # no list, or one that cannot be read: not a reason to refuse the LM
    entries = {model.id: _raw(model) for model in found}
    owners = {str(raw.get("owned_by", "")).lower() for raw in entries.values()}
    raw = (
        entries.get(name)
        or entries.get(f"{name}:latest")
        or (next(iter(entries.values())) if len(entries) == 1 else {})
    )
    return ModelList(
        names=tuple(sorted(entries)),
        any_name=owners == {"llamacpp"} and len(entries) == 1,
        context_window=_window(raw) or _other_window(prefix, name, base_url),
    )


def complete_tiny(lm: dspy.LM) -> str:
    """Ask for a completion of a few tokens, once, past the cache; returns the text.

    Raises:
        dspy.LMError: It failed.
    """
    options: dict[str, Any] = {"cache": False, "num_retries": 0}
    if lm.kwargs.get("temperature") is not None:  # reasoning models spend their first tokens unseen
        options["max_tokens"] = _PROBE_TOKENS
    probe = lm.copy(**options)
    with dspy.context(callbacks=[], disable_history=True):
        outputs = probe("Reply with the word ready.")
    return str(outputs[0]) if outputs else ""


def suggest(name: str, models: ModelList) -> str:
    """What the server serves instead, the closest names first."""
    close = difflib.get_close_matches(name, models.names, n=3, cutoff=0.5)
    shown = close or list(models.names[:5])
    more = "" if close or len(models.names) <= 5 else f" and {len(models.names) - 5} more"
    return f"did you mean {' or '.join(close)}?" if close else f"it serves {', '.join(shown)}{more}"


def _raw(model: Any) -> dict[str, Any]:
    """The list entry as the server wrote it."""
    data = getattr(getattr(model, "origin", None), "provider_data", None)
    return dict(data) if data else {}


def _window(raw: dict[str, Any]) -> int | None:
    """The context window from a list entry: vLLM's, OpenRouter's or llama.cpp's spelling."""
    meta = raw.get("meta") or {}
    for value in (raw.get("max_model_len"), raw.get("context_length"), raw.get("context_window"), meta.get("n_ctx")):
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None


def _other_window(prefix: str, name: str, base_url: str | None) -> int | None:
    """The context window from llama.cpp's `/props` or from Ollama's list of loaded models, beside their `/v1`."""
    if not base_url:
        return None
    parts = urlsplit(base_url)
    root = f"{parts.scheme}://{parts.netloc}"
    if prefix in {"ollama", "ollama_chat"}:
        loaded = _get_json(f"{root}/api/ps").get("models") or []
        lengths = [entry.get("context_length") for entry in loaded if entry.get("name") in {name, f"{name}:latest"}]
        return next((length for length in lengths if isinstance(length, int)), None)
    value = (_get_json(f"{root}/props").get("default_generation_settings") or {}).get("n_ctx")
    return value if isinstance(value, int) and value > 0 else None


def _get_json(url: str) -> dict[str, Any]:
    """A JSON object, or an empty one whatever goes wrong: the question is a courtesy."""
    try:
        with urllib.request.urlopen(url, timeout=_CONNECT_SECONDS) as reply:
            found = json.load(reply)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _as_dspy(error: Any, model: str) -> dspy.LMError:
    """An engine's error under DSPy's name for it."""
    from dspy import lm15

    kinds: tuple[tuple[type[Exception], type[dspy.LMError]], ...] = (
        (lm15.AuthError, dspy.LMAuthError),
        (lm15.NotConfiguredError, dspy.LMNotConfiguredError),
        (lm15.TimeoutError, dspy.LMTimeoutError),
    )
    kind = next((ours for theirs, ours in kinds if isinstance(error, theirs)), dspy.LMTransportError)
    wrapped = kind(error.message, model=model, status=getattr(error, "status", None))
    if isinstance(wrapped, dspy.LMNotConfiguredError):
        wrapped.env_keys = getattr(error, "env_keys", ())
    return wrapped
