"""A prediction as one JSON object: what `executionrag ask --json` prints.

The object, `"format": "executionrag-prediction"`, `"version": 1`; the version rises when a field goes or changes its
meaning, not when one is added:

- `question`, `answer` (short; blank where it abstained), `explanation`, `abstained`;
- `stop_reason`: resolved, no_requirements, budget_loops, budget_tokens, context_overflow or lm_error;
- `error`: why the language model failed, in one line; null where it did not;
- `requirements`: the register at the end: `id`, `text`, `needs`, `status` (pending, active, resolved, retired),
  `answer`, `note`, `support` (passage ids), `reason`, `replaces`;
- `citations`: what the explanation cites: `id`, `alias` (its name in the prompts) and `title`;
- `retrieved_ids`: every passage that a tool returned, in order of arrival; `passages`: their `title` and `text` by id;
- `trajectory`: the steps, each with `kind` (search, lm, register, error, answer) and `loop`;
- `usage`: `calls`, `cached_calls`, `prompt_tokens`, `completion_tokens`, `cost` (USD; null is unknown),
  `context_tokens` (what the budget counted), `loops`, `seconds`, and `steps` with the calls of each;
- `settings`: the LM, the index and the limits that it was made with; never a key.
"""

from collections.abc import Mapping
from typing import Any

import dspy

from ..program.trajectory import dump_trajectory
from ..retrievers.passage import Passage
from .answered import citations

FORMAT = "executionrag-prediction"
VERSION = 1


def prediction_json(
    question: str,
    prediction: dspy.Prediction,
    passages: Mapping[str, Passage],
    settings: Mapping[str, Any],
    error: str | None = None,
) -> dict[str, Any]:
    """A prediction as plain JSON values.

    Args:
        question: As it was asked.
        prediction: ExecutionRAG's prediction.
        passages: The retrieved passages by id.
        settings: What it was made with; plain values.
        error: Why the language model failed, where it did.
    """
    return {
        "format": FORMAT,
        "version": VERSION,
        "question": question,
        "answer": prediction.answer,
        "explanation": prediction.explanation,
        "abstained": prediction.abstained,
        "stop_reason": prediction.stop_reason,
        "error": error,
        "requirements": [item.model_dump(mode="json") for item in prediction.requirements],
        "citations": [
            {"id": cited.passage_id, "alias": cited.alias, "title": cited.title} for cited in citations(prediction)
        ],
        "retrieved_ids": list(prediction.retrieved_ids),
        "passages": {
            passage_id: {"title": passage.title, "text": passage.text} for passage_id, passage in passages.items()
        },
        "trajectory": dump_trajectory(prediction.trajectory),
        "usage": prediction.usage.model_dump(mode="json"),
        "settings": dict(settings),
    }
