"""What a benchmark measured, with its bound, and the one table that shows it."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..output import Screen


@dataclass(frozen=True)
class Measured:
    """One figure.

    Attributes:
        name: What was measured.
        value: The figure.
        unit: Its unit; blank for a ratio.
        bound: What it has to stay under; None where it is only told.
    """

    name: str
    value: float
    unit: str = ""
    bound: float | None = None

    @property
    def broken(self) -> bool:
        """Whether the bound is not kept; a figure that is no number keeps none."""
        return self.bound is not None and not self.value < self.bound


def show_table(screen: Screen, rows: Sequence[Measured]) -> None:
    """Print figures under one another, each beside its bound."""
    widest = max((len(row.name) for row in rows), default=0)
    lines = []
    for row in rows:
        bound = "" if row.bound is None else f"< {row.bound:g}: {'BROKEN' if row.broken else 'ok'}"
        value = f"{row.value:,}" if isinstance(row.value, int) else f"{row.value:,.2f}"
        lines.append(f"  {row.name:<{widest}}  {value:>9} {row.unit:<4} {bound}".rstrip())
    screen.block("\n".join(lines))
