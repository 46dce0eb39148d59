"""One LM step asked: the predictor called, its failures caught by kind, its calls accounted exactly.

DSPy records each LM call in the history of every module on the call stack. A `StepCall` is such a module, made for one
step, so its history holds this step's calls and no other thread's.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dspy
from dspy.utils.exceptions import (
    AdapterParseError,
    ContextWindowExceededError,
    LMAuthError,
    LMConfigurationError,
    LMError,
    LMInvalidRequestError,
    LMUnsupportedModelError,
)

from .tokens import count_tokens
from .usage import LMCall

_OVERFLOW = re.compile(
    r"context[ _-]?(?:length|window|size)|exceed_context|maximum context|too many tokens|prompt is too long|"
    r"exceeds? the (?:available|maximum|model)|maximum model length|max_new_tokens|n_ctx|"
    r"input (?:length|tokens?).{0,40}(?:exceed|maximum|limit)",
    re.IGNORECASE,
)

# A reply of thousands of brackets exhausts the stack of the JSON parser before any adapter can refuse it.
_UNREADABLE = (AdapterParseError, RecursionError)


@dataclass(frozen=True)
class Ask:
    """A step to put to the LM; a repeated attempt is sampled, so that it does not fail the same way."""

    step: str
    inputs: dict[str, Any]
    attempt: int = 0


@dataclass(frozen=True)
class Reply:
    """What came of an `Ask`: the prediction or the error, and the LM calls made either way."""

    prediction: dspy.Prediction | None
    error: Exception | None
    calls: tuple[LMCall, ...]

    @property
    def unparsed(self) -> bool:
        """Whether the LM replied and the reply could not be read."""
        return isinstance(self.error, _UNREADABLE)


class StepCall(dspy.Module):
    """The scope of one step's LM calls."""

    def forward(self, predictor: dspy.Module, inputs: dict[str, Any]) -> dspy.Prediction:
        """Call the predictor."""
        prediction: dspy.Prediction = predictor(**inputs)
        return prediction

    async def aforward(self, predictor: dspy.Module, inputs: dict[str, Any]) -> dspy.Prediction:
        """Call the predictor, asynchronously."""
        prediction: dspy.Prediction = await predictor.acall(**inputs)
        return prediction


def ask(program: dspy.Module, request: Ask) -> Reply:
    """Put one step to the LM. Provider and parse failures come back in the reply; anything else is raised."""
    call, predictor = StepCall(), getattr(program, request.step)
    try:
        return _reply(call, call(predictor, _inputs(request, predictor)))
    except (*_UNREADABLE, LMError) as error:
        return _failure(call, error)


async def aask(program: dspy.Module, request: Ask) -> Reply:
    """`ask`, asynchronously."""
    call, predictor = StepCall(), getattr(program, request.step)
    try:
        return _reply(call, await call.acall(predictor, _inputs(request, predictor)))
    except (*_UNREADABLE, LMError) as error:
        return _failure(call, error)


def is_overflow(error: Exception | None) -> bool:
    """Whether an error says, in any server's wording, that the prompt does not fit the LM's window.

    A 400 with no message left is taken for one too: vLLM's error body reaches us empty.
    """
    if isinstance(error, ContextWindowExceededError):
        return True
    if not isinstance(error, LMInvalidRequestError) or isinstance(error, LMUnsupportedModelError | LMAuthError):
        return False
    message = error.message.strip()
    empty = not message or re.fullmatch(r"(?:HTTP )?(?:400|413)", message) is not None
    return bool(_OVERFLOW.search(f"{message} {error.provider_code or ''}")) or (
        empty and error.status in (400, 413, None)
    )


def _inputs(request: Ask, predictor: Any) -> dict[str, Any]:
    if not request.attempt:
        return request.inputs
    # A rollout id of its own keeps DSPy's cache from giving the same reply again; the LM's label in it is kept.
    label = getattr(predictor.lm or dspy.settings.lm, "kwargs", {}).get("rollout_id")
    rollout = (label if isinstance(label, int) else 0) + request.attempt
    return {**request.inputs, "config": {"temperature": 1.0, "rollout_id": rollout}}


def _reply(call: StepCall, prediction: dspy.Prediction) -> Reply:
    return Reply(prediction, None, _calls(call.history))


def _failure(call: StepCall, error: Exception) -> Reply:
    # A missing key or an impossible setting fails every question alike: the caller's to mend, not a row's outcome.
    if isinstance(error, LMConfigurationError):
        raise error
    return Reply(None, error, _calls(call.history))


def _calls(history: Sequence[dict[str, Any]]) -> tuple[LMCall, ...]:
    return tuple(_call(entry) for entry in history)


def _call(entry: dict[str, Any]) -> LMCall:
    usage = entry.get("usage") or {}
    outputs = entry.get("outputs") or []
    texts = (output.get("text") if isinstance(output, dict) else output for output in outputs)
    text = "\n".join(text for text in texts if text)
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    return LMCall(
        model=str(entry.get("model", "")),
        text=text,
        prompt_tokens=prompt,
        completion_tokens=completion,
        logical_prompt_tokens=_prompt_size(entry) if prompt is None else prompt,
        logical_completion_tokens=count_tokens(text) if completion is None else completion,
        cost=entry.get("cost"),
        # A hit in DSPy's cache keeps its price in the history and drops its usage; there is no other mark of it.
        cached=not usage,
        truncated=_truncated(entry.get("response")),
    )


def _truncated(response: Any) -> bool:
    """Whether a reply ended at its length limit; DSPy warns in the log and hands on what there is."""
    # DSPy's own engine says it on the response, LiteLLM on each choice.
    parts = (response, *(getattr(response, "choices", None) or ()))
    return any(getattr(part, "finish_reason", None) == "length" for part in parts)


def _prompt_size(entry: dict[str, Any]) -> int:
    """Tokens of a prompt that no provider counted, without the few that a chat template adds."""
    messages = entry.get("messages") or [{"content": entry.get("prompt")}]
    contents = (message.get("content") for message in messages)
    return sum(count_tokens(content) for content in contents if isinstance(content, str))
