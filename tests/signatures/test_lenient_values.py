"""What LMs really write for a typed value is read, through each of DSPy's adapters, and never guessed at."""

import json

import dspy
import pytest
from pydantic import BaseModel

from executionrag.signatures.answer_question import AnswerQuestion
from executionrag.signatures.initialize_register import InitializeRegister
from executionrag.signatures.update_register import UpdateRegister
from executionrag.signatures.values import MAX_LIST, ItemUpdate, NewRequirement, ProposedRequirement
from executionrag.signatures.write_query import WriteQuery

SIGNATURES = [InitializeRegister, WriteQuery, UpdateRegister, AnswerQuestion]
# The short questions that initialisation writes before it says what is known of each.
PLAN = list(InitializeRegister.output_fields)[-2]


def as_chat(outputs):
    sections = [f"[[ ## {name} ## ]]\n{raw}" for name, raw in outputs.items()]
    return "\n\n".join([*sections, "[[ ## completed ## ]]"])


def as_xml(outputs):
    return "\n".join(f"<{name}>\n{raw}\n</{name}>" for name, raw in outputs.items())


def as_json(outputs):
    def value(raw):
        try:
            json.loads(raw)
        except ValueError:
            return json.dumps(raw)
        return raw

    return "{" + ", ".join(f'"{name}": {value(raw)}' for name, raw in outputs.items()) + "}"


ADAPTERS = {
    "chat": (dspy.ChatAdapter(), as_chat),
    "json": (dspy.JSONAdapter(), as_json),
    "xml": (dspy.XMLAdapter(), as_xml),
}


ONE = '{"requirement": "R1", "note": "stated", "support": ["P1"], "answer": "Ana", "status": "resolved", "reason": ""}'
ONE_READ = {"id": "R1", "note": "stated", "support": ["P1"], "answer": "Ana", "status": "resolved"}


def plain(value):
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.model_dump(exclude_defaults=True) if isinstance(value, BaseModel) else value


@pytest.fixture(params=list(ADAPTERS))
def read(request):
    """`read(field, raw)`: the value of one output field as the adapter gives it, its other fields being in order."""
    adapter, write = ADAPTERS[request.param]

    def read(field, raw):
        signature = next(signature for signature in SIGNATURES if field in signature.output_fields)
        outputs = {
            name: "words" if output.annotation is str else "[]" for name, output in signature.output_fields.items()
        }
        return plain(adapter.parse(signature, write({**outputs, field: raw}))[field])

    return read


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("semantic_search", "semantic_search"),
        ("Search.", "semantic_search"),
        ("semantic", "semantic_search"),
        ("keyword_search", "keyword_search"),
        ("Keyword Search", "keyword_search"),
        ('"keyword_search"', "keyword_search"),
        ("`BM25`", "keyword_search"),
        ("read_passages", "read_passages"),
        ("Read.", "read_passages"),
        ("anything else", "semantic_search"),
        ("None", "semantic_search"),
    ],
)
def test_a_tool(read, raw, value):
    assert read("tool", raw) == value


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("true", True),
        ("True", True),
        ("True.", True),
        ("Yes", True),
        ("yes.", True),
        ("1", True),
        ("false", False),
        ("False", False),
        ("no", False),
        ("0", False),
        ("null", False),
        ("not sure", False),
    ],
)
def test_a_flag(read, raw, value):
    assert read("abstained", raw) is value


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (f"[{ONE}]", [ONE_READ]),
        (ONE, [ONE_READ]),
        (f'{{"R1": {ONE}}}', [ONE_READ]),
        (f"```json\n[{ONE}]\n```", [ONE_READ]),
        (f"[{ONE},]", [ONE_READ]),
        ("[]", []),
        ("{}", []),
        ("null", []),
        ("None", []),
        ("Nothing changes here.", []),
        ('["R1 is resolved"]', []),
        ('[{"requirement": 3, "status": "Resolved."}]', [{"id": "3", "status": "resolved"}]),
        ('[{"id": "P4", "requirement": "R1"}]', [{"id": "R1"}]),
        ('[{"note": "no id"}, {"requirement": "R1"}, {}]', [{"id": "R1"}]),
        ('[{"id": 3, "status": "Resolved."}]', [{"id": "3", "status": "resolved"}]),
        (
            '[{"id": "[R3]", "status": "RETIRED", "reason": "wrong"}]',
            [{"id": "[R3]", "status": "retired", "reason": "wrong"}],
        ),
        ('[{"id": "R1", "note": null, "support": null, "answer": null, "status": null}]', [{"id": "R1"}]),
        ('[{"id": "R1", "confidence": 0.9, "extra": {"a": 1}}]', [{"id": "R1"}]),
        ('[{"id": "R1", "answer": 1931}]', [{"id": "R1", "answer": "1931"}]),
        ('[{"id": "R1", "answer": ["Ana", "Bettina"]}]', [{"id": "R1", "answer": "Ana, Bettina"}]),
    ],
)
def test_updates(read, raw, value):
    assert read("updates", raw) == value


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ('[{"text": "Who?", "needs": ["R1"]}]', [{"text": "Who?", "needs": ["R1"]}]),
        ('["Who?", "Where?"]', [{"text": "Who?"}, {"text": "Where?"}]),
        ('{"text": "Who?", "needs": "R1"}', [{"text": "Who?", "needs": ["R1"]}]),
        ("[]", []),
        ("null", []),
        ('[{"text": "Who?", "answer": "not found", "needs": "none"}]', [{"text": "Who?"}]),
        ('[{"needs": ["R1"]}, {"text": "Who?"}, null, ""]', [{"text": "Who?"}]),
        ('["Who wrote [The Salt Choir]?"]', [{"text": "Who wrote [The Salt Choir]?"}]),
    ],
)
@pytest.mark.parametrize("field", ["requirements", "new_requirements"])
def test_requirements(read, field, raw, value):
    assert read(field, raw) == value


