"""The answer when the search budget is spent."""

from .answer_question import AnswerQuestion


class ForceAnswer(AnswerQuestion):
    """The search is over and some facts were not found: give the best answer that the evidence allows.

    No further search is possible: a best guess with its gap named in the explanation is an answer, and abstaining
    is for when there is nothing to go by.
    """
