"""The one module that prints: lines on a terminal or into a pipe, an activity line, progress bars.

Results go to stdout, everything else to stderr. Whatever is printed is cleaned first, wrapped to the terminal's width,
coloured only on a terminal (and never with `NO_COLOR`), and spelt in ASCII where the stream's encoding has no more.
"""

import contextlib
import json
import os
import shutil
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TextIO

from .plain_text import clean, clean_line

Progress = Callable[..., None]
"""Called with (done, total) and, by keyword, `said`: a few words to stand beside the bar."""

_STYLES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "cyan": "36",
    "bold green": "1;32",
    "bold red": "1;31",
    "bold cyan": "1;36",
}
_ASCII = str.maketrans(
    {
        "○": "o",
        "●": "*",
        "✓": "+",
        "✗": "x",
        "—": "-",
        "–": "-",
        "─": "-",
        "·": "-",
        "…": "...",
        "→": "->",
        "“": '"',
        "”": '"',
        "‘": "'",
        "’": "'",
    }
)
_WIDEST, _NARROWEST, _UNKNOWN_WIDTH = 110, 40, 100


class OutputClosed(BaseException):
    """Nobody reads the output any more, or it cannot be written; no `Exception`, so that nothing on the way eats it.

    Attributes:
        reason: Why, or blank where the reader of a pipe has gone.
    """

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


