"""From what a person types after `--lm` to a ready `dspy.LM`.

`local` and `local:PATH.gguf` are the embedded LM; anything else is a DSPy model string, `provider/model`. DSPy has two
engines that want differently spelt addresses; here one base URL is accepted and put into the form of the engine that is
going to be used. Mistakes that can be seen without a request (a bare name, a missing key, a misspelt address) are
refused at once.
"""

import logging
import os
import re
import warnings
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

import dspy

from ..errors import UsageError
from .api_keys import OPENAI_STYLE, OTHER_NATIVE, find_key
from .lm_errors import explain_lm_error as explain_lm_error
from .local_lm.lm import LONGEST_REPLY, local_lm, local_server
from .local_lm.lm import PROVIDER as EMBEDDED_PROVIDER
from .local_lm.model_download import Notify, Progress
from .preflight import check_lm as check_lm

logger = logging.getLogger(__name__)

_SERVER_DEFAULTS = {
    "ollama": "http://localhost:11434/v1",
    "ollama_chat": "http://localhost:11434/v1",
    "hosted_vllm": "http://localhost:8000/v1",
}
_ENDPOINT = re.compile(r"/(?:chat/completions|completions|responses|models)$")
_VERSION = re.compile(r"v\d+\w*")
# DSPy's lower bound for the reply of OpenAI's reasoning models, which also fix their temperature.
_REASONING_MAX_TOKENS = 16_000


@dataclass(frozen=True)
class Backend:
    """An LM as a run uses it.

    Attributes:
        label: What records and the response cache know the LM by; never an address with a port.
        lm: The LM.
        adapter: The adapter to configure with it; None leaves DSPy's default.
        base_url: The address that requests go to; None is the provider's own.
        context_window: Longest prompt and reply together, in tokens, where it is known: beforehand for the embedded LM,
            of a server once it was checked (`check_lm`).
    """

    label: str
    lm: dspy.LM
    adapter: dspy.Adapter | None = None
    base_url: str | None = None
    context_window: int | None = None
    # Where the key comes from (an option, a variable, "none needed"); never the key.
    key_source: str = field(default="none needed")

    def settings_name(self, typed: str) -> str:
        """The LM as settings name it, given what was typed: a server's host is part of a label and decides nothing."""
        return self.label if self.adapter is not None else typed


def make_lm(
    spec: str,
    *,
    api_base: str | None = None,
    api_key: str | None = None,
    label: str | None = None,
    temperature: float = 0.0,
    max_tokens: int | None = None,
    num_retries: int = 3,
    timeout: float | None = None,
    cache: bool = True,
    notify: Notify = logger.info,
    progress: Progress | None = None,
) -> Backend:
    """Make the LM that a person named.

    Args:
        spec: `local`, `local:PATH.gguf`, or a DSPy model string such as `openai/gpt-4o-mini`.
        api_base: Address of an OpenAI-compatible server; `/v1` is added where it is missing.
        api_key: The key; where None the provider's environment variable, which a private or plain-http `api_base`
            is not sent.
        label: The name for records and the response cache, which is blind to addresses. The default, the model string
            and the server's host, cannot tell apart two models that one host serves under one name.
        temperature: 0 is greedy. Not sent to OpenAI's reasoning models, which fix their own.
        max_tokens: Longest reply; where None 512 for the embedded LM and the server's own limit elsewhere.
        num_retries: Further attempts after failures that may pass.
        timeout: Seconds to wait for the server's next byte.
        cache: Whether DSPy keeps replies on disk.
        notify: Told what is about to be downloaded, and which settings could not be kept.
        progress: Told `(bytes done, bytes in all)` during a download.

    Raises:
        UsageError: The name or the address cannot be right.
        UserError: The key is missing, or the embedded LM cannot be had.
    """
    spec = spec.strip()
    if spec == "local" or spec.startswith("local:"):
        return _embedded(spec, api_base, temperature, max_tokens, cache, notify, progress)
    prefix = check_spec(spec, api_base)
    base_url = final_base_url(prefix, api_base)
    if without_userinfo(given := _given_base(prefix, api_base)) != given:
        notify("The user name and password in the LM's address are left out: only an API key is sent (--api-key-env).")
    chosen = bool(api_base and api_base.strip())
    key, key_source = find_key(spec, prefix, base_url, api_key, chosen=chosen)
    options: dict[str, object] = {"num_retries": num_retries, "cache": cache}
    if base_url is not None:
        # The native engine by name: a base URL in the environment would otherwise send the call through LiteLLM.
        options |= {"api_base": base_url, "engine": "lm15" if prefix in OPENAI_STYLE else "auto"}
        label = label or f"{spec}@{urlsplit(base_url).hostname}"
    if key is not None:
        options["api_key"] = key
    if timeout is not None:
        options["timeout"] = timeout
    label = label or spec
    if label != spec:
        # DSPy's cache key holds the model's name but no address; this number puts the label into it.
        options["rollout_id"] = int(sha256(label.encode()).hexdigest()[:12], 16)
        warnings.filterwarnings("ignore", message="rollout_id has no effect when temperature=0")
    lm = _construct(spec, temperature, max_tokens, options, notify)
    return Backend(label=label, lm=lm, base_url=base_url, key_source=key_source)


