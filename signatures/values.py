"""Typed values that the steps exchange with an LM: read leniently, so that a slip of form costs no evidence.

An LM writes `3` or `"[R3]"` for an id, one object where a list was asked for, `"Search."` for a choice, `null` for
nothing. Each type here accepts those forms before pydantic judges them, whichever DSPy adapter parsed the reply.
What an id *means* is validated where the state lives (`program.register`, `retrievers.session`), never here.
"""

import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal

import json_repair
from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

_NOTHING = {"", "none", "null", "n/a", "na", "unknown", "not found", "not stated", "-", "[]", "{}"}
# What the schema allows in one reply: constrained decoding of a weak LM may otherwise never close a list. Replies that
# are not constrained are read up to the longer limit; how many items a register holds is the register's to say.
SCHEMA_ITEMS, MAX_LIST = 6, 24
_ONLY_IDS = re.compile(r"(?:[PR]?\d+\s+)+[PR]?\d+", re.IGNORECASE)
_JSON = re.compile(r"\s*(?:```\w*\s*)?(?:\{|\[\s*[{\"\]])")
_TEXT_NAMES = ("text", "question", "requirement")
_TOOL_NAMES, _QUERY_NAMES = ("tool", "name"), ("query", "ids", "keywords", "arguments")
_CALL = re.compile(r"\b(?:semantic_search|keyword_search|read_passages)\b", re.IGNORECASE)
_NO_CALL = re.compile(
    r"\W*(?:(?:final[ _])?answer|finish(?:ed)?|done|stop|none|null|n/a|no (?:tool )?calls?)\W*", re.IGNORECASE
)
_YES, _NO = {"true", "yes", "y", "1"}, {"false", "no", "n", "0"}
_RIGHT, _WRONG = {"right", "correct", "accurate"}, {"wrong", "incorrect", "inaccurate"}
_NEGATED = r"(?:\bnot|n't|\bnever|\bneither)\s+(?:\w+\s+)?"
_NOT_RIGHT = re.compile(_NEGATED + r"(?:right|correct|accurate)\b")
_NOT_WRONG = re.compile(_NEGATED + r"(?:wrong|incorrect|inaccurate)\b")
_PARTLY = re.compile(r"\b(?:part(?:ly|ial|ially)|half|somewhat)\b")


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list | tuple | set):
        return ", ".join(_text(item) for item in value)
    return str(value).strip()


def _value(value: Any) -> str:
    text = _text(value)
    return "" if text.casefold().strip(".") in _NOTHING else text


def _many(value: Any) -> list[Any]:
    """One object, a mapping of objects, JSON text or nothing, read as a list without its empty items."""
    if isinstance(value, str) and _JSON.match(value):
        # XMLAdapter hands JSON over as text, or as a list that holds the text.
        try:
            value = json_repair.loads(value)
        except RecursionError as error:
            raise ValueError("brackets nested too deep") from error
    if isinstance(value, dict):
        nested = list(value.values())
        return nested if nested and all(isinstance(item, dict) for item in nested) else [value]
    if isinstance(value, list | tuple | set):
        return [part for item in value for part in (_many(item) if isinstance(item, str) else [item])]
    return [] if value is None or _text(value).casefold().strip(".") in _NOTHING else [value]


def _ids(value: Any) -> list[str]:
    """Ids as a list of strings: `"P1, [P2]"`, `["P1"]`, `3` and `None` are all read; a title stays whole."""
    items = value if isinstance(value, list | tuple | set) else [value]
    parts = [part.strip(" \t\"'.`") for item in items for part in re.split(r"[\n,;\[\](){}]+", _text(item))]
    words = [word for part in parts for word in (part.split() if _ONLY_IDS.fullmatch(part) else [part])]
    return [word for word in words if word.casefold() not in _NOTHING]


def _requirements(value: Any) -> list[Any]:
    items = [{"text": item} if isinstance(item, str) else item for item in _many(value)]
    kept = _having(items, *_TEXT_NAMES)
    if items and not kept:
        raise ValueError("no item has a text")  # not the same as a list that is empty on purpose
    return kept


def _objects(value: Any) -> list[Any]:
    return _having(_many(value), "requirement", "id")


def _having(items: Iterable[Any], *names: str) -> list[Any]:
    """The objects that have one of the fields; one that has none says nothing and must not cost the others."""
    kept = [
        item for item in items if isinstance(item, BaseModel) or (isinstance(item, dict) and set(names) & set(item))
    ]
    return kept[:MAX_LIST]


