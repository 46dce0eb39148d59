"""A chart of shares with their intervals as inline SVG, readable in light and dark, by screen readers, without colour.

Series differ in shape and place as well as colour; every point prints its n; a hollow point has too few questions to
conclude from. The markup is a template with autoescape, for labels come from benchmarks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

_WIDTH, _HEIGHT = 560.0, 320.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 16.0, 20.0, 58.0
_SHAPES = 4
_APART = 34.0  # pixels between the points of several series at one tick, where there is room


@dataclass(frozen=True)
class Point:
    """A share (0 to 1) at a place on the x axis, with its interval where there is one, and how many it is over."""

    x: float
    y: float
    n: int
    low: float | None = None
    high: float | None = None
    few: bool = False


@dataclass(frozen=True)
class Series:
    """The points of one run."""

    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Chart:
    """What is drawn.

    Attributes:
        id: Unique on the page.
        title: What is shown.
        x_label: Name and unit of the x axis.
        y_label: Name of the y axis, a share of 0 to 1.
        ticks: Places on the x axis and their labels.
        series: One a run.
        joined: Whether a series' points are joined by a line.
        apart: Whether series stand side by side at each tick, as where ticks are groups.
    """

    id: str
    title: str
    x_label: str
    y_label: str
    ticks: tuple[tuple[float, str], ...]
    series: tuple[Series, ...]
    joined: bool = True
    apart: bool = True

    @property
    def described(self) -> str:
        """All values in words, for those who do not see the picture."""
        names = dict(self.ticks)
        said = []
        for series in self.series:
            values = (
                f"{names.get(point.x, f'{point.x:,.0f}')}: {point.y:.2f} (n {point.n}"
                f"{', too few to conclude' if point.few else ''})"
                for point in series.points
            )
            said.append(f"{series.name}: {'; '.join(values)}")
        return f"{self.y_label} by {self.x_label}. {'. '.join(said)}."


@dataclass(frozen=True)
class _Mark:
    x: float
    y: float
    low: float | None
    high: float | None
    n_y: float
    text: str
    tip: str
    few: bool


@dataclass(frozen=True)
class _Line:
    name: str
    number: int
    shape: int
    marks: list[_Mark]
    path: str
    legend_x: float = 0.0
    legend_y: float = 0.0


@dataclass(frozen=True)
class Drawing:
    """A chart in pixels, for the template."""

    chart: Chart
    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    grid: list[tuple[float, str]]
    ticks: list[tuple[float, str]]
    lines: list[_Line]
    any_few: bool = field(default=False)


def draw(chart: Chart) -> Drawing:
    """Place a chart's points, lines and labels."""
    left, right, top = _LEFT, _WIDTH - _RIGHT, _TOP
    bottom = _HEIGHT - _BOTTOM
    low_x, high_x = _span([tick for tick, _ in chart.ticks] + [p.x for s in chart.series for p in s.points])

    def across(x: float) -> float:
        return round(left + (x - low_x) / (high_x - low_x) * (right - left), 1)

    def up(y: float) -> float:
        return round(bottom - min(max(y, 0.0), 1.0) * (bottom - top), 1)

    places = sorted(across(x) for x, _ in chart.ticks)
    room = min((b - a for a, b in pairwise(places)), default=right - left)
    apart = min(_APART, room / (len(chart.series) + 0.5))
    lines = []
    for number, series in enumerate(chart.series):
        shift = (number - (len(chart.series) - 1) / 2) * apart if chart.apart else 0.0
        marks = [_mark(point, across(point.x) + shift, up, series.name) for point in series.points]
        path = " ".join(f"{'L' if place else 'M'}{mark.x:g} {mark.y:g}" for place, mark in enumerate(marks))
        joined = path if chart.joined and len(marks) > 1 else ""
        lines.append(_Line(series.name, number % 6, number % _SHAPES, marks, joined))
    return Drawing(
        chart=chart,
        width=_WIDTH,
        height=_HEIGHT,
        left=left,
        right=right,
        top=top,
        bottom=bottom,
        grid=[(up(y), f"{y:.2f}") for y in (0.0, 0.25, 0.5, 0.75, 1.0)],
        ticks=[(across(x), label) for x, label in chart.ticks],
        lines=lines,
        any_few=any(point.few for series in chart.series for point in series.points),
    )


def _mark(point: Point, x: float, up: object, series: str) -> _Mark:
    assert callable(up)
    low = None if point.low is None else up(point.low)
    high = None if point.high is None else up(point.high)
    y = up(point.y)
    interval = "" if point.low is None or point.high is None else f" [{point.low:.2f}, {point.high:.2f}]"
    few = ", too few to conclude" if point.few else ""
    above = (y if high is None else min(y, high)) - 5
    below = (y if low is None else max(y, low)) + 13
    return _Mark(
        x=round(x, 1),
        y=y,
        low=low,
        high=high,
        n_y=round(above if above > _TOP - 2 else below, 1),
        text=f"n {point.n}",
        tip=f"{series}: {point.y:.2f}{interval}, n {point.n}{few}",
        few=point.few,
    )


def _span(values: Sequence[float]) -> tuple[float, float]:
    """A range that leaves room at both ends."""
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    room = (high - low) * 0.12 or max(abs(low) * 0.2, 1.0)
    return low - room, high + room
