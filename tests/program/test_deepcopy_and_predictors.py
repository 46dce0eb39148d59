"""What optimisers and `save` need: six predictors by name, copies that share the index, a state of plain JSON."""

import copy
import json

import dspy
import pytest

from executionrag import ExecutionRAG

NAMES = ["initialize", "select", "write_query", "update", "answer", "force_answer"]


@pytest.fixture
def program(small_index):
    return ExecutionRAG(small_index, k=3, max_loops=7)


def test_the_six_predictors_are_found_by_name(program):
    assert [name for name, _ in program.named_predictors()] == NAMES
    assert all(isinstance(predictor, dspy.Predict) for predictor in program.predictors())


@pytest.mark.parametrize("make", [lambda program: program.deepcopy(), copy.deepcopy, lambda p: p.reset_copy()])
def test_a_copy_shares_the_index_and_nothing_that_an_optimiser_changes(program, make):
    other = make(program)
    assert other.index is program.index
    assert (other.k, other.max_loops) == (3, 7)
    changed = other.update.signature.with_instructions("Other words.")
    other.update.signature = changed
    other.update.demos = [dspy.Example(target="R1")]
    assert program.update.signature.instructions != "Other words."
    assert program.update.demos == []


def test_a_copy_answers_as_the_original_does(program, scripted, chain):
    lm, _ = scripted(chain)
    question = "Where was the mother of the composer of The Salt Choir born?"
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        one, other = program(question=question), program.deepcopy()(question=question)
    assert one.answer == other.answer == "Tarn Hollow"
    assert one.retrieved_ids == other.retrieved_ids


def test_its_state_is_saved_as_json_and_loaded_again(program, quick_index, tmp_path):
    program.update.signature = program.update.signature.with_instructions("Other words.")
    program.answer.demos = [dspy.Example(question="q", findings="f", passages="p", answer="a", explanation="e")]
    path = tmp_path / "program.json"
    program.save(str(path))
    assert set(json.loads(path.read_text())) == {*NAMES, "metadata"}
    loaded = ExecutionRAG(quick_index)
    loaded.load(str(path))
    assert loaded.update.signature.instructions == "Other words."
    assert loaded.answer.demos[0]["answer"] == "a"
    assert loaded.update.signature.output_fields.keys() == program.update.signature.output_fields.keys()


def test_no_key_of_an_lm_gets_into_its_state(program, tmp_path):
    program.set_lm(dspy.LM("openai/gpt-4o-mini", api_key="sk-verysecret"))
    path = tmp_path / "program.json"
    program.save(str(path))
    assert "verysecret" not in path.read_text()


def test_predictors_are_called_so_that_an_optimiser_sees_them(program, scripted, chain):
    lm, _ = scripted(chain)
    question = "Where was the mother of the composer of The Salt Choir born?"
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter(), trace=[]):
        program(question=question)
        traced = [predictor for predictor, _, _ in dspy.settings.trace]
    named = {id(predictor): name for name, predictor in program.named_predictors()}
    assert [named[id(predictor)] for predictor in traced] == [
        "initialize",
        *["write_query", "update"] * 3,
        "answer",
    ]


def test_few_shot_optimisation_compiles_it(program, scripted, chain):
    lm, _ = scripted(chain)
    question = "Where was the mother of the composer of The Salt Choir born?"
    trainset = [dspy.Example(question=question, answer="Tarn Hollow").with_inputs("question")]
    optimiser = dspy.BootstrapFewShot(
        metric=lambda example, prediction, trace=None: prediction.answer == example.answer,
        max_bootstrapped_demos=1,
        max_labeled_demos=0,
    )
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        compiled = optimiser.compile(program, trainset=trainset)
        assert compiled(question=question).answer == "Tarn Hollow"
    assert compiled.index is program.index
    assert len(compiled.update.demos) == 1
    assert program.update.demos == []