@pytest.mark.parametrize("field", ["requirements", "new_requirements"])
def test_a_requirement_that_begins_with_a_bracketed_id_keeps_its_words(read, field):
    assert read(field, '["[R1]\'s mother was born where?"]') == [{"text": "[R1]'s mother was born where?"}]


@pytest.mark.parametrize(
    ("raw", "lines"),
    [
        ('["Who painted it?", "Where did R1 live?"]', ["Who painted it?", "Where did R1 live?"]),
        ('["Who painted it?", "", null]', ["Who painted it?"]),
        ("[]", []),
        pytest.param('["[R1] lived where?"]', ["[R1] lived where?"]),
    ],
)
def test_a_plan(read, raw, lines):
    assert read(PLAN, raw) == lines


@pytest.mark.parametrize(
    ("field", "one"),
    [
        ("updates", '{"requirement": "R%d"}'),
        ("requirements", '{"text": "Question %d?"}'),
        ("new_requirements", '{"text": "Question %d?"}'),
        ("requirements", '"Question %d?"'),
        (PLAN, '"Question %d?"'),
    ],
)
def test_a_list_that_runs_on_is_cut_and_not_refused(read, field, one):
    first = read(field, f"[{', '.join(one % number for number in range(1, MAX_LIST + 1))}]")
    assert len(first) == MAX_LIST == 24
    assert read(field, f"[{', '.join(one % number for number in range(1, 31))}]") == first


@pytest.mark.parametrize("field", ["updates", "requirements", "new_requirements"])
def test_what_cannot_be_used_takes_no_place_in_the_list(read, field):
    name = "requirement" if field == "updates" else "text"
    items = [*['{"note": "nothing"}'] * 9, f'{{"{name}": "R1"}}']
    assert len(read(field, f"[{', '.join(items)}]")) == 1


