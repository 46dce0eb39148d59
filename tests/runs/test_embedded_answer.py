"""The whole program on the embedded LM: real retrieval, real replies, one question."""

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def prediction(tmp_path_factory):
    import dspy

    from executionrag import ExecutionRAG, Index, MiniHop
    from executionrag.retrievers.corpus import passages_from_rows
    from executionrag.runs.backends import make_lm

    index = Index.build(passages_from_rows(MiniHop.corpus), tmp_path_factory.mktemp("minihop") / "index")
    backend = make_lm("local", cache=False)
    question = MiniHop.question("2hop__mh_dev_22")
    with dspy.context(lm=backend.lm, adapter=backend.adapter):
        return ExecutionRAG(index, max_loops=2, context_window=backend.context_window)(question=question.question)


def test_it_ends_with_a_reason_and_within_the_budget(prediction):
    assert prediction.stop_reason in ("resolved", "budget_loops", "no_requirements")
    assert prediction.usage.loops <= 2


def test_every_reply_could_be_read(prediction):
    assert [step for step in prediction.trajectory if step.kind == "error" and step.error == "AdapterParseError"] == []


def test_the_register_cites_only_what_was_retrieved(prediction):
    assert prediction.requirements
    support = {passage for item in prediction.requirements for passage in item.support}
    assert support <= set(prediction.retrieved_ids)


def test_the_server_reports_the_tokens_of_every_call(prediction):
    assert prediction.usage.calls == sum(step.calls for step in prediction.usage.steps.values())
    assert prediction.usage.prompt_tokens > 0
    assert prediction.usage.completion_tokens > 0
    assert prediction.usage.cached_calls == 0
