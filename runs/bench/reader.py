"""A reader in place of an LM: it answers each step from what the prompt shows and from the gold chain of the question.

It resolves a requirement only where the passage that states its fact is among those shown, so real retrieval decides
what comes of a question. It keeps no state: the same prompt always has the same reply.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..benchmarks.record import BenchmarkQuestion

# Which step a prompt asks for, told by the output field that only that step has.
_STEPS = {
    "requirements": "initialize",
    "selected_id": "select",
    "query": "write_query",
    "updates": "update",
    "answer": "answer",
}
_INPUT = re.compile(r"\[\[ ## (\w+) ## \]\]\n(.*?)(?=\n\n\[\[ ## |\n\nRespond with)", re.DOTALL)
_PASSAGE = re.compile(r"(?ms)^\[(P\d+)\] [^\n]*\n(.*?)(?=\n\n\[P\d+\] |\Z)")


class Reader:
    """Replies for the questions that it knows; safe from many threads."""

    def __init__(self, questions: Iterable[BenchmarkQuestion]) -> None:
        """Know these questions by their text; each needs a decomposition."""
        self._gold = {question.question: question for question in questions}

    def reply(self, system: str, user: str) -> str:
        """The reply to a prompt, in the format that it asks for."""
        step, inputs = read_prompt(system, user)
        return self.write(self.outputs(step, inputs), as_json="JSON object" in user)

    def outputs(self, step: str, inputs: Mapping[str, str]) -> dict[str, Any]:
        """The output fields of a step."""
        answering: Callable[[BenchmarkQuestion, Mapping[str, str]], dict[str, Any]] = getattr(self, f"_{step}")
        return answering(self._gold[inputs["question"]], inputs)

    @staticmethod
    def write(outputs: Mapping[str, Any], *, as_json: bool) -> str:
        """Output fields as an LM writes them, in DSPy's chat format or as JSON."""
        if as_json:
            return json.dumps(outputs)
        fields = (
            f"[[ ## {name} ## ]]\n{value if isinstance(value, str) else json.dumps(value)}"
            for name, value in outputs.items()
        )
        return "\n\n".join([*fields, "[[ ## completed ## ]]"])

    @staticmethod
    def _initialize(gold: BenchmarkQuestion, inputs: Mapping[str, str]) -> dict[str, Any]:
        questions = [re.sub(r"#(\d+)", r"R\1", hop.question) for hop in gold.decomposition]
        return {
            "inner_description": "as read",
            "one_hop_questions": questions,
            "requirements": [
                {"text": text, "needs": re.findall(r"\bR\d+\b", text), "support": [], "answer": ""}
                for text in questions
            ],
        }

    @staticmethod
    def _select(gold: BenchmarkQuestion, inputs: Mapping[str, str]) -> dict[str, Any]:
        return {"reasoning": "the first", "selected_id": inputs["open_ids"].split(",")[0]}

    @staticmethod
    def _write_query(gold: BenchmarkQuestion, inputs: Mapping[str, str]) -> dict[str, Any]:
        query = inputs["target"].splitlines()[0].split(": ", 1)[1]
        return {"missing": "all of it", "query": query, "tool": "semantic_search"}

    @staticmethod
    def _update(gold: BenchmarkQuestion, inputs: Mapping[str, str]) -> dict[str, Any]:
        target = re.match(r"R(\d+)", inputs["target"])
        place = int(target[1]) if target else 1
        hop = gold.decomposition[min(place, len(gold.decomposition)) - 1]
        stated = "" if hop.support is None else gold.supporting[hop.support].text.strip()
        support = [alias for alias, text in _PASSAGE.findall(inputs["new_passages"]) if text.strip() == stated]
        settled = {
            "requirement": f"R{place}",
            "note": "as read",
            "support": support,
            "answer": hop.answer if support else "",
            "status": "resolved" if support else "retired",
            "reason": "" if support else "not there",
        }
        return {"updates": [settled], "new_requirements": []}

    @staticmethod
    def _answer(gold: BenchmarkQuestion, inputs: Mapping[str, str]) -> dict[str, Any]:
        known = "retired" not in inputs["findings"]
        return {
            "explanation": "From [P1].",
            "abstained": "false" if known else "true",
            "answer": gold.answer if known else "",
        }

    @staticmethod
    def _force_answer(gold: BenchmarkQuestion, inputs: Mapping[str, str]) -> dict[str, Any]:
        return {"explanation": "", "abstained": "true", "answer": ""}


def read_prompt(system: str, user: str) -> tuple[str, dict[str, str]]:
    """The step that a prompt asks for, and its input fields."""
    listed = system.split("structured in")[0]
    step = next(step for field, step in _STEPS.items() if f"`{field}` (" in listed)
    if step == "answer" and "The search is over" in system:
        step = "force_answer"
    return step, dict(_INPUT.findall(user))