def check_spec(spec: str, api_base: str | None = None) -> str:
    """Return the provider prefix of a model string, or refuse it with the likely fix.

    Raises:
        UsageError: It is blank, a bare name, a path, or has a prefix that no provider answers to.
    """
    if not spec:
        raise UsageError("--lm is blank: name a model, e.g. local, openai/gpt-4o-mini or ollama_chat/llama3.2")
    if spec.lower().endswith(".gguf"):
        raise UsageError(f"--lm {spec} looks like a model file: did you mean --lm local:{spec}")
    prefix, separator, name = spec.partition("/")
    if not separator:
        raise UsageError(f"--lm {spec} lacks its provider: did you mean {_guess(spec, api_base)}")
    if not name or not prefix:
        raise UsageError(f"--lm {spec} is incomplete: it takes the form provider/model, e.g. openai/gpt-4o-mini")
    if prefix == "vllm":
        raise UsageError(f"--lm {spec} would load vLLM in this process: did you mean hosted_vllm/{name} --api-base URL")
    if prefix in {"llama_cpp", "llamacpp", "llama.cpp", "llama-cpp"}:
        raise UsageError(f"--lm {spec}: for llama.cpp's server use openai/{name} --api-base http://localhost:8080/v1")
    if prefix not in OPENAI_STYLE and prefix not in OTHER_NATIVE and not _litellm_knows(prefix):
        raise UsageError(
            f"--lm {spec}: there is no provider {prefix!r}; for a server that serves {spec} "
            f"use hosted_vllm/{spec} or openai/{spec} with --api-base"
        )
    return prefix


def final_base_url(prefix: str, api_base: str | None) -> str | None:
    """The address that requests of a provider go to, in the form of the engine that DSPy uses for it.

    For OpenAI-style providers it ends in the API's version: `/v1` is added where there is none, and an endpoint's path
    is cut off. Elsewhere only a trailing slash is dropped. A user name and password are left out: the engines do not
    send them, and the address is shown.

    Args:
        prefix: The provider's prefix in the model string.
        api_base: What the person gave; else `<PREFIX>_API_BASE` or `<PREFIX>_BASE_URL`, then the prefix's usual server.

    Returns:
        The address, or None for a hosted provider's own.

    Raises:
        UsageError: It is no http address.
    """
    given = _given_base(prefix, api_base)
    if not given:
        return _SERVER_DEFAULTS.get(prefix)
    url = without_userinfo(given.rstrip("/"))
    # In a message even what may be a path goes: a password can hold a slash.
    shown = re.sub(r"(//|^)(?!.*//).*@", r"\1", given)
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError as error:  # a bracket or a port that is none
        raise UsageError(f"the LM's address {shown} cannot be read: it takes the form http://HOST:PORT/v1") from error
    if not usable:
        raise UsageError(f"the LM's address {shown} is no http address: did you mean http://{shown.split('://')[-1]}")
    if prefix not in OPENAI_STYLE:
        return url
    url = _ENDPOINT.sub("", url)
    if prefix in {"ollama", "ollama_chat"}:
        url = re.sub(r"/api(?:/chat|/generate)?$", "", url)
    if not any(_VERSION.fullmatch(segment) for segment in urlsplit(url).path.split("/")):
        url += "/v1"
    return url