def _lines(value: Any) -> list[str]:
    items = value.splitlines() if isinstance(value, str) else _many(value)
    return [text for item in items if (text := _text(item))][:MAX_LIST]


def _status(value: Any) -> str:
    text = _text(value).casefold()
    if said := re.match(r"\W*(resolved|retired)\b", text):
        return said[1]
    if re.search(r"\bun|\bnot\b|n't\b|\bcannot\b|\bnever\b", text):
        return "open"
    return next((status for status in ("resolved", "retired") if status in text), "open")


def _reason(value: Any) -> str:
    text = _text(value)
    # "not found" is a reason; these are none.
    return "" if text.casefold().strip(".") in {"", "none", "null", "n/a", "na", "-"} else text


def _tool(value: Any) -> str:
    text = _text(value).casefold()
    if "keyword" in text or "bm25" in text or "lexical" in text:
        return "keyword_search"
    return "read_passages" if "read" in text else "semantic_search"


def _calls(value: Any) -> list[Any]:
    """Tool calls; `"keyword_search: Ana Kell"` is read as one, and what says that there is none as none."""
    calls: list[Any] = []
    for item in _many(value):
        if isinstance(item, dict):
            name = _text(next((item[key] for key in _TOOL_NAMES if key in item), None))
            # A tool of its own making, or none named, is a search by meaning; "answer" is no call.
            if not _NO_CALL.fullmatch(name) and (name or set(_QUERY_NAMES) & set(item)):
                calls.append(item)
        elif isinstance(item, BaseModel):
            calls.append(item)
        elif match := _CALL.search(text := _text(item)):
            calls.append({"tool": match[0], "query": text[match.end() :].strip(" \t:=()\"'")})
        elif text and not _NO_CALL.fullmatch(text):
            raise ValueError("names no tool")  # not the same as a list that is empty on purpose
    return calls[:MAX_LIST]


def _query(value: Any) -> str:
    return _text(list(value.values())) if isinstance(value, dict) else _text(value)


def _flag(value: Any) -> bool:
    return value if isinstance(value, bool) else _text(value).casefold().strip(".!\"' ") in _YES


def _supported(value: Any) -> bool:
    """Anything but a clear objection stands: a check that says nothing is none."""
    if isinstance(value, bool):
        return value
    text = _text(value).casefold().strip(".!\"' ")
    denied = re.search(r"\bun|\bnot\b|n't\b|\bpart(?:ly|ial|ially)\b|\binsufficient", text)
    return text not in _NO and not re.match(r"(?:no|false)\b", text) and denied is None


def _answer_verdict(value: Any) -> str:
    """What to do with a draft; anything unclear keeps it."""
    text = _text(value).casefold()
    if re.search(r"\bnot\b|n't\b", text):
        return "keep"
    if re.search(r"\bwith?h[eo]ld|\babstain|\breject", text):
        return "withhold"
    return "correct" if re.match(r"\W*(?:correct(?!ly)|revise|change|replace)", text) else "keep"


def _judgement(value: Any) -> str:
    """`"Correct."`, `true`, `"not right"` as one of the two words; what says both or neither is refused."""
    text = _text(value).casefold().replace("’", "'")
    text = _NOT_WRONG.sub(" right", _NOT_RIGHT.sub(" wrong", text))
    said = {"right" if word in _RIGHT else "wrong" for word in re.findall(r"\w+", text) if word in _RIGHT | _WRONG}
    first = re.match(r"\W*(\w+)", text)
    if first and first[1] in _YES | _NO:
        said.add("right" if first[1] in _YES else "wrong")
    if len(said) != 1 or _PARTLY.search(text):
        raise ValueError("neither right nor wrong")
    return said.pop()


Text = Annotated[str, BeforeValidator(_text)]
"""Free text; `null` is the empty string."""

Value = Annotated[str, BeforeValidator(_value)]
"""A short value, or the empty string where the LM said in any words that there is none."""

Reason = Annotated[str, BeforeValidator(_reason)]
"""Why an item is retired, or the empty string where the LM said that there is no reason."""

Ids = Annotated[list[str], BeforeValidator(_ids)]
"""Requirement or passage ids as the LM wrote them, brackets and quotes removed."""

Verdict = Annotated[Literal["open", "resolved", "retired"], BeforeValidator(_status)]
"""What an update says of an item; anything unclear leaves it open."""


