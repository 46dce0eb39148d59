"""A look at the LM before a question is started: is it there, does it take the key, does it know the model.

The server's list of models answers all three without generating anything, so without cost. Only where a provider has no
such list, or the name is not on it, is a completion of a few tokens asked for.
"""

import difflib
import http.client
import json
import urllib.request
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import dspy

from ..errors import UserError
from .api_keys import DUMMY_KEY
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
# Ollama reads a model's file into memory when it is first used.
_LOAD_SECONDS = 120
_PROBE_TOKENS = 16
# Under this many tokens the evidence of a multi-hop question does not fit.
SMALL_WINDOW = 8_192
LARGER_WINDOW = (
    "raise it where the server is started (Ollama, which cuts longer prompts silently: OLLAMA_CONTEXT_LENGTH=16384, or "
    "num_ctx in the model's Modelfile; vLLM: --max-model-len; llama.cpp: --ctx-size)"
)


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


def check_lm(lm: dspy.LM) -> int | None:
    """Raise unless the LM is ready to answer; free wherever a model list is served, and quick.

    Only Ollama takes longer: its model is loaded, as the first question would, for only then it tells its window.

    Returns:
        The context window in tokens, where the server says it.

    Raises:
        UserError: It cannot be reached, refuses the key, or does not know the model; one line with the remedy.
    """
    prefix, _, name = lm.model.partition("/")
    if prefix == EMBEDDED_PROVIDER:
        return None  # it was loaded when it was made, and its window is known
    base_url = lm.kwargs.get("api_base")
    try:
        models = list_models(lm)
    except dspy.LMError as error:
        raise UserError(_explained(lm, error)) from error
    window = None if models is None else models.context_window
    if models is not None and models.has(name):
        return window
    try:
        complete_tiny(lm)
    except Exception as error:
        unknown = isinstance(error, dspy.LMUnsupportedModelError) or getattr(error, "status", None) == 404
        if unknown and models is not None and models.names:
            where = f" at {base_url}" if base_url else ""
            raise UserError(f"{lm.model} is not served{where}: {suggest(name, models)}") from error
        raise UserError(_explained(lm, error)) from error
    return window


def _explained(lm: dspy.LM, error: BaseException) -> str:
    """The failure in one line; a server that wants more than the dummy key gets its own remedy."""
    base_url = lm.kwargs.get("api_base")
    if isinstance(error, dspy.LMAuthError) and lm.kwargs.get("api_key") == DUMMY_KEY:
        return f"{lm.model} at {base_url} asks for an API key: name the variable that holds it with --api-key-env"
    return explain_lm_error(error, base_url=base_url)


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
        context_window=_window(raw)
        or _other_window(name, base_url, ollama=prefix in {"ollama", "ollama_chat"} or owners == {"library"}),
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
    meta = raw.get("meta")
    places = [raw.get("max_model_len"), raw.get("context_length"), raw.get("context_window")]
    places.append(meta.get("n_ctx") if isinstance(meta, dict) else None)
    return next(filter(None, map(_positive, places)), None)


def _other_window(name: str, base_url: str | None, *, ollama: bool) -> int | None:
    """The context window from llama.cpp's `/props` or from Ollama's list of loaded models, beside their `/v1`."""
    if not base_url:
        return None
    parts = urlsplit(base_url)
    root = f"{parts.scheme}://{parts.netloc}"
    if ollama:
        # A request without a prompt only loads the model.
        return _loaded_window(root, name) or (
            _loaded_window(root, name) if _get_json(f"{root}/api/generate", {"model": name}) else None
        )
    settings = _get_json(f"{root}/props").get("default_generation_settings")
    return _positive(settings.get("n_ctx")) if isinstance(settings, dict) else None


def _loaded_window(root: str, name: str) -> int | None:
    loaded = _get_json(f"{root}/api/ps").get("models")
    entries = [entry for entry in loaded if isinstance(entry, dict)] if isinstance(loaded, list) else []
    lengths = [entry.get("context_length") for entry in entries if entry.get("name") in {name, f"{name}:latest"}]
    return next(filter(None, map(_positive, lengths)), None)


def _positive(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _get_json(url: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """A JSON object, or an empty one whatever goes wrong: the question is a courtesy."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {} if data is None else {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=_LOAD_SECONDS if data else _CONNECT_SECONDS) as reply:
            found = json.load(reply)
    except (OSError, ValueError, http.client.HTTPException):
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