def _embedded(
    spec: str,
    api_base: str | None,
    temperature: float,
    max_tokens: int | None,
    cache: bool,
    notify: Notify,
    progress: Progress | None,
) -> Backend:
    """The LM in this process, with replies constrained to each step's schema."""
    if api_base:
        raise UsageError(f"--lm {spec} runs in this process and takes no --api-base: name a server's model instead")
    _, colon, name = spec.partition(":")
    if colon and not name:
        raise UsageError("--lm local: lacks the path of a GGUF file; --lm local alone is the default model")
    path = Path(name) if colon else None
    lm = local_lm(
        path,
        notify=notify,
        progress=progress,
        temperature=temperature,
        max_tokens=max_tokens or LONGEST_REPLY,
        cache=cache,
    )
    server = local_server(path, notify=notify, progress=progress)
    return Backend(
        label=f"{EMBEDDED_PROVIDER}/{server.model_name}",
        lm=lm,
        adapter=dspy.JSONAdapter(),
        base_url=server.base_url,
        context_window=server.context_window,
    )


def _construct(
    spec: str, temperature: float, max_tokens: int | None, options: dict[str, object], notify: Notify
) -> dspy.LM:
    """Construct the LM; OpenAI's reasoning models refuse a temperature and short replies, so they get neither."""
    try:
        return dspy.LM(spec, temperature=temperature, max_tokens=max_tokens, **options)
    except dspy.LMConfigurationError:
        longest = None if max_tokens is None else max(max_tokens, _REASONING_MAX_TOKENS)
        notify(
            f"{spec} is a reasoning model: it sets its own temperature, and its reply limit is {longest or 'its own'}."
        )
        return dspy.LM(spec, temperature=None, max_tokens=longest, **options)


def without_userinfo(url: str) -> str:
    """The address without the user name and password before its host."""
    return re.sub(r"^([a-z][a-z0-9+.-]*://)?[^/?#]*@", r"\1", url, flags=re.IGNORECASE)


def _given_base(prefix: str, api_base: str | None) -> str:
    """The address as the person or else her environment gives it; blank for none."""
    return (api_base or "").strip() or _environment_base(prefix) or ""


def _environment_base(prefix: str) -> str | None:
    names = [f"{prefix.upper()}_API_BASE", f"{prefix.upper()}_BASE_URL"]
    if prefix == "ollama_chat":
        names.append("OLLAMA_API_BASE")
    return next((value for name in names if (value := os.environ.get(name, "").strip())), None)


def _litellm_knows(prefix: str) -> bool:
    """Whether LiteLLM, DSPy's fallback, has a provider of that name. Slow to import, and needed then anyway."""
    try:
        from litellm.types.utils import LlmProviders
    except ImportError:
        return True  # let DSPy say it
    return prefix in {provider.value for provider in LlmProviders}


def _guess(name: str, api_base: str | None) -> str:
    """The model string that a bare name most likely means."""
    if api_base:
        return f"openai/{name}"
    lowered = name.lower()
    for start, prefix in (("gpt-", "openai"), ("chatgpt", "openai"), ("claude", "anthropic"), ("gemini", "gemini")):
        if lowered.startswith(start):
            return f"{prefix}/{name}"
    if re.match(r"o\d", lowered):
        return f"openai/{name}"
    return f"ollama_chat/{name} (Ollama), hosted_vllm/{name} (vLLM), or local (the embedded LM)?"
