"""What reaches a screen: clean, wrapped, coloured only on a terminal, ASCII where there is no more."""

import errno
import io
import json
import time

import pytest

from executionrag.runs.output import Console, OutputClosed, Screen
from executionrag.runs.plain_text import clean, clean_line, shorten


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


class File(io.StringIO):
    encoding = "utf-8"


class AsciiFile(io.StringIO):
    encoding = "ascii"


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "61")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("plain text", "plain text"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[1;1Hgone", "gone"),
        ("\x1b]0;a title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred", "red"),
        ("\x9d0;title\x9ctext", "text"),
        ("\x1bPdevice\x1b\\text", "text"),
        ("\x1bcreset", "reset"),
        ("\x1b", ""),
        ("a\x00b\x07c\x08d\x7fe", "abcde"),
        ("left\u202eright\u2066", "leftright"),
        ("lone \ud800 surrogate", "lone  surrogate"),
        ("日本 é 🙂", "日本 é 🙂"),
        ("two\nlines", "two\nlines"),
    ],
)
def test_nothing_that_steers_a_terminal_is_shown(given, shown):
    assert clean(given) == shown


def test_a_line_is_one_line():
    assert clean_line("  a\r\nb\t\u2028c ") == "a b c"


@pytest.mark.parametrize(
    ("text", "length", "short"),
    [
        ("short", 10, "short"),
        ("exactly ten", 11, "exactly ten"),
        ("a longer text, cut", 14, "a longer…"),
        ("averyveryverylongword", 8, "averyve…"),
    ],
)
def test_texts_are_cut_at_words(text, length, short):
    assert shorten(text, length) == short
    assert len(short) <= length


def test_an_entry_is_wrapped_beside_its_head():
    stream = File()
    Screen(stream).entry("R1 ✓", "word " * 14, indent=2)
    lines = stream.getvalue().splitlines()
    assert lines == ["  R1 ✓ " + "word " * 10 + "word", "       word word word"]
    assert all(len(line) <= 61 for line in lines)


def test_a_file_gets_no_colours_and_no_activity():
    stream = File()
    screen = Screen(stream)
    screen.heading("Loop 1")
    screen.line("text", "red")
    with screen.working() as say:
        say("asking")
    assert "\x1b" not in stream.getvalue()
    assert stream.getvalue() == "\n── Loop 1 " + "─" * 51 + "\ntext\n"


def test_a_terminal_gets_colours_unless_told_otherwise(monkeypatch):
    stream = Terminal()
    Screen(stream).line("text", "red")
    assert stream.getvalue() == "\x1b[31mtext\x1b[0m\n"
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    Screen(stream).line("text", "red")
    assert stream.getvalue() == "text\n"


def test_the_activity_line_vanishes_before_the_next_line():
    stream = Terminal()
    screen = Screen(stream)
    with screen.working() as say:
        say("asking")
        for _ in range(50):
            time.sleep(0.1)
            if "asking" in stream.getvalue():
                break
        screen.line("text")
        say("")
    assert "asking" in stream.getvalue()
    assert "\r\x1b[2Ktext\n" in stream.getvalue()


def test_marks_and_letters_are_spelt_in_what_the_encoding_has():
    stream = AsciiFile()
    screen = Screen(stream)
    screen.entry("✓", "“café” — 日本 → x…")
    screen.json({"name": "café"})
    assert stream.getvalue() == '+ "caf?" - ?? -> x...\n{\n  "name": "caf\\u00e9"\n}\n'


@pytest.mark.parametrize("value", ["café ✓ —", "line\nbreak", "lone \ud800 surrogate", "\x1b[31m"])
def test_json_is_read_back_as_it_was(value):
    stream = File()
    Screen(stream).json({"text": value})
    assert json.loads(stream.getvalue()) == {"text": value}


@pytest.mark.parametrize(
    ("error", "reason"),
    [(BrokenPipeError(), ""), (OSError(errno.ENOSPC, "No space left on device"), "No space left on device")],
)
def test_output_that_cannot_be_written_is_no_ordinary_exception(error, reason):
    class Failing(File):
        def write(self, text):
            raise error

    with pytest.raises(OutputClosed) as caught:
        Screen(Failing()).line("text")
    assert caught.value.reason == reason
    assert not isinstance(caught.value, Exception)


def test_a_closed_stream_swallows_everything():
    screen = Screen(None)
    screen.line("text")
    screen.json({})
    with screen.progress("embedding", "texts", force=True) as progress:
        progress(1, 2)


def test_a_bar_is_drawn_on_a_terminal_or_where_it_is_asked_for():
    silent, forced = File(), File()
    for stream, force in ((silent, False), (forced, True)):
        with Screen(stream).progress("embedding", "texts", force=force) as progress:
            progress(1, 2)
            progress(2, 2)
    assert silent.getvalue() == ""
    assert "embedding: 100%" in forced.getvalue()
    assert "2/2" in forced.getvalue()


def test_a_bar_whose_total_is_known_stands_from_the_beginning():
    stream = File()
    with Screen(stream).progress("embedding", "texts", total=7, force=True):
        assert "0/7" in stream.getvalue()


def test_a_long_word_is_not_broken_so_that_it_can_be_copied():
    stream = File()
    Screen(stream).entry("file", "in /a/" + "long" * 20 + "/path")
    assert "/a/" + "long" * 20 + "/path" in stream.getvalue()


def test_a_failure_is_one_line_on_stderr(capsys):
    Console.standard().fail("first\nsecond \x1b[31mthird")
    assert capsys.readouterr() == ("", "error: first second third\n")


def test_notes_are_left_out_where_quiet(capsys):
    console = Console.standard()
    console.note("said")
    Console(console.out, console.err, quiet=True).note("not said")
    assert capsys.readouterr() == ("", "said\n")


def test_a_line_stands_above_the_bar_and_what_was_done_before_is_no_speed():
    stream = Terminal()
    screen = Screen(stream)
    with screen.progress("questions", "q", total=10, done=8) as progress:
        assert "80%" in stream.getvalue()
        progress(8, 10, said="contain 4/8")
        screen.line("interrupted")
        assert "\rinterrupted\n" in stream.getvalue()
        shown = stream.getvalue().rsplit("interrupted\n", 1)[1]
        assert "8/10" in shown
        assert "? q/s" in shown
        assert "contain 4/8" in shown
    before = len(stream.getvalue())
    screen.line("done")
    assert stream.getvalue()[before:] == "done\n"
