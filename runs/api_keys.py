"""Which API key goes to which address.

A provider's key in the environment is meant for that provider. Where a person gives another address with `--api-base`
and that is in a private network, or would carry the key in the clear, the key stays here and a dummy is sent: a server
of one's own rarely asks for one, and `--api-key-env` names the one that it does ask for. An address that comes from the
environment, as the key does, is taken to belong to it.
"""

import ipaddress
import os
from urllib.parse import urlsplit

from ..errors import UserError

# Providers whose OpenAI-compatible API DSPy's native engine speaks, with the variables that it reads their key from.
OPENAI_STYLE: dict[str, tuple[str, ...]] = {
    "openai": ("OPENAI_API_KEY",),
    "groq": ("GROQ_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "xai": ("XAI_API_KEY",),
    "moonshot": ("MOONSHOTAI_API_KEY", "MOONSHOT_API_KEY"),
    "ollama": (),
    "ollama_chat": (),
    "hosted_vllm": (),
}
# Native too, with addresses and protocols of their own.
OTHER_NATIVE: dict[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "azure": ("AZURE_OPENAI_API_KEY",),
}
# LiteLLM's prefixes for servers of one's own: a key in their variable is that server's. And those that sign requests.
_OWN_KEY = frozenset(
    {"lm_studio", "litellm_proxy", "llamafile", "xinference", "infinity", "lemonade", "docker_model_runner"}
    | {"bedrock", "sagemaker", "sagemaker_chat", "vertex_ai"}
)
# What a server that asks for no key is sent, because the client library wants one; any word does.
DUMMY_KEY = "local"


def find_key(
    spec: str, prefix: str, base_url: str | None, api_key: str | None, *, chosen: bool
) -> tuple[str | None, str]:
    """The key to pass on, where DSPy does not find it itself, and where it comes from.

    Args:
        spec: The model string, for messages.
        prefix: Its provider.
        base_url: Where requests go; None is the provider's own address.
        api_key: The key that a person named.
        chosen: Whether she gave the address herself, rather than the environment.

    Raises:
        UserError: The provider wants a key and there is none.
    """
    if api_key:
        return api_key, "named by --api-key-env"
    variables = OPENAI_STYLE.get(prefix, OTHER_NATIVE.get(prefix))
    found = next((variable for variable in variables or () if os.environ.get(variable)), None)
    if chosen and base_url and variables != () and prefix not in _OWN_KEY and is_unsafe(base_url):
        if found is None:
            return DUMMY_KEY, "none needed"
        return DUMMY_KEY, f"none: {found} is kept from a private or plain-http address (--api-key-env sends one)"
    if not variables:
        return None, "none needed" if variables == () else "the provider's own"
    if found:
        return None, found
    if base_url is not None and is_private(base_url):
        return DUMMY_KEY, "none needed"
    if prefix == "azure":
        return None, "the provider's own"  # a signed-in account does as well
    hint = " (to any word, where the server asks for none)" if base_url is not None else ""
    raise UserError(f"--lm {spec} has no API key: set {' or '.join(variables)}{hint}")


def is_unsafe(base_url: str) -> bool:
    """Whether an address is no place for a provider's key: private, or without encryption."""
    return urlsplit(base_url).scheme == "http" or is_private(base_url)


def is_private(base_url: str) -> bool:
    """Whether an address is this machine or its network, where servers rarely ask for a key."""
    host = urlsplit(base_url).hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith((".local", ".internal", ".lan", ".localhost"))
    return address.is_private or address.is_loopback
