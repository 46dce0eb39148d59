"""What a study asks: `study.json` in its folder, and where each run lies.

A run lies in `OUT/<benchmark kind>/<encoder>/<system>/`, where `evaluate --out` can have made it too. Asking again adds
to the study: systems and pairs that were asked before stay in it, whatever the later line names.
"""

import json
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from ...errors import UsageError, UserError
from ...metrics.value import Value

FORMAT: Literal["executionrag-study"] = "executionrag-study"
STUDY = "study.json"
AUDIT = "audit.json"


class Pair(Value):
    """A benchmark over an index.

    Attributes:
        benchmark: As a person names it.
        index: The index's folder, as she names it.
        kind: The benchmark's kind.
        encoder: The index's encoder, by name.
    """

    benchmark: str
    index: str
    kind: str
    encoder: str

    @property
    def place(self) -> Path:
        """Its folder within the study's."""
        return Path(safe_name(self.kind)) / safe_name(self.encoder)

    @property
    def name(self) -> str:
        """What a report calls it."""
        return f"{self.kind}, {self.encoder}"


class Plan(Value):
    """What a study asks.

    Attributes:
        format: Says that the file is one of ours.
        systems: The systems, in the order in which they were named.
        primary: The named comparison, first against second; None where there is none.
        pairs: The benchmarks, each over an index.
        command: What was typed last that asked systems.
    """

    format: Literal["executionrag-study"] = FORMAT
    systems: tuple[str, ...]
    primary: tuple[str, str] | None = None
    pairs: tuple[Pair, ...]
    command: str = ""

    def folder(self, out: Path, pair: Pair, system: str) -> Path:
        """Where a run lies."""
        return out / pair.place / safe_name(system)

    def added_to(self, earlier: "Plan | None") -> "Plan":
        """With what was asked before; the primary comparison is the later one, where that names one."""
        if earlier is None:
            return self
        told = {pair.place: pair for pair in (*earlier.pairs, *self.pairs)}  # a place is one pair: named anew, it moves
        return Plan(
            systems=tuple(dict.fromkeys((*earlier.systems, *self.systems))),
            primary=self.primary or earlier.primary,
            pairs=tuple(told.values()),
            command=self.command,
        )

    def save(self, out: Path) -> None:
        """Write `study.json`, by rename.

        Raises:
            UserError: It cannot be written.
        """
        temporary = out / f".{STUDY}.tmp"
        try:
            out.mkdir(parents=True, exist_ok=True)
            text = json.dumps(self.model_dump(mode="json"), ensure_ascii=False, indent=1)
            temporary.write_text(text + "\n", encoding="utf-8")
            temporary.replace(out / STUDY)
        except OSError as error:
            raise UserError(f"{out}: cannot be written ({error.strerror or error}); give another --out") from error


def load_plan(out: Path) -> Plan:
    """Read `study.json`.

    Raises:
        UserError: There is no study, or it cannot be read.
    """
    place = out / STUDY
    try:
        return Plan.model_validate_json(place.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{out}: no study there ({STUDY}: {error.strerror or error}); study makes one") from error
    except (ValidationError, ValueError) as error:
        raise UserError(f"{place}: no study of executionrag, or damaged; give another --out") from error


def is_study(folder: Path) -> bool:
    """Whether a folder is a study's."""
    return (folder / STUDY).is_file()


def safe_name(name: str) -> str:
    """A name as a folder's: what a file system may refuse becomes `-`."""
    return re.sub(r"[^\w.+@-]+", "-", name).strip(".-") or "unnamed"


def pair_up(benchmarks: Sequence[str], indexes: Sequence[str]) -> list[tuple[str, str]]:
    """Benchmarks with their indexes: equally many in order, or one benchmark over several.

    Raises:
        UsageError: They cannot be paired.
    """
    if not benchmarks or not indexes:
        raise UsageError("name at least one --benchmark and one --index")
    if len(benchmarks) == 1:
        return [(benchmarks[0], index) for index in indexes]
    if len(benchmarks) != len(indexes):
        raise UsageError(
            f"{len(benchmarks)} times --benchmark and {len(indexes)} times --index: give as many of each, in order, or "
            "one benchmark over several indexes"
        )
    return list(zip(benchmarks, indexes, strict=True))


def check_places(pairs: Iterable[Pair]) -> None:
    """See that no two pairs lie in one folder.

    Raises:
        UsageError: Two do.
    """
    seen: dict[Path, Pair] = {}
    for pair in pairs:
        other = seen.setdefault(pair.place, pair)
        if other is not pair:
            raise UsageError(
                f"{other.benchmark} over {other.index} and {pair.benchmark} over {pair.index} are both {pair.name} and "
                "would share a folder: make them two studies"
            )


def read_systems(written: str) -> tuple[str, ...]:
    """The names in `a,b,c`, each once.

    Raises:
        UsageError: None is named, or one does not exist.
    """
    from ...program.systems import SYSTEMS

    names = tuple(dict.fromkeys(name.strip() for name in written.split(",") if name.strip()))
    if not names:
        raise UsageError("--systems names none, e.g. --systems direct,vanilla-rag,a-rag,executionrag")
    unknown = [name for name in names if name not in SYSTEMS]
    if unknown:
        raise UsageError(f"--systems {', '.join(unknown)}: there is none; there are {', '.join(sorted(SYSTEMS))}")
    return names


def read_primary(written: str | None, systems: Sequence[str]) -> tuple[str, str] | None:
    """The two systems in `first:second`.

    Raises:
        UsageError: It is no pair of two of the study's systems.
    """
    if written is None:
        return None
    first, _, second = (part.strip() for part in written.partition(":"))
    if not first or not second or first == second or ":" in second:
        raise UsageError(f"--primary {written}: name two systems, e.g. --primary executionrag:a-rag")
    for name in (first, second):
        if name not in systems:
            raise UsageError(f"--primary {written}: {name} is not among the study's systems ({', '.join(systems)})")
    return first, second


def report_command(out: Path) -> str:
    """The command that makes the report anew."""
    return shlex.join(["executionrag", "study", "--out", str(out), "--report-only"])


def as_given(values: Any) -> list[str]:
    """What an option that may be given several times, each time with several values, holds."""
    return [value for group in values or [] for value in group]
