"""The embedded LM as a `dspy.LM`: DSPy's native engine talking to the server in this process.

The server is declared to DSPy as a provider that honours response schemas, so that `dspy.JSONAdapter` sends each step's
JSON schema and llama.cpp constrains the reply to it, fields in the signature's order. The model's name carries the
file's fingerprint: DSPy's response cache, run records and settings digests tell model files apart by name, and the
port, which changes with each process, plays no part in them.
"""

import logging
import threading
from dataclasses import replace
from pathlib import Path

import dspy

from .model_download import Notify, Progress
from .model_file import MODEL_NAME, default_model_path, find_or_fetch_model, fingerprint
from .server import LocalServer, check_gguf, import_runtime, serve

logger = logging.getLogger(__name__)

PROVIDER = "embedded"
# Tokens. Our steps need 50 to 250; what runs on is a loop that a small model does not leave by itself.
LONGEST_REPLY = 512
# A call waits for the calls before it; with many threads that can be long.
_TIMEOUT_SECONDS = 3600
_register_lock = threading.Lock()


def local_lm(
    model_path: Path | None = None,
    *,
    notify: Notify = logger.info,
    progress: Progress | None = None,
    temperature: float = 0.0,
    max_tokens: int = LONGEST_REPLY,
    cache: bool = True,
) -> dspy.LM:
    """Return an LM that runs in this process, fetching the model and loading it where needed.

    Use it with `dspy.JSONAdapter()`: replies are then constrained to the output fields' JSON schema.

    Args:
        model_path: A GGUF file; the default model where None.
        notify: Told, a line a call, what is about to be downloaded or loaded.
        progress: Told `(bytes done, bytes in all)` during a download.
        temperature: 0 is greedy.
        max_tokens: Longest reply; ends a reply that would never end inside a string.
        cache: Whether DSPy keeps replies on disk.

    Raises:
        UserError: The runtime or the model cannot be had; the message says why.
    """
    server = local_server(model_path, notify=notify, progress=progress)
    _declare_provider()
    return dspy.LM(
        f"{PROVIDER}/{server.model_name}",
        engine="lm15",
        api_base=server.base_url,
        temperature=temperature,
        max_tokens=max_tokens,
        timeout=_TIMEOUT_SECONDS,
        cache=cache,
    )


def local_server(
    model_path: Path | None = None, *, notify: Notify = logger.info, progress: Progress | None = None
) -> LocalServer:
    """The server behind `local_lm`, started where it is not running yet.

    Raises:
        UserError: The runtime or the model cannot be had; the message says why.
    """
    import_runtime()  # before a gigabyte is downloaded for nothing
    path = find_or_fetch_model(notify, progress) if model_path is None else model_path.expanduser()
    check_gguf(path)
    return serve(path, model_name(path))


def model_name(path: Path) -> str:
    """The name of a model file: its stem and its fingerprint."""
    stem = MODEL_NAME if path == default_model_path() else path.stem
    return f"{stem}@{fingerprint(path)}"


def _declare_provider() -> None:
    """Tell DSPy once a process that this server honours JSON schemas."""
    from dspy import lm15

    from .wire import AsyncConstrainedChatLM, ConstrainedChatLM

    definition = lm15.ProviderDefinition.chat(
        lm15.AccessPolicy(provider=PROVIDER, base_url="http://127.0.0.1/v1"),
        compat=lm15.OpenAIChatCompat(
            instruction_role="system",
            max_tokens_field="max_tokens",
            thinking_format="none",
            cache_control="none",
            json_schema="send",
        ),
        placeholder_key="embedded",
        note="the LM embedded in this process",
    )
    definition = replace(definition, adapter=ConstrainedChatLM, async_adapter=AsyncConstrainedChatLM)
    with _register_lock:
        lm15.register_provider(definition, supports=lm15.ModelSupport(response_schema=True))
