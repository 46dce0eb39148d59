"""What an LM backend really is: address, key, model, a first reply, structured output, context window, caches.

Nothing is printed and nothing is raised for a finding: each check gives one `Finding` with the likely remedy, and a
check that depends on a failed one is left out.
"""

import json
import logging
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy

from ..errors import UserError
from ..retrievers.files import sha256_of
from .backends import Backend, make_lm
from .lm_errors import explain_lm_error
from .local_lm import model_file
from .local_lm.lm import PROVIDER as EMBEDDED_PROVIDER
from .local_lm.model_download import Notify, Progress
from .local_lm.server import check_gguf, import_runtime, thread_count
from .preflight import LARGER_WINDOW, SMALL_WINDOW, complete_tiny, list_models, suggest

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Finding:
    """One thing looked at.

    Attributes:
        name: What was looked at.
        value: What was seen; never a key.
        ok: True, False, or None where it is neither good nor bad.
        remedy: What to do about it; blank where there is nothing to do.
    """

    name: str
    value: str
    ok: bool | None = None
    remedy: str = ""


def diagnose(
    spec: str,
    *,
    api_base: str | None = None,
    api_key: str | None = None,
    timeout: float | None = 60.0,
    notify: Notify = logger.info,
    progress: Progress | None = None,
) -> list[Finding]:
    """Look at the LM that a person named, in the order in which things can fail.

    With `local` a model that has not been downloaded is reported and not fetched.

    Args:
        spec: As for `make_lm`.
        api_base: As for `make_lm`.
        api_key: As for `make_lm`.
        timeout: Seconds to wait for the server.
        notify: Told what is about to be loaded.
        progress: As for `make_lm`.

    Returns:
        The findings; the LM is usable if none has `ok=False`.
    """
    findings: list[Finding] = []
    if spec == "local" or spec.startswith("local:"):
        findings += _embedded_files(spec)
        if any(finding.ok is False for finding in findings):
            return findings
    try:
        backend = make_lm(spec, api_base=api_base, api_key=api_key, timeout=timeout, notify=notify, progress=progress)
    except UserError as error:
        return [*findings, Finding("LM", spec, False, str(error))]
    return [*findings, *_live(backend)]


def _live(backend: Backend) -> Iterator[Finding]:
    """What can only be seen by asking the server."""
    yield Finding("LM", backend.label, True)
    yield Finding("address", backend.base_url or "the provider's own", True)
    if backend.lm.model.partition("/")[0] != EMBEDDED_PROVIDER:
        yield Finding("key", backend.key_source, True)
    window = backend.context_window
    try:
        models = None if window else list_models(backend.lm)
    except dspy.LMError as error:
        yield Finding("server", type(error).__name__, False, explain_lm_error(error, base_url=backend.base_url))
        return
    if models is not None:
        name, window = backend.lm.model.partition("/")[2], models.context_window
        if models.has(name):
            yield Finding("model", f"{name} is served", True)
        else:
            yield Finding("model", f"{name} is not on the server's list", None, suggest(name, models))
    try:
        yield Finding("reply", repr(complete_tiny(backend.lm).strip()[:40]), True)
    except Exception as error:
        yield Finding("reply", type(error).__name__, False, explain_lm_error(error, base_url=backend.base_url))
        return
    yield _structured_output(backend)
    if window is None:
        yield Finding("context window", "not stated by the server")
    elif window < SMALL_WINDOW:
        yield Finding(
            "context window", f"{window} tokens", False, f"at least {SMALL_WINDOW:,} are wanted: {LARGER_WINDOW}"
        )
    else:
        yield Finding("context window", f"{window} tokens", True)
    yield Finding("reply cache", str(_reply_cache_folder()))


def _structured_output(backend: Backend) -> Finding:
    """Whether DSPy sends a JSON schema to this LM, and whether the server keeps to one that the prompt contradicts."""
    sends = backend.lm.supports_response_schema
    schema = {
        "type": "object",
        "properties": {"colour": {"type": "string", "enum": ["qx-7"]}},
        "required": ["colour"],
        "additionalProperties": False,
    }
    wanted = {"type": "json_schema", "json_schema": {"name": "probe", "schema": schema, "strict": True}}
    options: dict[str, Any] = {"cache": False, "num_retries": 0}
    if backend.lm.kwargs.get("temperature") is not None:
        options["max_tokens"] = 64
    try:
        with dspy.context(callbacks=[], disable_history=True):
            outputs = backend.lm.copy(**options)("Name any colour of the rainbow.", response_format=wanted)
        honoured = json.loads(str(outputs[0])) == {"colour": "qx-7"}
    except ValueError:
        honoured = False
    except Exception as error:
        return Finding(
            "structured output", f"refused by the server ({type(error).__name__})", None, _plain_adapter(sends)
        )
    if honoured and sends:
        return Finding("structured output", "sent by DSPy's JSONAdapter and honoured by the server", True)
    if honoured:
        return Finding(
            "structured output", "honoured by the server, but DSPy does not send it to a model it does not know"
        )
    return Finding("structured output", "not honoured by the server", None, _plain_adapter(sends))


def _plain_adapter(sends: bool) -> str:
    return "use DSPy's ChatAdapter with this model" if sends else ""


def _embedded_files(spec: str) -> Iterator[Finding]:
    """The runtime, the threads and the model file of the embedded LM, without loading or fetching anything."""
    try:
        yield Finding("runtime", f"xllamacpp {import_runtime().__version__}", True)
    except UserError as error:
        yield Finding("runtime", "xllamacpp is missing", False, str(error))
    try:
        yield Finding("threads", str(thread_count()), True)
    except UserError as error:
        yield Finding("threads", "not understood", False, str(error))
    yield _folder(model_file.cache_folder())
    _, colon, name = spec.partition(":")
    if colon:
        try:
            check_gguf(Path(name).expanduser())
            yield Finding("model file", f"{name} (fingerprint {model_file.fingerprint(Path(name).expanduser())})", True)
        except UserError as error:
            yield Finding("model file", name, False, str(error))
        return
    try:
        path = model_file.find_model()
        if path is None:
            remedy = "it is downloaded (1.1 GB) at the first use of --lm local, e.g. by `executionrag ask … --lm local`"
            yield Finding("model file", f"{model_file.default_model_path()} is not there yet", False, remedy)
            return
        yield Finding("model file", str(path), True)
        if sha256_of(path) == model_file.expected_digest():
            yield Finding("model digest", f"sha256 {model_file.expected_digest()}", True)
        else:
            yield Finding("model digest", "not the expected one", False, f"delete {path}: it is fetched again")
    except UserError as error:
        yield Finding("model file", "not looked for", False, str(error))


def _folder(path: Path) -> Finding:
    """The cache folder and the room on its disk."""
    existing = next((folder for folder in (path, *path.parents) if folder.is_dir()), None)
    free = f", {shutil.disk_usage(existing).free / 1e9:.1f} GB free" if existing else ""
    return Finding("cache folder", f"{path}{free}", True)


def _reply_cache_folder() -> Path:
    from dspy.clients import DISK_CACHE_DIR

    return Path(DISK_CACHE_DIR)
