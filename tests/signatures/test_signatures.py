"""The shape of every signature: short instructions, names that DSPy leaves alone, small schemas in field order."""

import json
import re

import dspy
import pytest
from dspy.adapters.json_adapter import _get_structured_outputs_response_format

from executionrag.signatures.answer_directly import AnswerDirectly
from executionrag.signatures.answer_question import AnswerQuestion
from executionrag.signatures.choose_action import ChooseAction
from executionrag.signatures.force_answer import ForceAnswer
from executionrag.signatures.initialize_register import InitializeRegister
from executionrag.signatures.next_thought import NextThought
from executionrag.signatures.select_requirement import SelectRequirement
from executionrag.signatures.update_register import UpdateRegister
from executionrag.signatures.values import SCHEMA_ITEMS, ItemUpdate, ProposedRequirement
from executionrag.signatures.verify_sufficiency import AuditAnswer, VerifySufficiency
from executionrag.signatures.write_query import WriteQuery

OF_THE_REGISTER = [InitializeRegister, SelectRequirement, WriteQuery, UpdateRegister]
VERIFIERS = [VerifySufficiency, AuditAnswer]
SIGNATURES = [*OF_THE_REGISTER, *VERIFIERS, ChooseAction, NextThought, AnswerQuestion, ForceAnswer, AnswerDirectly]
ANSWERS = [AnswerQuestion, ForceAnswer, AnswerDirectly]
# Swallowed by Predict as arguments, shadowed by Example's methods, or clashing with pydantic's.
RESERVED = {
    *("config", "demos", "signature", "lm", "new_signature", "trace", "prediction"),
    *("items", "keys", "values", "copy", "get", "toDict", "inputs", "labels", "without", "with_inputs"),
    *("register", "instructions", "fields", "json", "schema", "score", "completions"),
}

every_signature = pytest.mark.parametrize("signature", SIGNATURES, ids=lambda signature: signature.__name__)


@every_signature
def test_instructions_are_at_most_two_sentences(signature):
    text = " ".join(signature.instructions.split())
    assert text
    assert len(re.findall(r"[.!?](?=\s|$)", re.sub(r"\.\.\.", "", text))) <= 2
    assert text.endswith(".")


@every_signature
def test_no_field_has_a_name_that_dspy_reserves(signature):
    assert not set(signature.fields) & RESERVED
    assert not any(hasattr(dspy.Prediction(), name) for name in signature.output_fields)


@every_signature
def test_inputs_are_text_and_the_question_is_one_of_them(signature):
    assert all(field.annotation is str for field in signature.input_fields.values())
    assert "question" in signature.input_fields


@every_signature
def test_what_is_the_same_each_loop_comes_before_what_is_not(signature):
    names = list(signature.input_fields)
    for grown in {"progress", "transcript"} & set(names):
        assert names[:2] == ["question", grown]


@every_signature
def test_the_verdict_comes_last(signature):
    outputs = list(signature.output_fields)
    assert len(outputs) > 1 or signature is VerifySufficiency  # each of its checks begins with evidence
    of_the_register = {"requirements", "selected_id", "query", "tool", "new_requirements"}
    assert outputs[-1] in of_the_register | {"checks", "corrected_answer", "calls", "finished", "answer"}


@pytest.mark.parametrize("model", [ProposedRequirement, ItemUpdate])
def test_evidence_comes_before_the_value_and_the_value_before_the_status(model):
    order = [name for name in model.model_fields if name in ("support", "answer", "status")]
    assert order == [name for name in ("support", "answer", "status") if name in model.model_fields]


def objects_of(schema):
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for part in schema.values():
            yield from objects_of(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from objects_of(part)


@every_signature
def test_a_reply_can_be_constrained_to_its_schema_in_field_order(signature):
    schema = _get_structured_outputs_response_format(signature, False).model_json_schema()
    assert list(schema["properties"]) == list(signature.output_fields)
    for part in objects_of(schema):
        # Strict structured outputs: each property required, none besides.
        assert part["required"] == list(part["properties"])
        assert part["additionalProperties"] is False
    assert "$ref" not in json.dumps(schema)
    assert "$defs" not in schema


@pytest.mark.parametrize(
    ("signature", "field", "names"),
    [
        (InitializeRegister, "requirements", ["text", "needs", "support", "answer"]),
        (UpdateRegister, "updates", ["requirement", "note", "support", "answer", "status", "reason"]),
        (UpdateRegister, "new_requirements", ["text", "needs", "replaces"]),
        (ChooseAction, "calls", ["tool", "query"]),
    ],
)
def test_objects_are_asked_for_in_the_order_of_their_fields(signature, field, names):
    schema = _get_structured_outputs_response_format(signature, False).model_json_schema()
    assert list(schema["properties"][field]["items"]["properties"]) == names


@pytest.mark.parametrize(
    ("signature", "field"),
    [
        (InitializeRegister, list(InitializeRegister.output_fields)[-2]),
        (InitializeRegister, "requirements"),
        (UpdateRegister, "updates"),
        (UpdateRegister, "new_requirements"),
        (ChooseAction, "calls"),
    ],
)
def test_a_list_that_is_constrained_to_its_schema_ends(signature, field):
    schema = _get_structured_outputs_response_format(signature, False).model_json_schema()
    assert schema["properties"][field]["maxItems"] == SCHEMA_ITEMS == 6


def test_the_question_to_take_apart_stands_after_the_passages():
    assert list(InitializeRegister.input_fields) == ["passages", "question"]


@every_signature
def test_its_schema_is_small(signature):
    schema = _get_structured_outputs_response_format(signature, False).model_json_schema()
    assert len(json.dumps(schema)) < 1_000


@every_signature
@pytest.mark.parametrize("adapter", [dspy.ChatAdapter(), dspy.JSONAdapter(), dspy.XMLAdapter()])
def test_each_adapter_can_write_its_prompt(signature, adapter):
    messages = adapter.format(signature, demos=[], inputs=dict.fromkeys(signature.input_fields, "words"))
    system = messages[0]["content"]
    assert signature.instructions.splitlines()[0] in system
    assert len(system) < 5_000


@every_signature
def test_the_step_can_be_told_from_its_output_fields(signature):
    fields = {"requirements", "selected_id", "query", "updates", "checks", "calls", "thought", "answer"}
    assert len(fields & set(signature.output_fields)) == 1
    assert not fields & set(signature.input_fields)


def test_every_answer_gives_the_same_fields():
    kinds = [{name: field.annotation for name, field in one.output_fields.items()} for one in ANSWERS]
    assert [list(kind) for kind in kinds] == [["explanation", "abstained", "answer"]] * 3
    assert kinds[0] == kinds[1] == kinds[2]
    assert len({one.output_fields["answer"].json_schema_extra["desc"] for one in ANSWERS}) == 1
    assert list(AnswerQuestion.input_fields) == list(ForceAnswer.input_fields)
