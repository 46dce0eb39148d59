"""One answered question with its gold: a line of a run's `records.jsonl`, and what every metric is computed from.

A record is self-contained: scores can be recomputed from it alone, without the benchmark, the index or an LM. It holds
passage ids; the texts are stored once a run, beside it.
"""

from collections.abc import Sequence
from typing import Literal

from ..program.register import Requirement
from ..program.trajectory import RegisterStep, SearchStep, Step
from ..program.usage import Usage
from .value import Value

RECORD_VERSION = 1


class GoldPassage(Value):
    """A supporting paragraph of the question, with its passage in the index; None where it could not be mapped."""

    title: str
    passage_id: str | None


class GoldHop(Value):
    """A hop of the gold chain; `gold` is the position of its paragraph in the record's `gold`, where annotated."""

    question: str
    answer: str
    gold: int | None = None


class Retrieved(Value):
    """A passage that a tool returned, and what first brought it: loop (0 is the seed), tool, query, rank from 1.

    `full` says that its whole text was shown, then or later.
    """

    passage_id: str
    loop: int
    tool: str
    query: str
    rank: int
    full: bool


class Failure(Value):
    """Why a question has no answer: the exception's class, the step that it ended, one line of what it said."""

    error: str
    step: str
    message: str


class QuestionRecord(Value):
    """What one question came to.

    Attributes:
        version: Of this layout.
        id: The question's, unique in its benchmark.
        question: As asked.
        benchmark: Its kind (`musique`, `hotpotqa`, `2wiki`, `minihop`, `arag`), whose official rules scores follow.
        type: The benchmark's word for the kind of question.
        hops: How many hops the benchmark counts.
        answers: The gold answer, then its aliases.
        gold: The supporting paragraphs, each once.
        chain: The gold sub-questions in order; empty where the benchmark has none.
        system: What answered.
        failure: Why there is no answer (a failed LM, an overflow without an answer, an exception); None where there is
            one. Where the LM failed, the row keeps what was retrieved and spent; where an exception ended it, not.
        answer: The short answer; blank where it abstained or failed.
        explanation: A sentence or two with citations.
        abstained: The system gave no answer.
        stop_reason: Why the search ended; blank where an exception ended it.
        requirements: The register at the end; empty for systems without one.
        retrieved: Every passage that a tool returned, in order of arrival.
        citations: Ids of the passages that the explanation cites.
        trajectory: The steps.
        usage: LM calls, tokens, cost, seconds.
    """

    version: int = RECORD_VERSION
    id: str
    question: str
    benchmark: str
    type: str
    hops: int
    answers: tuple[str, ...]
    gold: tuple[GoldPassage, ...]
    chain: tuple[GoldHop, ...] = ()
    system: str = "executionrag"
    failure: Failure | None = None
    answer: str = ""
    explanation: str = ""
    abstained: bool = False
    stop_reason: str = ""
    requirements: tuple[Requirement, ...] = ()
    retrieved: tuple[Retrieved, ...] = ()
    citations: tuple[str, ...] = ()
    trajectory: tuple[Step, ...] = ()
    usage: Usage = Usage()

    @property
    def gold_ids(self) -> tuple[str, ...]:
        """The mapped gold passages, each once, in the order of the paragraphs."""
        return tuple(dict.fromkeys(one.passage_id for one in self.gold if one.passage_id is not None))

    @property
    def retrieved_ids(self) -> tuple[str, ...]:
        """The ids of the retrieved passages, in order of arrival."""
        return tuple(one.passage_id for one in self.retrieved)

    @property
    def hop_ids(self) -> tuple[str | None, ...]:
        """For each hop of the chain in order, its gold passage; None where it is not annotated or not mapped."""
        return tuple(None if hop.gold is None else self.gold[hop.gold].passage_id for hop in self.chain)

    @property
    def searches(self) -> Sequence[SearchStep]:
        """The tool calls, in order."""
        return [step for step in self.trajectory if isinstance(step, SearchStep)]

    @property
    def register_steps(self) -> Sequence[RegisterStep]:
        """The changes of the register, in order."""
        return [step for step in self.trajectory if isinstance(step, RegisterStep)]


class Verdict(Value):
    """What a judge said of one answer; `verdict` is None where it could not judge, and `error` then says why.

    `answer` and `abstained` are what was judged: a verdict on another answer does not count. Cost and tokens are the
    judge's own and never added to the agent's; `cost` None is "unknown".
    """

    id: str
    judge: str
    answer: str
    abstained: bool = False
    verdict: Literal["right", "wrong"] | None
    reasoning: str = ""
    error: str = ""
    cached: bool = False
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
