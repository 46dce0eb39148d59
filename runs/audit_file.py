"""A reachability audit read back from the JSON that `executionrag reachability --json` prints or `--out` writes.

What a run missed is looked up in it by question and passage. An audit says something of a run only where index,
benchmark and k are the run's; what it did not probe is "not probed" and no finding. A file that is no such JSON is
refused in one line.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import UserError
from ..metrics.failure_category import unretrieved_gold
from ..metrics.reachability import REACHES, Grade, Reach, SearchTool, reach_of
from ..metrics.record import QuestionRecord
from ..metrics.score import Score

ONE_SIDED = "What no probe retrieves is not certified; it is not shown to be unreachable."
NOT_PROBED = "not probed"
_REMEDY = "give what executionrag reachability --json printed, or --out wrote"
_WORDS = {"index_digest": "index", "benchmark_digest": "benchmark", "k": "k"}


class AuditHit(BaseModel):
    """A probe that retrieved a passage: how much it knew, its tool and text, the rank from 1, the peer it is from."""

    model_config = ConfigDict(frozen=True)

    grade: Grade
    tool: SearchTool
    query: str
    rank: int
    source: str = ""


class _Row(BaseModel):
    question_id: str
    passage_id: str
    hits: tuple[AuditHit, ...]


class _File(BaseModel):
    index_digest: str
    benchmark_digest: str
    k: int = Field(ge=1)
    peers: tuple[str, ...]
    tools: dict[str, Any]
    passages: tuple[_Row, ...]


@dataclass(frozen=True)
class Audit:
    """What the probes found of a benchmark's gold passages in one index.

    Attributes:
        name: What errors call it: its file.
        index_digest: Of the index that was searched.
        benchmark_digest: Of the question file.
        k: Passages a search.
        peers: The runs whose queries were tried, by name.
        tools: The searches that were tried.
        hits: By question and passage id, the probes that retrieved it in their order; a key for all that was probed.
    """

    name: str
    index_digest: str
    benchmark_digest: str
    k: int
    peers: tuple[str, ...]
    tools: tuple[str, ...]
    hits: Mapping[tuple[str, str], tuple[AuditHit, ...]]

    def reach(self, question_id: str, passage_id: str) -> Reach | None:
        """What a system that missed the passage could have done; None where the audit did not probe it."""
        found = self.hits.get((question_id, passage_id))
        return None if found is None else reach_of(hit.grade for hit in found)

    def probe(self, question_id: str, passage_id: str) -> AuditHit | None:
        """The probe that retrieves the passage and knew least, of these the best ranked; None where none does."""
        # Of equals the first, so that the order of the probes decides and nothing else.
        return min(self.hits.get((question_id, passage_id), ()), key=lambda hit: (hit.grade, hit.rank), default=None)

    def missing(self, rows: Iterable[tuple[QuestionRecord, Score]]) -> dict[str, int]:
        """Gold passages that wrong answers missed, counted by reach, then what was not probed; failed rows aside."""
        counts: dict[str, int] = dict.fromkeys((*REACHES, NOT_PROBED), 0)
        for record, score in rows:
            if score.right is False and not score.failed:
                for passage_id in unretrieved_gold(record):
                    counts[self.reach(record.id, passage_id) or NOT_PROBED] += 1
        return counts

    def check(self, settings: Mapping[str, Any]) -> None:
        """See that a run's settings are of the same index, benchmark and k; what a run does not say is let pass.

        Of an imported run it is the index that its passages are mapped to.

        Raises:
            UserError: One of them differs.
        """
        for key, words in _WORDS.items():
            of_run, audited = settings.get(key) or settings.get(f"mapped_{key}"), getattr(self, key)
            if of_run not in (None, "") and of_run != audited:
                raise UserError(
                    f"{self.name}: an audit of another {words} ({_short(audited)}; the run has {_short(of_run)}); "
                    "audit the run's index and benchmark at its k with executionrag reachability"
                )


def load_audit(path: Path | str) -> Audit:
    """Read an audit.

    Args:
        path: The file.

    Raises:
        UserError: It cannot be read, or is no audit.
    """
    path = Path(path)
    try:
        read = _File.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error}); {_REMEDY}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        said = f"field `{field}`: {first['msg']}" if field else first["msg"]
        raise UserError(f"{path}: no reachability audit ({said}); {_REMEDY}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: no reachability audit (no JSON: {error}); {_REMEDY}") from error
    hits = {(row.question_id, row.passage_id): row.hits for row in read.passages}
    tools = tuple(name for name in read.tools if name != "either")
    return Audit(str(path), read.index_digest, read.benchmark_digest, read.k, read.peers, tools, hits)


def _short(value: Any) -> str:
    return value[:12] if isinstance(value, str) else json.dumps(value)
