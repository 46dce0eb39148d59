"""How a constrained request goes to the embedded server: JSON on one line, in the schema's order.

llama.cpp's own translation of a schema lets the model write white space around and inside the object, and a small
model does: up to twenty blanks after the last brace, a line break and an indent before each field. Where the runtime
carries llguidance, `response_format` is therefore replaced on the wire by an llguidance grammar of the same schema that
fixes the separators; about twenty tokens, a second of generation, are saved in every reply. `dspy.JSONAdapter`, DSPy's
cache and its history see nothing of it. Runtimes without llguidance get `response_format` as it is.
"""

import dataclasses
import functools
import json
from typing import Any

from dspy import lm15

from ...errors import UserError
from .server import import_runtime

# `lenient`: a keyword that llguidance does not know loosens the grammar instead of failing the call.
_GUIDANCE = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": ", "lenient": True}


class ConstrainedChatLM(lm15.OpenAIChatLM):
    """lm15's adapter for OpenAI-style servers, sending schemas as compact grammars."""

    __slots__ = ()

    def build_request(self, request: Any, stream: bool) -> Any:
        """Build the HTTP request of a canonical one."""
        return lm15.OpenAIChatLM.build_request(self, with_grammar(request), stream)


class AsyncConstrainedChatLM(lm15.AsyncOpenAIChatLM):
    """The same for async calls; lm15's async adapter has a sync one build its requests."""

    _inner: Any

    def __post_init__(self) -> None:
        lm15.AsyncOpenAIChatLM.__post_init__(self)
        inner = self._inner
        self._inner = ConstrainedChatLM(**{f.name: getattr(inner, f.name) for f in dataclasses.fields(inner) if f.init})


def with_grammar(request: Any) -> Any:
    """The request with its JSON schema turned into a grammar, or as it is where it has none."""
    wanted = request.config.response_format
    if not wanted or wanted.get("type") != "json_schema" or not has_llguidance():
        return request
    extensions = {**(request.config.extensions or {}), "grammar": compact_grammar(wanted["schema"])}
    config = dataclasses.replace(request.config, response_format=None, extensions=extensions)
    return dataclasses.replace(request, config=config)


def compact_grammar(schema: dict[str, Any]) -> str:
    """An llguidance grammar for JSON of that schema on one line, fields in the schema's order."""
    return f"%llguidance {{}}\nstart: %json {json.dumps({**schema, 'x-guidance': _GUIDANCE}, ensure_ascii=False)}"


@functools.cache
def has_llguidance() -> bool:
    """Whether the installed runtime understands llguidance grammars; its builds may differ."""
    try:
        grammar = import_runtime().json_schema_to_grammar({"type": "object"})
    except (UserError, AttributeError, TypeError, RuntimeError):
        return False
    return str(grammar).startswith("%llguidance")
