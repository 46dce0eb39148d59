"""The judge's signature, and how its verdict is read: leniently in form, never guessed in substance."""

import json
import re

import dspy
import pytest
from pydantic import TypeAdapter, ValidationError

from executionrag.signatures.judge_answer import JudgeAnswer
from executionrag.signatures.values import RightOrWrong

INPUTS = {"question": "Who composed it?", "gold_answers": "Ana Kell", "prediction": "Kell"}


def read(written):
    return TypeAdapter(RightOrWrong).validate_python(written)


@pytest.mark.parametrize(
    "written",
    [
        *("right", "Right.", "RIGHT", ' "right" ', "**Right**", "correct", "Correct!", "accurate"),
        *("yes", "Yes.", "true", True, 1, "1", ["right"]),
        *("The prediction is right.", "Yes, it is correct.", "not wrong", "It isn't incorrect.", "verdict: right"),
    ],
)
def test_right_in_any_words(written):
    assert read(written) == "right"


@pytest.mark.parametrize(
    "written",
    [
        *("wrong", "Wrong.", "incorrect", "Incorrect!", "inaccurate", "no", "No.", "false", False, 0),
        *("not right", "not correct", "Not quite right.", "isn't correct", "The prediction isn’t correct.", ["wrong"]),
        *("No, that is wrong.", "No: it is not right."),
    ],
)
def test_wrong_in_any_words(written):
    assert read(written) == "wrong"


@pytest.mark.parametrize(
    "written",
    [
        *(
            "",
            None,
            "maybe",
            "unclear",
            "Ana Kell",
            "right or wrong",
            "right | wrong",
            "partially correct",
            "partly right",
        ),
        *("No, it is right.", "half right", {}, [], "rightful", "I cannot tell", "yesterday", "north"),
    ],
)
def test_neither_or_both_is_refused(written):
    with pytest.raises(ValidationError):
        read(written)


def test_the_schema_names_the_two_words():
    assert TypeAdapter(RightOrWrong).json_schema() == {"enum": ["right", "wrong"], "type": "string"}


def test_the_verdict_follows_its_reasoning():
    assert list(JudgeAnswer.output_fields) == ["reasoning", "verdict"]
    assert list(JudgeAnswer.input_fields) == ["question", "gold_answers", "prediction"]


def test_instructions_are_at_most_two_sentences():
    assert len(re.findall(r"[.!?](?=\s|$)", " ".join(JudgeAnswer.instructions.split()))) == 2


@pytest.mark.parametrize(("written", "meant"), [("Right.", "right"), ("Incorrect", "wrong"), ("yes", "right")])
def test_the_chat_adapter_reads_it(written, meant):
    reply = f"[[ ## reasoning ## ]]\nSame.\n\n[[ ## verdict ## ]]\n{written}\n\n[[ ## completed ## ]]"
    assert dspy.ChatAdapter().parse(JudgeAnswer, reply)["verdict"] == meant


@pytest.mark.parametrize(("written", "meant"), [("Right.", "right"), ("Incorrect", "wrong"), (True, "right")])
def test_the_json_adapter_reads_it(written, meant):
    reply = json.dumps({"reasoning": "Same.", "verdict": written})
    assert dspy.JSONAdapter().parse(JudgeAnswer, reply)["verdict"] == meant


@pytest.mark.parametrize("adapter", [dspy.ChatAdapter(), dspy.JSONAdapter()], ids=["chat", "json"])
def test_a_reply_without_a_verdict_is_refused(adapter):
    with pytest.raises(dspy.AdapterParseError):
        adapter.parse(JudgeAnswer, "The prediction seems fine to me.")
