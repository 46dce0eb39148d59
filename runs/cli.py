"""The command line: one module a command in `commands`.

Exit codes: 0 done; 1 failed; 2 called wrongly; 130 interrupted. What goes wrong is one line on stderr; `--debug` adds
the traceback. Nothing heavy is imported here: `--help` answers at once, and each command imports what it needs.
"""

import argparse
import contextlib
import importlib.metadata
import logging
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from ..errors import UsageError, UserError
from .commands import (
    ask,
    benchmark,
    compare,
    demo,
    doctor,
    evaluate,
    failures,
    import_predictions,
    index,
    judge,
    optimize,
    reachability,
    report,
    study,
    track,
    variants,
)
from .output import Console, OutputClosed, silence_stdout

_EPILOG = """\
A first session:
  executionrag demo                                    three questions, answered live by a small embedded LM
  executionrag index --corpus docs.jsonl --out idx     your own documents
  executionrag ask "..." --index idx --lm local
  executionrag COMMAND --help                          the options of a command
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def __init__(self, *args: Any, **options: Any) -> None:
        options |= {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}
        super().__init__(*args, **options)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands; each sets `run`, which takes the arguments and a console and gives the exit code."""
    parser = _Parser(
        prog="executionrag",
        description="Multi-hop question answering over your documents, steered by a register of requirements.",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help="show where an error came from")
    parser.add_argument("--debug", action="store_true", help="show where an error came from")
    commands = parser.add_subparsers(metavar="COMMAND")
    for command in (
        index,
        ask,
        benchmark,
        reachability,
        evaluate,
        study,
        judge,
        compare,
        failures,
        report,
        import_predictions,
        track,
        optimize,
        variants,
        doctor,
        demo,
    ):
        command.add_parser(commands, common)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: The arguments; the process's own where None.

    Returns:
        The exit code.
    """
    console = Console.standard()
    arguments = sys.argv[1:] if argv is None else list(argv)
    debug = "--debug" in arguments
    try:
        with _terminable(argv is None):
            parser = build_parser()
            args = parser.parse_args(arguments)
            args.argv = arguments
            if args.version:
                console.out.line(f"executionrag {importlib.metadata.version('executionrag')}")
                return 0
            if not hasattr(args, "run"):
                console.err.block(parser.format_help())
                return 2
            with _quiet_libraries(console, debug):
                code: int = args.run(args, console)
                return code
    except SystemExit as end:  # --help, or a signal to end
        code = end.code if isinstance(end.code, int) else 0
        return _leave(code) if code and argv is None else code
    except OutputClosed as error:
        silence_stdout()
        if error.reason:
            console.fail(f"the output cannot be written: {error.reason}")
        return _leave(1) if argv is None else 1
    except KeyboardInterrupt:
        console.err.line("interrupted")
        return _leave(130) if argv is None else 130
    except BaseException as error:
        return _failed(error, console, debug)


def _leave(code: int) -> NoReturn:
    """End the process now: everything is unwound, and the embedded LM would first finish its reply."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(code)


def _failed(error: BaseException, console: Console, debug: bool) -> int:
    """Say what went wrong; returns the exit code."""
    if debug:
        console.err.block("".join(traceback.format_exception(error)))
    if isinstance(error, UserError):
        console.fail(str(error))
        return 2 if isinstance(error, UsageError) else 1
    dspy: Any = sys.modules.get("dspy")
    if dspy is not None and isinstance(error, dspy.LMError):
        from .lm_errors import explain_lm_error

        console.fail(explain_lm_error(error))
        return 1
    lines = str(error).strip().splitlines()
    said = f": {lines[0][:200]}" if lines else ""
    console.fail(f"unexpected {type(error).__name__}{said} (--debug shows where)")
    return 1


@contextlib.contextmanager
def _terminable(own_process: bool) -> Iterator[None]:
    """Let a signal to end unwind the program, so that temporary folders go too."""
    if own_process:

        def end(number: int, frame: Any) -> NoReturn:
            raise SystemExit(128 + number)

        with contextlib.suppress(ValueError, OSError):
            signal.signal(signal.SIGTERM, end)
    yield


class _OnStderr(logging.Handler):
    """Warnings as lines on stderr."""

    def __init__(self, console: Console, debug: bool) -> None:
        super().__init__()
        self._console, self._debug = console, debug

    def emit(self, record: logging.LogRecord) -> None:
        where = f" [{record.name}]" if self._debug else ""
        level = "" if record.levelno < logging.WARNING else f"{record.levelname.lower()}: "
        with contextlib.suppress(OutputClosed):
            self._console.err.line(f"{level}{record.getMessage()}{where}", "dim" if not level else "yellow")
            if self._debug and record.exc_info:
                self._console.err.block("".join(traceback.format_exception(*record.exc_info)))


@contextlib.contextmanager
def _quiet_libraries(console: Console, debug: bool) -> Iterator[None]:
    """Settings of other libraries that must stand before they are imported, and their warnings kept off the screen."""
    from .local_lm.model_file import cache_folder

    settings = {
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # otherwise it fetches its price list, seconds without a network
        "DSPY_CACHEDIR": str(cache_folder() / "replies"),
        "OMP_WAIT_POLICY": "PASSIVE",  # OpenMP threads that spin starve the embedded LM
        "TOKENIZERS_PARALLELISM": "false",
        "TRANSFORMERS_VERBOSITY": "error",
        "HF_HUB_DISABLE_TELEMETRY": "1",
    }
    if not console.err.is_terminal:
        settings["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
    for name, value in settings.items():
        os.environ.setdefault(name, value)
    handler = _OnStderr(console, debug)
    ours = logging.getLogger("executionrag")
    encoder_download = logging.getLogger("executionrag.retrievers.encoder_files")
    levels = [(ours, ours.level), (encoder_download, encoder_download.level)]
    ours.setLevel(logging.INFO if debug else logging.WARNING)
    encoder_download.setLevel(logging.INFO)  # a download is always announced
    ours.addHandler(handler)
    try:
        with warnings.catch_warnings():
            if not debug:
                warnings.simplefilter("ignore")
            yield
    finally:
        ours.removeHandler(handler)
        for logger, level in levels:
            logger.setLevel(level)


if __name__ == "__main__":
    sys.exit(main())
