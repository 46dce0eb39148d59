"""Why a wrong answer is wrong, with what shows it: gold passages never retrieved, false resolutions, queries tried."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..metrics.failure_category import false_resolutions, unretrieved_gold
from ..metrics.record import QuestionRecord, Verdict
from ..metrics.score import Category, Score
from .audit_file import NOT_PROBED, Audit


@dataclass(frozen=True)
class FindingProbe:
    """An audit's probe that retrieves a passage, the one that knew least; `source` names a peer, else blank."""

    grade: int
    tool: str
    query: str
    rank: int
    source: str


@dataclass(frozen=True)
class MissedPassage:
    """A gold passage that was not retrieved.

    Attributes:
        passage_id: Which.
        title: Its title.
        hops: The places in the gold chain that it is the evidence of.
        reach: With an audit: whether it could have been found, or "not probed"; None without one.
        probe: With an audit: what retrieves it; None where nothing does.
    """

    passage_id: str
    title: str
    hops: tuple[int, ...]
    reach: str | None = None
    probe: FindingProbe | None = None


@dataclass(frozen=True)
class FalseResolution:
    """A requirement that was resolved without a gold passage in its support (passage id and title of each)."""

    id: str
    text: str
    answer: str
    support: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Query:
    """A tool call: what it asked, how many passages came back, and whether it repeated an earlier one."""

    loop: int
    tool: str
    query: str
    found: int
    repeated: bool


@dataclass(frozen=True)
class FailureEvidence:
    """One wrong or failed question.

    Attributes:
        id: The question's.
        question: As asked.
        gold: The gold answer, then its aliases.
        answer: The short answer; blank where there is none.
        abstained: It gave no answer.
        category: Why it is wrong, the first that fits.
        category_without_false_resolution: The same without the clause that only a register can show.
        hops: How many the benchmark counts.
        type: The benchmark's word for the kind of question.
        gold_passages: How many gold passages are mapped to the corpus.
        not_retrieved: Those that no tool returned.
        unmapped: Titles of gold passages that are not mapped.
        false_resolutions: What was resolved on other evidence.
        queries: The tool calls in order; the first is the question itself.
        stop_reason: Why the search ended.
        failure: Class, step and message of what ended the question; blank where nothing did.
        judge: What the judge said, where one was asked.
    """

    id: str
    question: str
    gold: tuple[str, ...]
    answer: str
    abstained: bool
    category: Category
    category_without_false_resolution: Category | None
    hops: int
    type: str
    gold_passages: int
    not_retrieved: tuple[MissedPassage, ...]
    unmapped: tuple[str, ...]
    false_resolutions: tuple[FalseResolution, ...]
    queries: tuple[Query, ...]
    stop_reason: str
    failure: str
    judge: str

    def json(self) -> dict[str, Any]:
        """The evidence as JSON values."""
        return asdict(self)


def failure_evidence(
    record: QuestionRecord,
    score: Score,
    verdict: Verdict | None,
    passages: Mapping[str, tuple[str, str]],
    audit: Audit | None = None,
) -> FailureEvidence | None:
    """The evidence of a wrong or failed question; None where it is right or could not be judged.

    Args:
        record: The question's.
        score: Its scores.
        verdict: What a judge said of it.
        passages: Title and text by passage id.
        audit: Of the run's index and benchmark at its k; says of each missing passage whether it could have been found.
    """
    if score.category is None:
        return None
    titles = {one.passage_id: one.title for one in record.gold if one.passage_id is not None}

    def title(passage_id: str) -> str:
        return passages.get(passage_id, ("", ""))[0] or titles.get(passage_id, "")

    failure = record.failure
    return FailureEvidence(
        id=record.id,
        question=record.question,
        gold=record.answers,
        answer=record.answer,
        abstained=record.abstained,
        category=score.category,
        category_without_false_resolution=score.category_without_false_resolution,
        hops=record.hops,
        type=record.type,
        gold_passages=len(record.gold_ids),
        not_retrieved=tuple(
            MissedPassage(missed, title(missed), _hops(record, missed), *_audited(audit, record.id, missed))
            for missed in unretrieved_gold(record)
        ),
        unmapped=tuple(one.title for one in record.gold if one.passage_id is None),
        false_resolutions=tuple(
            FalseResolution(item.id, item.text, item.answer, tuple((one, title(one)) for one in item.support))
            for item in false_resolutions(record)
        ),
        queries=tuple(
            Query(step.loop, step.tool, step.query, len(step.found), step.repeated) for step in record.searches
        ),
        stop_reason=record.stop_reason,
        failure="" if failure is None else f"{failure.error} in {failure.step or 'the question'}: {failure.message}",
        judge="" if verdict is None else verdict.reasoning,
    )


def _audited(audit: Audit | None, question_id: str, passage_id: str) -> tuple[str | None, FindingProbe | None]:
    """Reach and finding probe of a passage."""
    if audit is None:
        return None, None
    probe = audit.probe(question_id, passage_id)
    found = None if probe is None else FindingProbe(**probe.model_dump())
    return audit.reach(question_id, passage_id) or NOT_PROBED, found


def _hops(record: QuestionRecord, passage_id: str) -> tuple[int, ...]:
    return tuple(number for number, hop in enumerate(record.hop_ids, start=1) if hop == passage_id)
