"""The report's section on what showing the register costs: deltas against full replay, on the same trajectories."""

from collections.abc import Sequence

from ...metrics.register_tokens import RegisterPrice, by_hops, register_price, register_tokens
from ..report.page import Section
from ..report.summaries import estimate_cell
from ..report.table import Cell, Table
from .accuracy_sections import published
from .paper import DELTA_SAVES, PAPER_LM
from .runs import PairRuns

_PAPERS_HOPS = 4


def register_section(pairs: Sequence[PairRuns]) -> Section | None:
    """Register tokens by hop count, a table a system and pair; None where no system has a register."""
    tables = []
    for one in pairs:
        for run in one.runs:
            counted = [told for record in run.run.records if (told := register_tokens(record)) is not None]
            if counted:
                seed = run.summary.seed
                rows = [_row(f"{hops} hops", price, hops) for hops, price in by_hops(counted, seed=seed).items()]
                everything = register_price(counted, seed=seed)
                rows.append(_row("all", everything, 0))
                title = run.name if len(pairs) == 1 else f"{run.name}, {one.pair.name}"
                tables.append(Table(title, _COLUMNS, tuple(rows), (_agreement(everything),)))
    if not tables:
        return None
    notes = (
        "Each trajectory is rendered both ways, and the tokens (o200k_base) of the lines that list items are counted, "
        "the initial register with them. Appended: each line once, as an agent's injections are. In prompts: each "
        "line once for every prompt that shows it. Shorter by: mean over questions.",
    )
    return Section("register", "Register text: deltas against full replay", tuple(tables), notes=notes)


_COLUMNS = (
    "",
    "appended, deltas",
    "appended, full replay",
    "shorter by",
    f"the paper's, {PAPER_LM}",
    "in prompts, deltas",
    "in prompts, full replay",
    "shorter by",
)


def _row(name: str, price: RegisterPrice, hops: int) -> tuple[Cell, ...]:
    return (
        Cell(name),
        Cell(f"{price.delta:,}", (f"n {price.n:,}",)),
        Cell(f"{price.replay:,}", (f"n {price.n:,}",)),
        estimate_cell(price.saved),
        published(DELTA_SAVES if hops == _PAPERS_HOPS else None),
        Cell(f"{price.delta_in_prompts:,}", (f"n {price.n:,}",)),
        Cell(f"{price.replay_in_prompts:,}", (f"n {price.n:,}",)),
        estimate_cell(price.saved_in_prompts),
    )


def _agreement(price: RegisterPrice) -> str:
    """How far the renderings are what the run showed."""
    return (
        f"One of the two renderings is word for word what the run recorded as shown, in {price.agreeing:,} of "
        f"{price.n:,} questions."
    )