@pytest.mark.parametrize(
    ("raw", "ids"),
    [
        (["P1", "P2"], ["P1", "P2"]),
        ("P1, P2", ["P1", "P2"]),
        ("P1 P2", ["P1", "P2"]),
        ("[P1], [P2]", ["P1", "P2"]),
        ("P1;P2", ["P1", "P2"]),
        (["[P1]", "'P2'", "P3."], ["P1", "P2", "P3"]),
        (3, ["3"]),
        ([1, 2], ["1", "2"]),
        (None, []),
        ("", []),
        ([], []),
        ([""], []),
        ([None], []),
        ("none", []),
        ("None.", []),
        (["n/a"], []),
        (["P1, P2"], ["P1", "P2"]),
        ("[P1][P2]", ["P1", "P2"]),
        ('["P1", "P2"]', ["P1", "P2"]),
        ("(P1) `P2`", ["P1", "P2"]),
    ],
)
def test_ids(raw, ids):
    assert ItemUpdate(id="R1", support=raw).support == ids
    assert ProposedRequirement(text="Who?", needs=raw, support=raw).support == ids
    assert NewRequirement(text="Who?", needs=raw).needs == ids


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        ("open", "open"),
        ("resolved", "resolved"),
        ("Resolved", "resolved"),
        ("status: retired", "retired"),
        ("unresolved", "open"),
        ("not resolved", "open"),
        ("pending", "open"),
        ("active", "open"),
        ("", "open"),
        (None, "open"),
        ("done", "open"),
        ("not yet resolved", "open"),
        ("cannot be resolved", "open"),
        ("isn't resolved", "open"),
        ("never retired", "open"),
        ("retired: not found", "retired"),
        ("retired (not needed)", "retired"),
    ],
)
def test_a_status_that_is_not_clear_leaves_the_item_open(raw, status):
    assert ItemUpdate(id="R1", status=raw).status == status


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("Tarn Hollow", "Tarn Hollow"),
        (" Tarn Hollow \n", "Tarn Hollow"),
        ("none", ""),
        ("None.", ""),
        ("NULL", ""),
        ("N/A", ""),
        ("unknown", ""),
        ("Not found.", ""),
        ("-", ""),
        (None, ""),
        ([], ""),
        ("no", "no"),
        ("No", "No"),
        (0, "0"),
        (False, "False"),
        ("Unknown Pleasures", "Unknown Pleasures"),
        ("Nonesuch", "Nonesuch"),
    ],
)
def test_a_value_is_empty_only_where_the_lm_said_that_there_is_none(raw, value):
    assert ItemUpdate(id="R1", answer=raw).answer == value


@pytest.mark.parametrize("reason", ["not needed", "P2 contradicts it"])
def test_a_reason_is_kept_as_given(reason):
    assert ItemUpdate(id="R1", status="retired", reason=reason).reason == reason


def test_not_found_is_a_reason():
    assert ItemUpdate(id="R1", status="retired", reason="not found").reason == "not found"


@pytest.mark.parametrize("nothing", ["", "  ", "none", "None.", "null", "N/A", "-", None])
def test_what_says_that_there_is_no_reason_is_none(nothing):
    assert ItemUpdate(id="R1", status="retired", reason=nothing).reason == ""


def test_one_unusable_object_does_not_cost_the_others():
    outputs = dict.fromkeys(UpdateRegister.output_fields, "[]")
    reply = as_json({**outputs, "updates": f'[{ONE}, {{"note": "no id"}}]'})
    assert plain(dspy.JSONAdapter().parse(UpdateRegister, reply)["updates"])[0] == ONE_READ


def test_nested_xml_is_read():
    outputs = dict.fromkeys(UpdateRegister.output_fields, "")
    items = "<item><id>R1</id><support><item>P1</item></support><status>resolved</status></item>"
    parsed = dspy.XMLAdapter().parse(UpdateRegister, as_xml({**outputs, "updates": items}))
    assert plain(parsed["updates"]) == [{"id": "R1", "support": ["P1"], "status": "resolved"}]


def test_what_is_read_twice_stays_the_same():
    update = ItemUpdate(id=3, support="P1, P2", answer=None, status="Resolved.", reason=None)
    assert ItemUpdate.model_validate(update.model_dump()) == update
    assert ItemUpdate.model_validate_json(update.model_dump_json()) == update
