"""Contain-match: whole words in a row, yes and no only in front, abstentions never."""

import dspy
import pytest

from executionrag.metrics.contain_match import answer_contains, contain_match


@pytest.mark.parametrize(
    ("golds", "answer", "matches"),
    [
        (["Tarn Hollow"], "Tarn Hollow", True),
        (["Tarn Hollow"], "the town of Tarn Hollow.", True),
        (["The Tarn Hollow"], "tarn hollow", True),
        (["Tarn Hollow"], "Tarn", False),
        (["Tarn Hollow"], "Hollow Tarn", False),
        (["Tarn Hollow"], "Tarn the Hollow", True),  # articles are dropped on both sides
        (["Tarn Hollow"], "Tarn and Hollow", False),
        (["art"], "party", False),  # a word inside a word is no match
        (["19"], "1933", False),
        (["1933"], "in 1933", True),
        (["1,250"], "1250 people", True),
        (["Mary", "Marie"], "Marie Kell", True),
        (["Mary", "Marie"], "Mark", False),
        (["yes"], "Yes", True),
        (["yes"], "Yes, both are.", True),
        (["yes"], "I think yes", False),
        (["no"], "There is no record", False),
        (["No"], "no.", True),
        (["no"], "north", False),
        (["No Country"], "the film No Country", True),  # a longer gold is no yes/no gold
        (["A"], "a", True),
        (["A"], "A plan", False),
        (["The The"], " the the ", True),
        (["The The"], "The", False),
        (["!!!"], "!!!", True),
        (["!!!"], "???", False),
        ([""], "", False),
        (["  "], "  ", False),
        ([], "anything", False),
        (["Tarn Hollow"], "", False),
        (["東京"], "東京", True),
    ],
)
def test_gold_is_matched_as_a_sequence_of_whole_words(golds, answer, matches):
    assert contain_match(golds, answer) is matches


@pytest.mark.parametrize("answer", ["Tarn Hollow", "yes", "", "not known; perhaps Tarn Hollow"])
def test_an_abstention_never_matches_whatever_it_says(answer):
    assert contain_match(["Tarn Hollow", "yes", ""], answer, abstained=True) is False


class TestAsADSPyMetric:
    def test_any_of_the_accepted_answers_scores(self):
        example = dspy.Example(question="q", answer="Mary", answers=["Mary", "Marie"]).with_inputs("question")
        assert answer_contains(example, dspy.Prediction(answer="Marie Kell", abstained=False)) == 1.0
        assert answer_contains(example, dspy.Prediction(answer="Mark", abstained=False)) == 0.0

    def test_a_plain_example_with_one_answer_is_enough(self):
        example = dspy.Example(question="q", answer="Mary").with_inputs("question")
        assert answer_contains(example, dspy.Prediction(answer="Mary")) == 1.0
        assert answer_contains(example, dspy.Prediction(answer="Mary"), trace=[]) == 1.0

    def test_a_list_in_answer_is_read_as_aliases(self):
        example = dspy.Example(question="q", answer=["Mary", "Marie"])
        assert answer_contains(example, dspy.Prediction(answer="Marie")) == 1.0

    def test_an_abstention_scores_nothing(self):
        example = dspy.Example(answers=["Mary"])
        assert answer_contains(example, dspy.Prediction(answer="Mary", abstained=True)) == 0.0

    @pytest.mark.parametrize(
        "prediction",
        [
            dspy.Prediction(),
            dspy.Prediction(answer=None),
            dspy.Prediction(answer=7),
            dspy.Prediction(answer=["Mary"]),
            None,
            "Mary",
            3,
        ],
    )
    def test_a_prediction_without_a_text_answer_scores_nothing_and_raises_nothing(self, prediction):
        assert answer_contains(dspy.Example(answers=["Mary"]), prediction) == 0.0

    @pytest.mark.parametrize(
        "example",
        [dspy.Example(), dspy.Example(answers=[]), dspy.Example(answer=None), dspy.Example(answers=[""]), None],
    )
    def test_an_example_without_a_gold_scores_nothing_and_says_so(self, example, caplog):
        assert answer_contains(example, dspy.Prediction(answer="Mary")) == 0.0
        assert "no gold answer" in caplog.text