class Screen:
    """One output stream as a terminal or a file."""

    def __init__(self, stream: TextIO | None) -> None:
        """Look at what the stream can show; a closed one (None) swallows everything."""
        self.stream = stream
        self.is_terminal = stream is not None and stream.isatty()
        self.colour = self.is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self.encoding = (getattr(stream, "encoding", None) or "ascii").lower()
        self.unicode = self.encoding.replace("-", "").replace("_", "") in {"utf8", "utf16", "utf8sig"}
        self._lock = threading.RLock()
        self._activity = ""
        self._bar: Any = None

    @property
    def width(self) -> int:
        """Columns to fill."""
        columns = shutil.get_terminal_size((_UNKNOWN_WIDTH, 24)).columns
        return max(_NARROWEST, min(columns - 1 if self.is_terminal else columns, _WIDEST))

    def line(self, text: str = "", style: str = "") -> None:
        """Print one line as it is, without wrapping: what may be copied or read by a program."""
        self._print(self._styled(clean_line(text), style) + "\n")

    def entry(self, head: str, text: str, *, indent: int = 0, head_style: str = "", style: str = "") -> None:
        """Print a head and a text, the text wrapped beside it."""
        head = clean(head)
        room = max(20, self.width - indent - len(head) - 1)
        lines = textwrap.wrap(clean_line(text), room, break_on_hyphens=False, break_long_words=False) or [""]
        margin = " " * indent
        first = margin + (self._styled(head, head_style) + " " if head else "") + self._styled(lines[0], style)
        rest = [margin + " " * (len(head) + 1 if head else 0) + self._styled(line, style) for line in lines[1:]]
        self._print("\n".join(line.rstrip() for line in [first, *rest]) + "\n")

    def heading(self, text: str) -> None:
        """Print a heading with a rule to the right edge, after a blank line."""
        title = f"── {clean_line(text)} "
        self._print("\n" + self._styled(title + "─" * max(2, self.width - len(title)), "bold cyan") + "\n")

    def json(self, value: Any) -> None:
        """Print a value as JSON, indented; everything beyond the stream's encoding is escaped."""
        text = json.dumps(value, ensure_ascii=not self.unicode, indent=2, allow_nan=False) + "\n"
        with contextlib.suppress(UnicodeEncodeError):
            text.encode("utf-8")
            return self._print(text, translate=False)
        return self._print(json.dumps(value, indent=2, allow_nan=False) + "\n", translate=False)

    def block(self, text: str) -> None:
        """Print a text of several lines as it stands, such as a traceback or a help page."""
        self._print(clean(text).rstrip("\n") + "\n")

    @contextlib.contextmanager
    def working(self) -> Iterator[Callable[[str], None]]:
        """Give a function that names what is going on; a terminal shows it on its last line with the seconds."""
        if not self.is_terminal:
            yield lambda _: None
            return
        ended, started = threading.Event(), [time.monotonic()]
        doing = [""]

        def say(what: str) -> None:
            doing[0], started[0] = what, time.monotonic()

        def tick() -> None:
            while not ended.wait(0.5):
                seconds = int(time.monotonic() - started[0])
                self._show_activity(f"… {doing[0]}  {seconds} s" if doing[0] else "")

        ticker = threading.Thread(target=tick, daemon=True)
        ticker.start()
        try:
            yield say
        finally:
            ended.set()
            ticker.join()
            self._show_activity("")

    @contextlib.contextmanager
    def progress(
        self, what: str, unit: str, *, total: int | None = None, done: int = 0, force: bool = False
    ) -> Iterator[Progress]:
        """Give a function to call with (done, total); it draws a bar on a terminal, or where forced.

        The bar stands from the beginning where `total` is known then, else from the first call. What was `done` before
        counts as done, but not for the rate. Lines that are printed meanwhile stand above the bar.
        """
        if self.stream is None or not (self.is_terminal or force):
            yield lambda done, total, said="": None
            return
        from tqdm import tqdm

        bars: list[Any] = []

        def draw(total: int) -> None:
            scaled = unit == "B"
            bars.append(
                tqdm(
                    total=total,
                    initial=done,
                    desc=what,
                    unit=unit if scaled else f" {unit}",
                    unit_scale=scaled,
                    file=self.stream,
                    ascii=not self.unicode,
                    dynamic_ncols=self.is_terminal,
                )
            )
            self._bar = bars[0]

        def update(done: int, total: int, said: str = "") -> None:
            if not bars:
                draw(total)
            if said:
                bars[0].set_postfix_str(clean_line(said), refresh=False)
            bars[0].update(done - bars[0].n)

        try:
            if total is not None:
                draw(total)
            yield update
        finally:
            self._bar = None
            for bar in bars:
                bar.close()

    def _show_activity(self, text: str) -> None:
        with self._lock:
            if text == self._activity or self.stream is None:
                return
            self._activity = text
            shown = self._styled(text[: self.width], "dim") if text else ""
            with contextlib.suppress(OSError, ValueError):
                self.stream.write("\r\x1b[2K" + self._encodable(shown))
                self.stream.flush()

    def _styled(self, text: str, style: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if style and text and self.colour else text

    def _encodable(self, text: str) -> str:
        if self.unicode:
            return text.encode("utf-8", "replace").decode("utf-8")
        return text.translate(_ASCII).encode(self.encoding, "replace").decode(self.encoding)

    def _print(self, text: str, *, translate: bool = True) -> None:
        if self.stream is None:
            return
        with self._lock:
            erase = "\r\x1b[2K" if self._activity else ""
            self._activity = ""
            bar = self._bar
            try:
                if bar is not None:
                    bar.clear()
                self.stream.write(erase + (self._encodable(text) if translate else text))
                self.stream.flush()
                if bar is not None:
                    bar.refresh()
            except BrokenPipeError as error:
                raise OutputClosed from error
            except OSError as error:
                raise OutputClosed(error.strerror or str(error)) from error


@dataclass(frozen=True)
class Console:
    """Where a command prints: results on `out`, everything else on `err`; `note` is for what quiet runs leave out."""

    out: Screen
    err: Screen
    quiet: bool = False

    @classmethod
    def standard(cls) -> "Console":
        """The process's own streams, as they are now."""
        return cls(Screen(sys.stdout), Screen(sys.stderr))

    def note(self, text: str) -> None:
        """Say on stderr what is going on."""
        if not self.quiet:
            self.err.entry("", text, style="dim")

    def warn(self, text: str) -> None:
        """Say on stderr, on one line and in quiet runs too, what may spoil the result."""
        self.err.line(f"warning: {clean_line(text)}", "yellow")

    def fail(self, text: str) -> None:
        """Say on stderr, on one line, what went wrong."""
        self.err.line(f"error: {clean_line(text)}", "red")


def silence_stdout() -> None:
    """Point stdout at nothing, so that the interpreter's last flush does not fail once more."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
