"""The answer from the LM alone, with the outputs of every other answer."""

import dspy

from .values import Flag


class AnswerDirectly(dspy.Signature):
    """Answer the question from what you know.

    Give a best guess where you are not sure and say so in the explanation; abstain only where no answer can be given
    at all.
    """

    question: str = dspy.InputField()
    explanation: str = dspy.OutputField(desc="one or two sentences that lead to what the question asks for")
    abstained: Flag = dspy.OutputField(desc="true only when no answer is given")
    answer: str = dspy.OutputField(
        desc="what the question asks for and nothing else, as the explanation concludes: a name, date or number; "
        "for a choice one of the things named; for a yes-no question yes or no; empty when abstaining"
    )
