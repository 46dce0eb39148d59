import dspy
import numpy as np
import pytest

from executionrag.optimize.asked_for import AskedFor, gold_hops, substituted
from executionrag.optimize.feedback import DEMO_THRESHOLD, FeedbackMetric
from executionrag.program.register import Requirement
from executionrag.program.trajectory import Found, RegisterStep, SearchStep, dump_trajectory

EXAMPLE = dspy.Example(
    id="q",
    question="Where was the mother of the composer of The Salt Choir born?",
    answer="Tarn Hollow",
    answers=["Tarn Hollow"],
    supporting=[{"title": "The Salt Choir", "text": ""}, {"title": "Bettina Moore", "text": ""}],
    supporting_ids=["salt", "bettina"],
    gold_ids=["bettina", "salt"],
    decomposition=[
        {"question": "Who composed The Salt Choir?", "answer": "Ana Kell", "support": 0},
        {"question": "mother of #1 >> birthplace", "answer": "Tarn Hollow", "support": 1},
    ],
).with_inputs("question")

# A made-up encoder: one axis a topic, so that a cosine is 1 or 0.
TOPICS = ("composed", "birthplace", "lighthouse")


def encode(text):
    vector = np.array([float(topic in text) for topic in TOPICS] + [0.0])
    return vector / np.linalg.norm(vector) if vector.any() else np.array([0.0, 0.0, 0.0, 1.0])


def search(loop, query, *found, repeated=False):
    passages = tuple(
        Found(alias=f"P{rank}", passage_id=one, title=one.title(), rank=rank) for rank, one in enumerate(found, 1)
    )
    return SearchStep(loop=loop, target=None, tool="semantic_search", query=query, found=passages, repeated=repeated)


def prediction(*steps, answer="Orrim", retrieved=(), abstained=False):
    trajectory = dump_trajectory(steps)
    return dspy.Prediction(answer=answer, abstained=abstained, retrieved_ids=list(retrieved), trajectory=trajectory)


@pytest.fixture
def metric():
    return FeedbackMetric(encode)


def test_a_hop_is_asked_for_by_its_passage_or_by_a_close_query():
    hop = gold_hops(EXAMPLE)[1]
    asked = AskedFor(encode)
    assert asked.hop(hop, [], ["bettina"])
    assert asked.hop(hop, ["birthplace of Bettina"], [])
    assert not asked.hop(hop, ["the lighthouse"], ["salt"])


def test_the_gold_answer_of_an_earlier_hop_stands_in_a_sub_question():
    assert gold_hops(EXAMPLE)[1].question == "mother of Ana Kell birthplace"
    assert substituted("#1 and #2 and #9", ["a", "b"]) == "a and b and #9"


def test_the_gold_hop_that_was_never_asked_for_is_named(metric):
    said = metric.feedback(EXAMPLE, prediction(search(1, "who composed it", "salt"), retrieved=["salt"]))
    line = (
        "Hop 2 was never asked for: 'mother of Ana Kell birthplace' (its evidence is in the passage 'Bettina Moore')."
    )
    assert said["write_query"] == [line]
    assert said["select"] == [f"{line} Choose the requirement that leads there."]


def test_the_query_that_repeated_an_old_one_is_named(metric):
    steps = search(1, "birthplace", "bettina"), search(2, "birthplace", "bettina", repeated=True)
    said = metric.feedback(EXAMPLE, prediction(*steps, retrieved=["bettina", "salt"]))
    assert said["write_query"] == ["The query 'birthplace' (loop 2) repeated an old one: it found nothing new."]


def test_the_requirement_resolved_without_gold_is_named(metric):
    item = Requirement(id="R1", text="the birthplace", status="resolved", answer="Orrim", support=("tarn",))
    right = item.model_copy(update={"id": "R2", "support": ("tarn", "salt")})
    steps = search(1, "x", "tarn"), RegisterStep(loop=1, cause="update", changed=(item, right))
    assert metric.feedback(EXAMPLE, prediction(*steps))["update"] == [
        "R1 ('the birthplace') was resolved as 'Orrim' on passages that hold no gold evidence: 'Tarn'."
    ]


def test_the_initial_requirement_that_matches_no_gold_sub_question_is_named(metric):
    items = (Requirement(id="R1", text="who composed it"), Requirement(id="R2", text="the lighthouse"))
    later = RegisterStep(loop=1, cause="update", changed=(Requirement(id="R3", text="another lighthouse"),))
    steps = RegisterStep(loop=0, cause="initialize", changed=items), later
    assert metric.feedback(EXAMPLE, prediction(*steps))["initialize"] == [
        "The requirement R2 ('the lighthouse') matches no fact that the answer needs; needed are: "
        "Who composed The Salt Choir?; mother of Ana Kell birthplace."
    ]


def test_a_wrong_answer_is_told_the_right_one_and_an_abstention_too(metric):
    said = metric.feedback(EXAMPLE, prediction(retrieved=["salt"]))
    assert said["answer"] == said["force_answer"]
    assert said["answer"] == [
        "The answer was 'Orrim'; right is 'Tarn Hollow'; 1 of its 2 gold passages were retrieved."
    ]
    assert metric.feedback(EXAMPLE, prediction(abstained=True))["answer"][0].startswith("No answer was given; right is")


@pytest.mark.parametrize(
    ("answer", "retrieved", "score"),
    [
        ("Tarn Hollow", ["salt", "bettina"], 1.0),
        ("Tarn Hollow", ["salt"], 0.75),
        ("Tarn Hollow", [], 0.5),
        ("Orrim", ["salt", "bettina"], 0.5),
        ("Orrim", [], 0.0),
    ],
)
def test_the_score_is_half_the_answer_and_half_the_evidence_however_it_is_asked(metric, answer, retrieved, score):
    made = prediction(answer=answer, retrieved=retrieved)
    assert metric.score(EXAMPLE, made) == score
    assert metric(EXAMPLE, made).score == score
    assert metric(EXAMPLE, made, [], "write_query", []).score == score
    assert (score >= DEMO_THRESHOLD) == (answer == "Tarn Hollow" and bool(retrieved))


def test_a_step_without_a_fault_is_told_so(metric):
    made = prediction(answer="Tarn Hollow", retrieved=["salt", "bettina"])
    assert metric(EXAMPLE, made, [], "update", []).feedback.startswith("Nothing to object to")


@pytest.mark.parametrize("broken", [dspy.Prediction(), None, dspy.Prediction(trajectory=[{"kind": "?"}], answer=3)])
def test_a_prediction_that_cannot_be_read_scores_nothing_and_raises_nothing(metric, broken):
    result = metric(EXAMPLE, broken)
    assert result.score == 0.0
    assert "never asked for" in result.feedback
