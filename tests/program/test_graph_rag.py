"""`graph-rag`: one graph search with the question, recorded as such; no agent can call it."""

import dspy
import pytest

from executionrag.program.systems import SYSTEMS, make_system
from executionrag.signatures.values import ToolCall
from executionrag.signatures.write_query import WriteQuery

QUESTION = "Where was the mother of the composer of The Salt Choir born?"


@pytest.fixture
def answer(scripted, small_index, replies):
    def answer(system="graph-rag", **settings):
        lm, engine = scripted({"answer": lambda _: replies.answer("Tarn Hollow", "As [P3] says.")})
        with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
            return make_system(system, small_index, **settings)(question=QUESTION), engine

    return answer


def test_it_searches_once_with_the_question_and_answers_from_what_came(answer, small_index):
    prediction, engine = answer(k=3)
    search, *rest = prediction.trajectory
    assert (search.kind, search.tool, search.query, search.loop) == ("search", "graph_search", QUESTION, 0)
    assert prediction.retrieved_ids == [one.passage_id for one in small_index.graph_search(QUESTION, 3)]
    assert [step.kind for step in rest] == ["lm", "answer"]
    assert (prediction.answer, prediction.stop_reason, prediction.requirements) == ("Tarn Hollow", "answered", ())
    assert prediction.citations == [prediction.retrieved_ids[2]]
    assert [step for step, _, _ in engine.prompts] == ["answer"]
    assert "[P1]" in engine.prompts[0][1]["passages"]
    assert prediction.usage.retrieved_tokens == prediction.usage.retrieved_tokens_arag > 0


def test_no_limit_of_loops_forbids_its_search(answer):
    prediction, _ = answer(max_loops=0)
    assert len(prediction.retrieved_ids) == 5
    assert prediction.usage.loops == 0


def test_it_differs_from_vanilla_rag_in_the_search_alone(answer):
    graph, _ = answer()
    plain, _ = answer("vanilla-rag")
    assert [step.kind for step in graph.trajectory] == [step.kind for step in plain.trajectory]
    assert (graph.trajectory[0].tool, plain.trajectory[0].tool) == ("graph_search", "semantic_search")


def test_no_agent_can_call_the_graph_search():
    assert "graph-rag" in SYSTEMS
    assert ToolCall(tool="graph_search", query="x").tool == "semantic_search"
    assert "graph" not in str(WriteQuery.output_fields["tool"])
