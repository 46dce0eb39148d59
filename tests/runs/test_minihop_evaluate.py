"""MiniHop under plain `dspy.Evaluate`: real retrieval, and an LM that reads what it is shown and knows nothing else."""

import re

import dspy
import pytest

from executionrag import ExecutionRAG, Index, MiniHop
from executionrag.metrics.contain_match import answer_contains
from executionrag.metrics.evidence_recall import evidence_recall, found_by_hop
from executionrag.retrievers.corpus import passages_from_rows
from executionrag.signatures.initialize_register import InitializeRegister
from executionrag.signatures.update_register import UpdateRegister


@pytest.fixture(scope="session")
def minihop_index(tmp_path_factory):
    return Index.build(passages_from_rows(MiniHop.corpus), tmp_path_factory.mktemp("minihop") / "index")


def gold_of(inputs):
    """The benchmark's record of the question that a prompt is about."""
    return next(record for record in MiniHop.dev if record.question == inputs["question"])


def reply(signature, **known):
    filler = {name: "as read" if field.annotation is str else [] for name, field in signature.output_fields.items()}
    return {name: known.get(name, other) for name, other in filler.items()}


def initialize(inputs):
    hops = gold_of(inputs).decomposition
    return reply(InitializeRegister, requirements=[{"text": re.sub(r"#(\d+)", r"R\1", hop.question)} for hop in hops])


def write_query(inputs):
    query = inputs["target"].split(": ", 1)[1].split(" | ")[0]
    return {"missing": "all of it", "tool": "semantic_search", "query": query}


def update(inputs):
    """Resolve the target if the passage that states its fact is among those shown, else give it up."""
    gold, target = gold_of(inputs), re.match(r"R(\d+)", inputs["target"])
    hop = gold.decomposition[int(target[1]) - 1]
    text = gold.supporting[hop.support].text
    shown = re.findall(r"(?ms)^\[(P\d+)\] [^\n]*\n(.*?)(?=\n\n\[P\d+\] |\Z)", inputs["new_passages"])
    support = [alias for alias, body in shown if body.strip() == text.strip()]
    status = {"status": "resolved", "answer": hop.answer} if support else {"status": "retired", "reason": "not there"}
    return reply(UpdateRegister, updates=[{"id": target[0], "support": support, **status}])


def answer(inputs):
    gold = gold_of(inputs)
    known = "retired" not in inputs["findings"]
    return {
        "explanation": "From [P1].",
        "abstained": "false" if known else "true",
        "answer": gold.answer if known else "",
    }


READER = {
    "initialize": initialize,
    "select": lambda inputs: {"reasoning": "first", "selected_id": inputs["open_ids"].split(",")[0]},
    "write_query": write_query,
    "update": update,
    "answer": answer,
    "force_answer": lambda _: {"explanation": "", "abstained": "true", "answer": ""},
}


def evaluate(scripted, index, script, devset, **settings):
    lm, engine = scripted(script)
    evaluation = dspy.Evaluate(devset=devset, metric=answer_contains, num_threads=4, display_progress=False)
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        return evaluation(ExecutionRAG(index, **settings)), engine


def test_an_lm_that_reads_what_it_is_shown_gets_every_question_right(scripted, minihop_index):
    result, _ = evaluate(scripted, minihop_index, READER, MiniHop.devset[:6])
    assert result.score == 100.0
    for example, prediction, score in result.results:
        assert score == 1.0
        assert prediction.stop_reason == "resolved"
        assert prediction.usage.loops == len(example.decomposition)


def test_the_gold_evidence_of_each_hop_is_found(scripted, minihop_index):
    devset = MiniHop.devset[:6]
    result, _ = evaluate(scripted, minihop_index, READER, devset)
    for example, prediction, _ in result.results:
        record = MiniHop.question(example.id)
        gold = [MiniHop.passage_id(paragraph) for paragraph in record.supporting]
        hops = [gold[hop.support] for hop in record.decomposition]
        assert evidence_recall(gold, prediction.retrieved_ids) == 1.0
        assert found_by_hop(hops, prediction.retrieved_ids) == (True,) * len(hops)


def test_an_lm_that_abstains_scores_nothing(scripted, minihop_index):
    abstaining = {**READER, "answer": lambda inputs: answer(inputs) | {"abstained": "true"}}
    result, _ = evaluate(scripted, minihop_index, abstaining, MiniHop.devset[:6])
    assert result.score == 0.0
    assert all(prediction.abstained for _, prediction, _ in result.results)


def test_a_question_that_fails_scores_nothing_and_the_others_count(scripted, minihop_index):
    from dspy import lm15

    failing = MiniHop.devset[0].question

    def down(inputs):
        return lm15.ServerError("down", status=500) if inputs["question"] == failing else initialize(inputs)

    result, _ = evaluate(scripted, minihop_index, {**READER, "initialize": down}, MiniHop.devset[:4])
    assert result.score == 75.0
    assert [score for _, _, score in result.results] == [0.0, 1.0, 1.0, 1.0]
    assert result.results[0][1].stop_reason == "lm_error"
