"""What happened while a question was answered, as typed steps that survive a JSON round trip.

Every step names its loop (0 is the seed). A `RegisterStep` holds the items as they stand after a change, so `replay`
rebuilds the register's whole history from the steps alone, whatever version of the rules made them.
"""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from .register import Requirement

StepName = Literal[
    "initialize",
    "select",
    "write_query",
    "update",
    "choose_action",
    "next_thought",
    "answer",
    "force_answer",
    "verify",
]


class _Step(BaseModel):
    model_config = ConfigDict(frozen=True)

    loop: int


class Found(BaseModel):
    """A passage that a tool returned: its alias in the prompts, its id in the corpus, its rank (from 1).

    `full` says that its whole text came back, not only a snippet.
    """

    model_config = ConfigDict(frozen=True)

    alias: str
    passage_id: str
    title: str
    rank: int
    score: float | None = None
    new: bool = True
    full: bool = True


class SearchStep(_Step):
    """One tool call and what came back."""

    kind: Literal["search"] = "search"
    target: str | None
    tool: str
    query: str
    found: tuple[Found, ...]
    repeated: bool = False
    note: str = ""


class LMStep(_Step):
    """A reply that was used, field by field as the LM gave it.

    `truncated` says that the limit of its length cut it off; its fields could be read, but the last may lack its end.
    """

    kind: Literal["lm"] = "lm"
    step: StepName
    outputs: dict[str, Any]
    attempts: int = 1
    truncated: bool = False


class RegisterStep(_Step):
    """A change of the register: the changed items as they now stand, what was refused, and the text shown of it."""

    kind: Literal["register"] = "register"
    cause: Literal["initialize", "select", "update", "verify"]
    changed: tuple[Requirement, ...]
    refused: tuple[str, ...] = ()
    shown: str = ""


class Check(BaseModel):
    """What a verifier said of one requirement: whether the passages support it and, if not, what is missing."""

    model_config = ConfigDict(frozen=True)

    id: str
    supported: bool
    evidence: str = ""
    missing: str = ""


class VerifyStep(_Step):
    """A verifier's reading of the register.

    In `audit` it follows the drafted answer and decides what becomes of it: `draft` and `answer` are before and after,
    blank where there is none. In `search` it comes before any answer; `reopened` are the items that it opened again.
    `refused` is what the rules did not let it do.
    """

    kind: Literal["verify"] = "verify"
    mode: Literal["audit", "search"]
    checks: tuple[Check, ...]
    decision: Literal["keep", "correct", "withhold", "sufficient", "reopen"]
    draft: str = ""
    answer: str = ""
    reopened: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    @property
    def insufficient(self) -> bool:
        """Whether it found a requirement without support."""
        return any(not check.supported for check in self.checks)


class ErrorStep(_Step):
    """A step that fell back to its default, or a failure that ended the question."""

    kind: Literal["error"] = "error"
    step: StepName
    error: str
    message: str
    fatal: bool = False


class AnswerStep(_Step):
    """The answer, and the ids of the passages that its step was shown."""

    kind: Literal["answer"] = "answer"
    forced: bool
    answer: str
    explanation: str
    abstained: bool
    shown: tuple[str, ...]


Step = Annotated[SearchStep | LMStep | RegisterStep | ErrorStep | AnswerStep | VerifyStep, Field(discriminator="kind")]
_STEPS: TypeAdapter[list[Step]] = TypeAdapter(list[Step])


def dump_trajectory(steps: Iterable[Step]) -> list[dict[str, Any]]:
    """The steps as plain JSON values."""
    dumped: list[dict[str, Any]] = _STEPS.dump_python(list(steps), mode="json")
    return dumped


def load_trajectory(dumped: Iterable[dict[str, Any]]) -> list[Step]:
    """The steps from plain JSON values; raises `pydantic.ValidationError` where they are not a trajectory."""
    return _STEPS.validate_python(list(dumped))


def replay(steps: Iterable[Step]) -> list[tuple[Requirement, ...]]:
    """The register after each of its changes, in order."""
    states: list[tuple[Requirement, ...]] = []
    items: dict[str, Requirement] = {}
    for step in steps:
        if isinstance(step, RegisterStep):
            items |= {item.id: item for item in step.changed}
            states.append(tuple(items.values()))
    return states
