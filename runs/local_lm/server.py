"""One llama.cpp server inside the process, on a free loopback port, shared by all its threads.

It lives in the process, not in a child: however the process ends, the server ends with it. It is started at the first
request for a model file and kept; a second request for the same file gets the same server. llama.cpp's own logging is
off, so that nothing of it reaches stdout or stderr.
"""

import logging
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import UserError

logger = logging.getLogger(__name__)

THREADS_VARIABLE = "EXECUTIONRAG_LM_THREADS"
# Longest prompt and reply together, in tokens.
CONTEXT_WINDOW = 16_384
# Memory for the states of earlier prompts.
PROMPT_CACHE_MIB = 2_048

_lock = threading.Lock()
_servers: dict[Path, "LocalServer"] = {}


@dataclass(frozen=True)
class LocalServer:
    """A running server.

    Attributes:
        base_url: The OpenAI-compatible root, ending in `/v1`.
        model_path: The model file it serves.
        model_name: The name it answers to.
        context_window: Longest prompt and reply together, in tokens.
        threads: CPU threads it computes with.
    """

    base_url: str
    model_path: Path
    model_name: str
    context_window: int
    threads: int
    # Keeps llama.cpp's server alive; dropping it stops the server.
    handle: Any = field(repr=False, compare=False)


def serve(model_path: Path, model_name: str) -> LocalServer:
    """Return the server of a model file, starting it where this process has none yet (seconds; 11 on a cold disk).

    Args:
        model_path: A GGUF file.
        model_name: The name under which the server reports the model.

    Raises:
        UserError: The runtime is not installed, the file is missing or no GGUF, or the model cannot be loaded.
    """
    resolved = model_path.expanduser().resolve()
    with _lock:
        if resolved not in _servers:
            _servers[resolved] = _start(resolved, model_name)
        return _servers[resolved]


def import_runtime() -> Any:
    """The `xllamacpp` module.

    Raises:
        UserError: It is not installed, or does not load on this machine.
    """
    # Threads that wait must sleep: spinning ones starve the working ones as soon as anything else runs on the cores,
    # and generation falls from 17 to 1 token a second. OpenMP reads it when it is first loaded (by torch, perhaps), so
    # a program that can should set it at its start.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        import xllamacpp
    except ImportError as error:
        if "libgomp" in str(error):
            raise UserError(
                "the embedded LM needs the OpenMP library libgomp.so.1: install the system package libgomp1 (libgomp)"
            ) from error
        raise UserError(
            f"the embedded LM needs xllamacpp ({error}): pip install 'executionrag[local]', or choose another --lm"
        ) from error
    return xllamacpp


def thread_count() -> int:
    """CPU threads for the LM: `EXECUTIONRAG_LM_THREADS`, else the physical cores this process may use.

    Raises:
        UserError: The variable is no positive whole number.
    """
    stated = os.environ.get(THREADS_VARIABLE, "").strip()
    if stated:
        if not stated.isdigit() or int(stated) < 1:
            raise UserError(f"{THREADS_VARIABLE}={stated!r} is no positive whole number: correct or unset it")
        return int(stated)
    return _physical_cores()


def _start(path: Path, name: str) -> LocalServer:
    runtime = import_runtime()
    check_gguf(path)
    threads = thread_count()
    params = runtime.CommonParams()
    params.model.path = str(path)
    params.model_alias = {name}
    params.n_ctx = CONTEXT_WINDOW
    # One call at a time: llama.cpp divides the window by the number of slots, and two replies side by side gain nothing
    # on a few cores.
    params.n_parallel = 1
    # With one slot, prompts that differ push each other out; llama.cpp keeps their states here (about 30 kB a token for
    # the default model) and takes up the one with the longest common beginning, so each step's instructions, and the
    # question's progress behind them, are read once.
    params.cache_ram_mib = PROMPT_CACHE_MIB
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.ui = False
    params.verbosity = -1
    logger.info("loading %s with %d threads", path.name, threads)
    try:
        handle = runtime.Server(params)
    except Exception as error:  # llama.cpp's failures arrive as plain RuntimeError
        raise UserError(
            f"the embedded LM could not load {path}: the file may be damaged or need more memory than is free "
            f"({str(error).splitlines()[0] if str(error) else type(error).__name__})"
        ) from error
    return LocalServer(f"{handle.listening_address}/v1", path, name, CONTEXT_WINDOW, threads, handle)


def check_gguf(path: Path) -> None:
    """Raise unless the file is there and starts like a GGUF file.

    Raises:
        UserError: It is missing, unreadable or of another format.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise UserError(f"cannot read the model file {path}: {error.strerror or error}") from error
    if magic != b"GGUF":
        raise UserError(f"{path} is no GGUF model file: --lm local:PATH takes a file of llama.cpp's format")


def _physical_cores() -> int:
    """Physical cores within this process's CPU affinity and its container's CPU quota; at least 1."""
    if not hasattr(os, "sched_getaffinity"):
        return max(1, os.cpu_count() or 1)
    cores = set()
    for cpu in os.sched_getaffinity(0):
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        try:
            cores.add(siblings.read_text().strip())
        except OSError:
            cores.add(str(cpu))
    count = len(cores)
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        if quota != "max":
            count = min(count, max(1, int(quota) // int(period)))
    except (OSError, ValueError):
        pass
    return max(1, count)
