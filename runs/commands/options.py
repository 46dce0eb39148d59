"""Option values and options that several commands share; nothing heavy is imported here."""

import argparse
import dataclasses
import logging
import math
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ...errors import UsageError, UserError
from ..plain_text import count as count

if TYPE_CHECKING:
    from ..backends import Backend
    from ..output import Console

#: Passages a search.
K = 5
#: Questions or answers at a time with an LM that a server runs.
THREADS = 8


def whole(minimum: int) -> Any:
    """An argparse type: a whole number of at least `minimum`."""

    def read(written: str) -> int:
        try:
            value = int(written)
        except ValueError:
            value = minimum - 1
        if value < minimum:
            raise argparse.ArgumentTypeError(f"{written!r} is no whole number of at least {minimum}")
        return value

    return read


def number(minimum: float, *, above: bool = False) -> Any:
    """An argparse type: a finite number of at least, or above, `minimum`."""

    def read(written: str) -> float:
        try:
            value = float(written)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or value < minimum or (above and value == minimum):
            raise argparse.ArgumentTypeError(
                f"{written!r} is no number {'above' if above else 'of at least'} {minimum:g}"
            )
        return value

    return read


class _KeyOnCommandLine(argparse.Action):
    """Refuse a key without repeating it."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> NoReturn:
        raise UsageError(
            f"{option_string} would show the key to every process and the shell's history: put it into the provider's "
            f"environment variable, or name a variable with {option_string}-env"
        )


def check_place(file: Path, option: str, *, given: Path | None = None) -> None:
    """See before anything long begins that a file can be written there.

    Args:
        file: The file that will be written.
        option: Where the caller named it.
        given: What the caller wrote there, if not the file itself but the folder it goes into.

    Raises:
        UsageError: It is a folder.
        UserError: The nearest folder that exists cannot be written to.
    """
    if file.is_dir():
        raise UsageError(f"{option} {file} is a folder: name a file, e.g. {file / 'story.html'}")
    nearest = next(place for place in file.absolute().parents if place.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise UserError(f"{option} {given or file}: {nearest} is no folder that can be written to; give another place")


def add_lm_options(parser: argparse.ArgumentParser, *, default: str | None = None, role: str = "") -> None:
    """Add `--lm` and what belongs to it.

    Args:
        parser: The command's.
        default: The LM where none is named.
        role: What a second LM of one command is for; its options are then `--ROLE-lm`, `--ROLE-api-base` and so on.
    """
    group = parser.add_argument_group(f"language model of the {role}" if role else "language model")
    flag = f"--{role}-" if role else "--"
    said = f" (default: {default})" if default else ""
    group.add_argument(
        f"{flag}lm",
        metavar="SPEC",
        default=default,
        help="local (embedded, no server needed), local:MODEL.gguf, or DSPy's provider/model: "
        f"openai/gpt-4o-mini, anthropic/NAME, ollama_chat/NAME, hosted_vllm/NAME{said}",
    )
    group.add_argument(f"{flag}api-base", metavar="URL", help="address of an OpenAI-compatible server")
    group.add_argument(
        f"{flag}api-key-env",
        metavar="NAME",
        help="environment variable that holds the key (default: the provider's own, e.g. OPENAI_API_KEY; none for an "
        "address that is private or plain http)",
    )
    group.add_argument(f"{flag}api-key", nargs="?", action=_KeyOnCommandLine, help=argparse.SUPPRESS)
    group.add_argument(
        f"{flag}timeout", type=number(0, above=True), metavar="S", help="seconds to wait for the server's next byte"
    )


def read_key(variable: str | None) -> str | None:
    """The key in the variable that a person named, if she named one.

    Raises:
        UsageError: What she named can be no variable; it is not repeated, for it may be the key itself.
        UserError: The variable is not set.
    """
    if variable is None:
        return None
    if not variable.isidentifier():
        raise UsageError("--api-key-env takes the name of an environment variable, not the key itself")
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UserError(f"--api-key-env {variable}: that environment variable is not set; export it first")
    return key


def configure_dspy(debug: bool) -> None:
    """Import DSPy with a reply cache that unpickles known types only, and its own log lines off."""
    import dspy

    # Before the first call: afterwards DSPy has built its own.
    dspy.configure_cache(disk_cache_dir=os.environ["DSPY_CACHEDIR"], restrict_pickle=True)
    if not debug:
        logging.getLogger("dspy").setLevel(logging.CRITICAL)


def start_lm(args: argparse.Namespace, console: "Console", *, cache: bool = True, role: str = "") -> "Backend":
    """Make the LM that the options name, and see that it answers; a small context window is warned of.

    Args:
        args: The command's arguments.
        console: Where a download is announced.
        cache: Whether DSPy keeps replies.
        role: Whose options are meant, as in `add_lm_options`.

    Raises:
        UsageError: None is named, or the name cannot be right.
        UserError: It cannot be had or reached.
    """
    if not role:
        return _start(args, console, cache, "")
    try:
        return _start(args, console, cache, f"{role}_")
    except UserError as error:
        # What makes and checks an LM knows one set of options; the person is to read those that she wrote.
        told = re.sub(r"--(lm|api-base|api-key-env|api-key|timeout)\b", rf"--{role}-\1", str(error))
        raise type(error)(told) from error


def _start(args: argparse.Namespace, console: "Console", cache: bool, prefix: str) -> "Backend":
    def option(name: str, default: Any = None) -> Any:
        return getattr(args, prefix + name, default)

    spec = option("lm")
    if spec is None:
        raise UsageError("name the language model with --lm, e.g. --lm local or --lm openai/gpt-4o-mini")
    key = read_key(option("api_key_env"))
    configure_dspy(args.debug)
    from ..backends import check_lm, make_lm
    from ..preflight import LARGER_WINDOW, SMALL_WINDOW

    if spec == "local" or spec.startswith("local:"):
        console.note("Starting the embedded LM …")
    with console.err.progress("model", "B") as progress:
        backend = make_lm(
            spec,
            api_base=option("api_base"),
            api_key=key,
            temperature=option("temperature", 0.0),
            max_tokens=option("max_tokens"),
            timeout=option("timeout"),
            cache=cache,
            notify=console.note,
            progress=progress,
        )
    told = check_lm(backend.lm)
    window = backend.context_window or told
    if window and window < SMALL_WINDOW and not prefix:  # one answer beside its gold fits any window
        console.warn(
            f"{backend.label} has a context window of {window:,} tokens, and multi-hop evidence wants at least "
            f"{SMALL_WINDOW:,}: {LARGER_WINDOW}"
        )
    return dataclasses.replace(backend, context_window=window)
