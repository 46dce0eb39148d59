"""A table as both the page and the Markdown print it: a figure never without its n, nor without its interval."""

from dataclasses import dataclass

from ..plain_text import clean_line

FEW = "too few to conclude"


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes:
        text: The value, or "–" where there is none.
        details: Its interval and n, or the like; small lines under it on the page.
        few: Whether there are too few questions to conclude from it.
    """

    text: str
    details: tuple[str, ...] = ()
    few: bool = False

    @property
    def line(self) -> str:
        """The cell on one line."""
        said = " ".join(part for part in (self.text, "; ".join(self.details)) if part)
        return f"{said} ({FEW})" if self.few else said


@dataclass(frozen=True)
class Table:
    """Rows under named columns; the first cell of a row names it.

    Attributes:
        title: What the table shows.
        columns: One name a column; the first may be blank.
        rows: As many cells each as there are columns.
        notes: What has to be known to read it.
        wide: Whether the cells are texts and not figures.
        command: What makes the table anew; printed above it.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    wide: bool = False
    command: str = ""


def markdown_table(table: Table) -> list[str]:
    """The table as lines of Markdown, its command before it and its notes after it."""
    lines = ["    " + clean_line(table.command), ""] if table.command else []
    lines += [_row(table.columns), "|" + "---|" * len(table.columns)]
    lines += [_row([cell.line for cell in row]) for row in table.rows]
    for note in table.notes:
        lines += ["", _escaped(note)]
    return lines


def escaped(text: str) -> str:
    """A text from elsewhere as one line of Markdown that makes no markup."""
    return _escaped(clean_line(text))


def _row(cells: tuple[str, ...] | list[str]) -> str:
    return "| " + " | ".join(_escaped(clean_line(cell)) for cell in cells) + " |"


def _escaped(text: str) -> str:
    for character in "\\`*_[]<>|#":
        text = text.replace(character, _ENTITIES.get(character, f"\\{character}"))
    return text


# Within a link or a table some renderers read a backslash before these literally.
_ENTITIES = {"<": "&lt;", ">": "&gt;"}


def plain_table(table: Table) -> list[str]:
    """The table as lines with aligned columns, for a terminal."""
    grid = [list(table.columns), *([cell.line for cell in row] for row in table.rows)]
    widths = [max(len(row[place]) for row in grid) for place in range(len(table.columns))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in grid]
