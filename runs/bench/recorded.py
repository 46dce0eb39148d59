"""Recorded questions asked again without an LM: its replies and the passages that came back are given once more."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...metrics.record import QuestionRecord
from ...program.trajectory import LMStep
from ...retrievers.index import Match
from ...retrievers.passage import Passage
from ..run_folder import RunFolder
from .reader import Reader


@dataclass(frozen=True)
class Recorded:
    """A recorded question: its row, the limit on its loops, and what stands in for the LM and the index."""

    record: QuestionRecord
    max_loops: int
    replies: "Replies"
    found: "Found"


class Replies(Reader):
    """The replies of one question in their order; one for a step that is no longer asked is passed over."""

    def __init__(self, record: QuestionRecord) -> None:
        """Reply as the record says."""
        super().__init__(())
        self._steps = iter([step for step in record.trajectory if isinstance(step, LMStep)])

    def outputs(self, step: str, inputs: Mapping[str, str]) -> dict[str, Any]:
        """The recorded outputs; raises `LookupError` where the step was not asked again."""
        reply = next((reply for reply in self._steps if reply.step == step), None)
        if reply is None:
            raise LookupError(f"no recorded reply is left for {step}")
        return reply.outputs


class Found:
    """The searches of one question; both are corpora of one-passage documents, so none has neighbours."""

    def __init__(self, record: QuestionRecord, passages: Mapping[str, Passage]) -> None:
        """Find what the record says, among these passages."""
        self.passage = passages.__getitem__
        self._found = {
            (step.tool, step.query): [Match(found.passage_id, found.score or 0.0) for found in step.found]
            for step in record.searches
        }

    def semantic_search(self, query: str, k: int) -> list[Match]:
        """As recorded."""
        return self._found["semantic_search", query]

    def keyword_search(self, query: str, k: int) -> list[Match]:
        """As recorded."""
        return self._found["keyword_search", query]

    def neighbours(self, passage_id: str, n: int) -> list[Passage]:
        """None."""
        return []


def recorded(folder: Path) -> Iterator[Recorded]:
    """The questions of a run folder; the stand-ins of each can be used once."""
    run = RunFolder.open(folder)
    passages = {
        passage_id: Passage(id=passage_id, title=title, text=text, document=passage_id, position=0)
        for passage_id, (title, text) in run.passages().items()
    }
    for record in run.records():
        yield Recorded(record, int(run.settings["max_loops"]), Replies(record), Found(record, passages))
