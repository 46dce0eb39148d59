"""A program's prompts as text: what each step's LM is told, with its demos, and a placeholder for every input."""

from collections.abc import Sequence
from typing import Any

import dspy


def render_prompts(program: dspy.Module) -> dict[str, str]:
    """Each predictor's prompt as the chat adapter writes it.

    Args:
        program: Any system; its index is not used.

    Returns:
        By predictor name, in alphabetical order: the messages one after another, each under its role. An input that is
        known only when a question is asked stands as `{name}`.
    """
    return {name: _render(predictor) for name, predictor in sorted(program.named_predictors())}


def _render(predictor: dspy.Predict) -> str:
    signature = predictor.signature
    inputs = {name: f"{{{name}}}" for name in signature.input_fields}
    demos = [dict(demo) for demo in predictor.demos]
    messages: Sequence[dict[str, Any]] = dspy.ChatAdapter().format(signature, demos, inputs)
    return "\n".join(f"=== {message['role']} ===\n{str(message['content']).strip()}\n" for message in messages)
