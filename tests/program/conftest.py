"""Scripted questions over the small index. The fields that an LM fills in are named here and nowhere else."""

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from executionrag.signatures.answer_question import AnswerQuestion
from executionrag.signatures.initialize_register import InitializeRegister
from executionrag.signatures.select_requirement import SelectRequirement
from executionrag.signatures.update_register import UpdateRegister
from executionrag.signatures.write_query import WriteQuery

QUESTION = "Where was the mother of the composer of The Salt Choir born?"
HOPS = ("Who composed The Salt Choir?", "Who is the mother of R1?", "Where was R2 born?")
VALUES = {"R1": "Ana Kell", "R2": "Bettina Moore", "R3": "Tarn Hollow"}


def _fields(signature: Any, **known: Any) -> dict[str, Any]:
    """The output fields of a signature in its order, those that no test cares about filled with something harmless."""
    filler = {name: "as read" if field.annotation is str else [] for name, field in signature.output_fields.items()}
    return {name: known.get(name, other) for name, other in filler.items()}


class Replies:
    """A well-formed reply of each step, as the fields that its signature asks for."""

    @staticmethod
    def requirement(text: str, needs=(), support=(), answer: str = "") -> dict[str, Any]:
        return {"text": text, "needs": list(needs), "support": list(support), "answer": answer}

    @staticmethod
    def initialize(*requirements: Any) -> dict[str, Any]:
        made = [Replies.requirement(item) if isinstance(item, str) else item for item in requirements]
        return _fields(InitializeRegister, requirements=made)

    @staticmethod
    def select(written: str) -> dict[str, Any]:
        return _fields(SelectRequirement, selected_id=written)

    @staticmethod
    def write_query(query: str, tool: str = "semantic_search") -> dict[str, Any]:
        return _fields(WriteQuery, tool=tool, query=query)

    @staticmethod
    def change(id: str, status: str = "open", *, answer="", support=(), note="", reason="") -> dict[str, Any]:
        return {
            "requirement": id,
            "note": note,
            "support": list(support),
            "answer": answer,
            "status": status,
            "reason": reason,
        }

    @staticmethod
    def update(*changes: dict[str, Any], new=()) -> dict[str, Any]:
        return _fields(UpdateRegister, updates=list(changes), new_requirements=list(new))

    @staticmethod
    def addition(text: str, needs=(), replaces: str = "") -> dict[str, Any]:
        return {"text": text, "needs": list(needs), "replaces": replaces}

    @staticmethod
    def answer(answer: str, explanation: str = "As [P1] says.", abstained: bool = False) -> dict[str, Any]:
        said = "true" if abstained else "false"
        return _fields(AnswerQuestion, explanation=explanation, abstained=said, answer=answer)


@dataclass
class Played:
    """A question that was answered: its prediction, and what the LM was asked."""

    prediction: Any
    engine: Any
    lm: Any

    def inputs(self, step: str) -> list[dict[str, str]]:
        """The inputs of each prompt of a step, in order."""
        return [inputs for name, inputs, _ in self.engine.prompts if name == step]

    @property
    def asked(self) -> list[str]:
        """The steps asked, in order, repeats included."""
        return [name for name, _, _ in self.engine.prompts]

    def steps(self, kind: str) -> list[Any]:
        return [step for step in self.prediction.trajectory if step.kind == kind]

    @property
    def register(self) -> dict[str, Any]:
        return {item.id: item for item in self.prediction.requirements}


def target_id(inputs: dict[str, str]) -> str:
    """The id of the item that a query or an update is for."""
    return re.match(r"R\d+", inputs["target"])[0]


def alias_of(text: str, shown: str) -> str:
    """The alias of the first shown passage that says `text`, or the empty string."""
    passages = re.findall(r"(?ms)^\[(P\d+)\] (.*?)(?=^\[P\d+\] |\Z)", shown)
    return next((alias for alias, body in passages if text in body), "")


@pytest.fixture(scope="session")
def replies() -> type[Replies]:
    return Replies


@pytest.fixture(scope="session")
def read() -> Any:
    """Readers of prompts: `read.target_id(inputs)`, `read.alias_of(text, shown)`."""

    class Read:
        pass

    Read.target_id = staticmethod(target_id)
    Read.alias_of = staticmethod(alias_of)
    return Read


@pytest.fixture
def chain() -> dict[str, Callable[[dict[str, str]], Any]]:
    """A script that answers `QUESTION` in three hops, each step doing what it should."""

    def update(inputs):
        target = target_id(inputs)
        alias = alias_of(VALUES[target], inputs["new_passages"])
        return Replies.update(Replies.change(target, "resolved", answer=VALUES[target], support=[alias]))

    def initialize(_):
        first, second, third = HOPS
        return Replies.initialize(
            first, Replies.requirement(second, needs=["R1"]), Replies.requirement(third, needs=["R2"])
        )

    return {
        "initialize": initialize,
        "select": lambda _: Replies.select("R1"),
        "write_query": lambda inputs: Replies.write_query(inputs["target"].splitlines()[0].split(": ", 1)[1]),
        "update": update,
        "answer": lambda _: Replies.answer("Tarn Hollow", "Bettina Moore was born there [P3]."),
        "force_answer": lambda _: Replies.answer("Tarn Hollow", "A guess from [P1]."),
    }


@pytest.fixture
def endless(chain) -> dict[str, Callable[[dict[str, str]], Any]]:
    """A script that never settles anything: one item, a new cheap query each loop, updates that change nothing."""
    asked = iter(range(1, 1000))

    return {
        **chain,
        "initialize": lambda _: Replies.initialize("Who composed The Salt Choir?"),
        "write_query": lambda _: Replies.write_query(f"salt choir {next(asked)}", "keyword_search"),
        "update": lambda _: Replies.update(),
    }


class RememberingIndex:
    """A real index that encodes each query once a session: most questions here ask the same few."""

    def __init__(self, index: Any) -> None:
        self._index = index
        self._remembered = functools.cache(index.semantic_search)

    def semantic_search(self, query: str, k: int) -> list[Any]:
        return list(self._remembered(query, k))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)


@pytest.fixture(scope="session")
def quick_index(small_index) -> Any:
    return RememberingIndex(small_index)


@pytest.fixture
def play(scripted, quick_index) -> Callable[..., Played]:
    """`play(script, question, **settings)` answers one question with a scripted LM over the small index."""
    import dspy

    from executionrag import ExecutionRAG

    def play(script, question: str = QUESTION, *, adapter: Any = None, **settings: Any) -> Played:
        lm, engine = scripted(script)
        program = ExecutionRAG(quick_index, **settings)
        with dspy.context(lm=lm, adapter=adapter or dspy.ChatAdapter()):
            return Played(program(question=question), engine, lm)

    return play
