"""One instance answers many questions at once: from threads or tasks, with the results of one after another."""

import asyncio
import contextvars
import re
from concurrent.futures import ThreadPoolExecutor

import dspy
import pytest

from executionrag import ExecutionRAG
from executionrag.program.trajectory import dump_trajectory

SUBJECTS = ["The Salt Choir", "Ana Kell", "Bettina Moore", "Tarn Hollow", "The Quiet Mill", "Joren Pask"]
QUESTIONS = [f"Question {number}: what of {SUBJECTS[number % 6]}?" for number in range(24)]


def number_of(text):
    return int(re.search(r"Question (\d+)", text)[1])


@pytest.fixture
def script(replies, read):
    """Every reply follows from the question alone, and no two questions go the same way."""

    def initialize(inputs):
        number = number_of(inputs["question"])
        return replies.initialize(*(f"Fact {place} of Question {number}?" for place in range(1 + number % 3)))

    def write_query(inputs):
        number = number_of(inputs["question"])
        return replies.write_query(f"{read.target_id(inputs)} {SUBJECTS[number % 6]} {number}", "keyword_search")

    def update(inputs):
        number = number_of(inputs["question"])
        if number % 4 == 3:
            return "unreadable"
        alias = re.search(r"\[(P\d+)\]", inputs["new_passages"])[1]
        change = replies.change(read.target_id(inputs), "resolved", answer=f"value {number}", support=[alias])
        return replies.update(change)

    def answer(inputs):
        return replies.answer(f"answer {number_of(inputs['question'])}", "See [P1] and [P2].")

    return {
        "initialize": initialize,
        "select": lambda inputs: replies.select(inputs["open_ids"].split(", ")[-1]),
        "write_query": write_query,
        "update": update,
        "answer": answer,
        "force_answer": answer,
    }


def plain(prediction):
    """Everything that a prediction says, but for the time it took."""
    return {
        **{name: prediction[name] for name in ("answer", "explanation", "abstained", "stop_reason")},
        "requirements": [item.model_dump() for item in prediction.requirements],
        "trajectory": dump_trajectory(prediction.trajectory),
        "retrieved_ids": prediction.retrieved_ids,
        "citations": prediction.citations,
        "usage": prediction.usage.model_dump(exclude={"seconds"}),
    }


@pytest.fixture
def answered(scripted, quick_index, script):
    """One instance, and what it answers to each question one after another."""
    lm, engine = scripted(script)
    program = ExecutionRAG(quick_index, max_loops=4)
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        yield program, [plain(program(question=question)) for question in QUESTIONS], lm, engine


def test_sixteen_threads_on_one_instance_give_what_one_thread_gives(answered, small_index):
    _, expected, _, _ = answered
    program = ExecutionRAG(small_index, max_loops=4)  # whose queries are encoded anew, from sixteen threads at once
    with ThreadPoolExecutor(16) as pool:
        futures = [
            pool.submit(contextvars.copy_context().run, lambda text=question: plain(program(question=text)))
            for question in QUESTIONS
        ]
        assert [future.result() for future in futures] == expected
    assert [result["answer"] for result in expected] == [f"answer {number}" for number in range(24)]
    assert {result["stop_reason"] for result in expected} == {"resolved", "budget_loops"}


def test_asynchronous_answers_equal_synchronous_ones(answered):
    program, expected, _, _ = answered

    async def all_at_once():
        return await asyncio.gather(*(program.acall(question=question) for question in QUESTIONS))

    assert [plain(prediction) for prediction in asyncio.run(all_at_once())] == expected


def test_usage_of_one_question_holds_none_of_anothers_calls(answered):
    program, _, lm, engine = answered
    lm.history.clear()
    engine.prompts.clear()
    with ThreadPoolExecutor(16) as pool:
        futures = [
            pool.submit(contextvars.copy_context().run, lambda text=question: program(question=text))
            for question in QUESTIONS
        ]
        usages = [future.result().usage for future in futures]
    calls = [number_of(inputs["question"]) for _, inputs, _ in engine.prompts]
    assert [usage.calls for usage in usages] == [calls.count(number) for number in range(24)]
    assert sum(usage.prompt_tokens for usage in usages) == sum(entry["usage"]["prompt_tokens"] for entry in lm.history)


def test_dspy_parallel_and_batch_work_on_it(answered):
    program, expected, _, _ = answered
    examples = [dspy.Example(question=question).with_inputs("question") for question in QUESTIONS[:6]]
    predictions = program.batch(examples, num_threads=4, disable_progress_bar=True)
    assert [plain(prediction) for prediction in predictions] == expected[:6]


def test_a_question_that_fails_leaves_its_neighbours_alone(scripted, quick_index, script):
    from dspy import lm15

    def initialize(inputs):
        if number_of(inputs["question"]) % 2:
            return lm15.ServerError("down", status=500)
        return script["initialize"](inputs)

    lm, _ = scripted({**script, "initialize": initialize})
    program = ExecutionRAG(quick_index, max_loops=1)
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()), ThreadPoolExecutor(8) as pool:
        futures = [
            pool.submit(contextvars.copy_context().run, lambda text=question: program(question=text))
            for question in QUESTIONS[:8]
        ]
        reasons = [future.result().stop_reason == "lm_error" for future in futures]
    assert reasons == [False, True] * 4
