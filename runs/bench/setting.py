"""What a benchmark is given: where real records are, where big corpora are kept, how far to go."""

import os
import platform
from dataclasses import dataclass, field
from pathlib import Path

import platformdirs


class Skipped(Exception):
    """A benchmark cannot run here; the message says what it needs."""


@dataclass(frozen=True)
class Setting:
    """Where and how far.

    Attributes:
        data: Folder of benchmark files (musique_dev.jsonl, 2wiki_corpus.jsonl, …); None where none was given.
        cache: Folder that keeps what is slow to make: indexes of real passages, corpora of a million.
        large: Whether to measure at a million passages too.
        rounds: How often a timing is repeated.
    """

    data: Path | None = None
    cache: Path = field(default_factory=lambda: Path(platformdirs.user_cache_dir("executionrag")) / "bench")
    large: bool = False
    rounds: int = 7

    def need_data(self) -> Path:
        """The folder of benchmark files.

        Raises:
            Skipped: None was given.
        """
        if self.data is None:
            raise Skipped("needs benchmark files: give their folder with --data DIR (make bench DATA=DIR)")
        return self.data

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of passages to measure at."""
        return (6_000, 12_000, 100_000, *((1_000_000,) if self.large else ()))


def machine() -> str:
    """The machine in one line: processor, cores, memory, system, Python."""
    name = platform.processor() or platform.machine()
    flags = ""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = dict(line.split(":", 1) for line in cpuinfo.read_text().splitlines() if ":" in line)
        told = {key.strip(): value.strip() for key, value in lines.items()}
        name = told.get("model name", name)
        bf16 = [flag for flag in ("avx512_bf16", "amx_bf16") if flag in told.get("flags", "").split()]
        flags = f" ({', '.join(bf16)})" if bf16 else ""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30 if hasattr(os, "sysconf") else 0
    return (
        f"{name}{flags}, {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()}, "
        f"Python {platform.python_version()}"
    )
