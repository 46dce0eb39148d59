import copy
import json
import os
import re
from pathlib import Path

import dspy
import pytest

from executionrag.metrics.statistics import Estimate
from executionrag.optimize.compilers import Compiled, Plan, compile_program, split_train
from executionrag.optimize.feedback import FeedbackMetric
from executionrag.optimize.validation import compare_on, verdict
from executionrag.optimize.variant import load_variant, save_variant, steps_of
from executionrag.program.prompts import render_prompts
from executionrag.program.systems import make_system

BETTER = "Ask for one fact at a time, by name, and answer with the place alone."


def example(number, answer="Tarn Hollow"):
    return dspy.Example(
        id=f"q{number}",
        question=f"Where was the mother of the composer of The Salt Choir born? ({number})",
        answer=answer,
        answers=[answer],
        gold_ids=["bettina"],
        supporting=[{"title": "Bettina Moore", "text": ""}],
        supporting_ids=["bettina"],
        decomposition=[{"question": "Where was Bettina Moore born?", "answer": "Tarn Hollow", "support": 0}],
    ).with_inputs("question")


class Engine:
    """Answers every step, and every prompt that asks for an instruction, in the shape asked for.

    The answer is right once the answering step is told `BETTER`, or always where `right`.
    """

    def __init__(self, right=False, interrupt_at=None):
        self.right, self.interrupt_at, self.calls = right, interrupt_at, 0

    def complete(self, request):
        from dspy.lm15 import Message, Response, TextPart, Usage

        self.calls += 1
        if self.calls == self.interrupt_at:
            raise KeyboardInterrupt
        system = request.system or ""
        system = system if isinstance(system, str) else "".join(part.text for part in system)
        user = "".join(part.text for part in request.messages[-1].parts)
        place = "Tarn Hollow" if self.right or BETTER in system else "Orrim"
        asked = system.split("Your output fields are:")[-1].split("All interactions")[0].split("Outputs will be")[0]
        fields = re.findall(r"^\d+\. `(\w+)`", asked, re.MULTILINE)
        found = {"id": "R1", "status": "resolved", "answer": place, "support": ["P1"], "note": "", "reason": ""}
        known = {
            "inner_description": "x",
            "one_hop_questions": [],
            "requirements": [{"text": "Where was Bettina Moore born?"}],
            "query": "Where was Bettina Moore born?",
            "tool": "semantic_search",
            "updates": [found],
            "new_requirements": [],
            "explanation": "As [P1] says.",
            "abstained": "false",
            "answer": place,
            "selected_id": "R1",
            "reasoning": "x",
        }
        outputs = {name: known.get(name, BETTER) for name in fields}
        if "JSON object" in system + user:
            text = json.dumps(outputs)
        else:
            said = {name: one if isinstance(one, str) else json.dumps(one) for name, one in outputs.items()}
            text = "\n\n".join(f"[[ ## {name} ## ]]\n{one}" for name, one in said.items()) + "\n\n[[ ## completed ## ]]"
        return Response(
            id="scripted",
            model=request.model,
            message=Message(role="assistant", parts=(TextPart(text=text),)),
            finish_reason="stop",
            usage=Usage(input_tokens=10, output_tokens=5),
        )

    def stream(self, request):
        raise NotImplementedError

    def close(self):
        pass


def metric_of(index):
    from executionrag.retrievers.encoder import get_encoder

    return FeedbackMetric(get_encoder(index.encoder_name).encode_query)


@pytest.fixture
def optimised(small_index):
    def run(optimizer, engine, budget=12, train=6, **more):
        lm = dspy.LM("scripted/model", engine=engine, cache=False, num_retries=0)
        program = make_system("executionrag", small_index, max_loops=2)
        with dspy.context(lm=lm):
            result = compile_program(
                program, [example(n) for n in range(train)], metric_of(small_index), Plan(optimizer, budget), **more
            )
        return program, result, lm

    return run


@pytest.mark.parametrize("optimizer", ["gepa", "mipro"])
def test_a_better_instruction_is_found_and_the_student_stays_as_it_was(optimised, optimizer, small_index):
    engine = Engine()
    before = render_prompts(make_system("executionrag", small_index))
    program, result, _ = optimised(optimizer, engine, budget=40)
    assert isinstance(result, Compiled)
    assert not result.stopped
    assert render_prompts(program) == before
    assert BETTER in json.dumps(steps_of(result.program))
    assert result.answered > 0
    assert result.lm_calls > result.answered
    assert result.program.index is small_index


