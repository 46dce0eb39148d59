"""What an agent may write for its tool calls, and what is read of it."""

import pydantic
import pytest

from executionrag.signatures.values import MAX_LIST, ToolCalls

ADAPTER = pydantic.TypeAdapter(ToolCalls)


def read(written):
    return [(call.tool, call.query) for call in ADAPTER.validate_python(written)]


@pytest.mark.parametrize(
    ("written", "calls"),
    [
        ([{"tool": "keyword_search", "query": "Ana Kell"}], [("keyword_search", "Ana Kell")]),
        ({"tool": "Semantic search.", "query": "a mill"}, [("semantic_search", "a mill")]),
        ([{"name": "read_passages", "ids": ["P3", "P4"]}], [("read_passages", "P3, P4")]),
        ([{"name": "read_chunk", "arguments": {"ids": ["P3"]}}], [("read_passages", "P3")]),
        ([{"tool": "keyword_search", "arguments": {"keywords": "Ana Kell"}}], [("keyword_search", "Ana Kell")]),
        ([{"query": "a mill"}], [("semantic_search", "a mill")]),
        ("keyword_search: Ana Kell", [("keyword_search", "Ana Kell")]),
        (["semantic_search('a mill')", "read_passages P3"], [("semantic_search", "a mill"), ("read_passages", "P3")]),
        ('[{"tool": "keyword_search", "query": "x"}]', [("keyword_search", "x")]),
        ([{"tool": "keyword_search"}], [("keyword_search", "")]),
    ],
)
def test_calls_are_read_however_they_are_written(written, calls):
    assert read(written) == calls


@pytest.mark.parametrize(
    "written", [[], None, "", "none", "Answer.", "final answer", ["none"], [{"tool": "answer", "query": "Tarn"}], [{}]]
)
def test_no_call_is_the_wish_to_answer(written):
    assert read(written) == []


@pytest.mark.parametrize("written", ["I will look for the mill.", ["look at P3"]])
def test_prose_that_names_no_tool_is_not_taken_for_that_wish(written):
    with pytest.raises(pydantic.ValidationError):
        read(written)


def test_a_list_without_end_is_cut():
    assert len(read([{"tool": "keyword_search", "query": str(n)} for n in range(1000)])) == MAX_LIST