class _FromLM(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class ProposedRequirement(_FromLM):
    """A requirement as initialisation proposes it: evidence first, then the value that it states."""

    text: Text = Field(validation_alias=AliasChoices(*_TEXT_NAMES))
    needs: Ids = Field(default=[])
    support: Ids = Field(default=[])
    answer: Value = ""


class ItemUpdate(_FromLM):
    """What new passages change about one requirement; `reason` is needed to retire it."""

    # Shown as `requirement`: under `id` a weak LM writes the id of a passage. Both names are read.
    id: Text = Field(validation_alias=AliasChoices("requirement", "id"))
    note: Text = ""
    support: Ids = Field(default=[])
    answer: Value = ""
    status: Verdict = "open"
    reason: Reason = ""


class RequirementCheck(_FromLM):
    """What a verifier says of one requirement: the evidence first, then whether it supports the value."""

    id: Text = Field(validation_alias=AliasChoices("requirement", "id"))
    evidence: Text = ""
    supported: Annotated[bool, BeforeValidator(_supported)] = True
    missing: Reason = ""


class NewRequirement(_FromLM):
    """A requirement added while searching; `replaces` names the item that it takes over from."""

    text: Text = Field(validation_alias=AliasChoices(*_TEXT_NAMES))
    needs: Ids = Field(default=[])
    replaces: Value = ""


class ToolCall(_FromLM):
    """One call of a tool, as an agent asks for it."""

    tool: Annotated[Literal["semantic_search", "keyword_search", "read_passages"], BeforeValidator(_tool)] = Field(
        default="semantic_search", validation_alias=AliasChoices(*_TOOL_NAMES)
    )
    query: Annotated[str, BeforeValidator(_query)] = Field(default="", validation_alias=AliasChoices(*_QUERY_NAMES))


class _Lenient:
    """An annotation for an output field: `read` turns a slip of form into what `target` accepts.

    DSPy drops the metadata of an `Annotated` output field, so the reading is part of the type itself; the value that
    arrives is a plain `target`. The JSON schema is inlined and stripped bare, for it stands in every prompt.
    """

    read: Callable[[Any], Any]
    target: Any

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(cls.read, handler.generate_schema(cls.target))

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        compact = _compact(handler(schema), handler)
        return compact | {"maxItems": SCHEMA_ITEMS} if compact.get("type") == "array" else compact


def _compact(schema: JsonSchemaValue, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
    schema = handler.resolve_ref_schema(schema)
    kept: JsonSchemaValue = {key: value for key, value in schema.items() if key in ("type", "enum")}
    if "items" in schema:
        kept["items"] = _compact(schema["items"], handler)
    if "properties" in schema:
        kept["properties"] = {name: _compact(part, handler) for name, part in schema["properties"].items()}
        kept["required"] = list(kept["properties"])
        kept["additionalProperties"] = False
    return kept


class Flag(_Lenient):
    """A bool; anything that is not clearly yes is no."""

    read, target = staticmethod(_flag), bool


class RightOrWrong(_Lenient):
    """A verdict on an answer; a reply that says neither, both, or something between is refused, never guessed."""

    read, target = staticmethod(_judgement), Literal["right", "wrong"]


class ToolName(_Lenient):
    """The search tool; semantic search where the reply names none of the three."""

    read, target = staticmethod(_tool), Literal["semantic_search", "keyword_search", "read_passages"]


class ProposedRequirements(_Lenient):
    """A list of `ProposedRequirement`; a plain string is read as its text."""

    read, target = staticmethod(_requirements), list[ProposedRequirement]


class OneHopQuestions(_Lenient):
    """A list of strings; one string is read as one a line."""

    read, target = staticmethod(_lines), list[str]


class ItemUpdates(_Lenient):
    """A list of `ItemUpdate`; one object is read as a list of one, prose as none."""

    read, target = staticmethod(_objects), list[ItemUpdate]


class RequirementChecks(_Lenient):
    """A list of `RequirementCheck`; one object is read as a list of one, prose as none."""

    read, target = staticmethod(_objects), list[RequirementCheck]


class AnswerVerdict(_Lenient):
    """What to do with a drafted answer; anything unclear keeps it."""

    read, target = staticmethod(_answer_verdict), Literal["keep", "correct", "withhold"]


class NewRequirements(_Lenient):
    """A list of `NewRequirement`; a plain string is read as its text."""

    read, target = staticmethod(_requirements), list[NewRequirement]


class ToolCalls(_Lenient):
    """A list of `ToolCall`; one object is read as a list of one, and `"none"` or `"answer"` as none."""

    read, target = staticmethod(_calls), list[ToolCall]