@pytest.mark.parametrize("optimizer", ["bootstrap", "random"])
def test_demonstrations_come_from_right_answers_only(optimised, optimizer, small_index):
    program, right, _ = optimised(optimizer, Engine(right=True))
    demos = len(steps_of(right.program)["answer"]["demos"])
    # Random search keeps the program as it is where that is right already.
    assert demos == (2 if optimizer == "bootstrap" else 0)
    assert steps_of(program)["answer"]["demos"] == []
    assert right.program.index is small_index
    _, wrong, _ = optimised(optimizer, Engine(right=False))
    assert not any(step["demos"] for step in steps_of(wrong.program).values())


def test_ctrl_c_keeps_the_demonstrations_collected(optimised):
    whole = Engine(right=True)
    optimised("bootstrap", whole, budget=1)
    _, result, _ = optimised("bootstrap", Engine(right=True, interrupt_at=whole.calls + 2))
    assert result.stopped
    assert len(steps_of(result.program)["answer"]["demos"]) == 1


@pytest.mark.parametrize("optimizer", ["gepa", "mipro"])
def test_ctrl_c_keeps_the_best_instruction_so_far(optimised, optimizer):
    whole = Engine()
    optimised(optimizer, whole, budget=40)
    _, result, _ = optimised(optimizer, Engine(interrupt_at=whole.calls - 1), budget=40)
    assert result.stopped
    assert BETTER in json.dumps(steps_of(result.program))


def test_gepa_goes_on_from_its_checkpoint(optimised, tmp_path):
    _, first, _ = optimised("gepa", Engine(), budget=40, log_dir=tmp_path / "log")
    again = Engine()
    _, second, _ = optimised("gepa", again, budget=40, log_dir=tmp_path / "log")
    assert steps_of(second.program) == steps_of(first.program)
    assert second.answered < first.answered


def test_the_key_is_in_no_file_of_a_variant_or_a_checkpoint(optimised, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-SECRET-in-the-environment")
    _, result, _ = optimised("gepa", Engine(), budget=20, log_dir=tmp_path / "v" / "log")
    result.program.set_lm(dspy.LM("openai/x", api_key="sk-SECRET-in-the-lm", api_base="http://user:sk-SECRET@h/v1"))
    save_variant(tmp_path / "v", result.program, {"system": "executionrag"})
    files = [Path(folder) / name for folder, _, names in os.walk(tmp_path) for name in names]
    assert len(files) >= 4
    for file in files:
        assert b"sk-SECRET" not in file.read_bytes(), file
    assert all(step["lm"] is None for step in json.loads((tmp_path / "v" / "program.json").read_text()).values())


def test_a_variant_prompts_the_same_after_it_was_on_disk(optimised, tmp_path, small_index):
    _, result, _ = optimised("bootstrap", Engine(right=True))
    saved = save_variant(tmp_path / "v", result.program, {"system": "executionrag"})
    loaded = load_variant(tmp_path / "v")
    assert (loaded.digest, loaded.steps) == (saved.digest, saved.steps)
    one, other = (make_system("executionrag", small_index) for _ in range(2))
    saved.apply(one)
    loaded.apply(other)
    assert render_prompts(one) == render_prompts(other) != render_prompts(make_system("executionrag", small_index))


def test_the_index_is_shared_by_every_copy(small_index):
    program = make_system("executionrag", small_index)
    assert copy.deepcopy(program).index is small_index
    assert program.deepcopy().index is small_index
    assert program.reset_copy().index is small_index


def test_the_baseline_and_a_better_program_are_compared_in_pairs(optimised, small_index):
    program, result, lm = optimised("gepa", Engine(), budget=40)
    with dspy.context(lm=lm):
        found = compare_on(
            [example(n) for n in range(10, 13)], program, result.program, metric_of(small_index), changed=True
        )
        same = compare_on([example(9)], program, program, metric_of(small_index), changed=False)
    assert sum(found.variant) >= sum(found.baseline)
    assert found.ids == ("q10", "q11", "q12")
    assert found.improved in {"unclear", "no"}  # three questions show no gain
    assert "too few to conclude" in str(found)
    assert same.improved == "no"


@pytest.mark.parametrize(
    ("low", "high", "n", "changed", "said"),
    [
        (0.1, 0.3, 40, True, "yes"),
        (-0.1, 0.3, 40, True, "unclear"),
        (0.1, 0.3, 10, True, "unclear"),
        (-0.3, -0.1, 40, True, "no"),
        (0.1, 0.3, 40, False, "no"),
    ],
)
def test_improved_says_what_the_interval_says(low, high, n, changed, said):
    assert verdict(Estimate.of((low + high) / 2, low, high, n), changed) == said


def test_the_parts_to_learn_from_and_to_choose_on_are_disjoint():
    learn, choose = split_train(list(range(7)))
    assert (learn, choose) == ([0, 1, 2, 3], [4, 5, 6])
