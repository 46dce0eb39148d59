"""What a benchmark measured, with its spread and its target, and the one table that shows it."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..output import Screen


@dataclass(frozen=True)
class Measured:
    """One figure.

    Attributes:
        name: What was measured; the same words in each run, for runs are set beside one another by it.
        value: The figure: a median where there are several rounds.
        unit: Its unit; "x" for a ratio to a reference of the same run; blank for a count.
        bound: What it has to stay under; None where it is only told.
        floor: What it has to reach; None where it is only told.
        spread: Lowest and highest quartile of its rounds; None where it was measured once.
        note: What it was measured against, or under which circumstances.
    """

    name: str
    value: float
    unit: str = ""
    bound: float | None = None
    floor: float | None = None
    spread: tuple[float, float] | None = None
    note: str = ""

    @property
    def broken(self) -> bool:
        """Whether the target is missed; a figure that is no number reaches none."""
        over = self.bound is not None and not self.value < self.bound
        under = self.floor is not None and not self.value >= self.floor
        return over or under

    @property
    def figure(self) -> str:
        """The value with its unit."""
        return f"{_number(self.value)} {self.unit}".rstrip()

    @property
    def between(self) -> str:
        """The spread; blank where there is none."""
        return "" if self.spread is None else f"{_number(self.spread[0])} to {_number(self.spread[1])}"

    @property
    def target(self) -> str:
        """What it has to keep, and whether it does; blank where it is only told."""
        wanted = [f"under {self.bound:g}"] if self.bound is not None else []
        wanted += [f"at least {self.floor:g}"] if self.floor is not None else []
        return f"{' and '.join(wanted)}: {'MISSED' if self.broken else 'ok'}" if wanted else ""


def show_table(screen: Screen, rows: Sequence[Measured]) -> None:
    """Print figures under one another, each beside its spread and target."""
    names = max((len(row.name) for row in rows), default=0)
    values = max((len(_number(row.value)) for row in rows), default=0)
    units = max((len(row.unit) for row in rows), default=0)
    spreads = max((len(row.between) for row in rows), default=0)
    lines = []
    for row in rows:
        figure = f"{_number(row.value):>{values}} {row.unit:<{units}}"
        lines.append(f"  {row.name:<{names}}  {figure}  {row.between:<{spreads}}  {row.target}".rstrip())
    screen.block("\n".join(lines))


def _number(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    if abs(value) >= 1 or value == 0:
        return f"{value:,.2f}"
    short = f"{value:.3g}"
    return short if abs(float(short)) < 1 else f"{value:.6f}"  # 1 only where it is 1
