"""The answer when the search budget is spent."""

import dspy

from .values import Flag


class ForceAnswer(dspy.Signature):
    """The search is over and some facts were not found: give the best answer that the evidence allows.

    No further search is possible: a best guess with its gap named in the explanation is an answer, and abstaining
    is for when there is nothing to go by.
    """

    question: str = dspy.InputField()
    findings: str = dspy.InputField(desc="values found for each requirement; (tentative) is not settled")
    passages: str = dspy.InputField()
    explanation: str = dspy.OutputField(desc="one or two sentences that lead to the answer, citing passages as [P2]")
    abstained: Flag = dspy.OutputField(desc="true only when no answer is given")
    answer: str = dspy.OutputField(
        desc="the shortest form: a name, date, number, or yes or no; no sentence; empty when abstaining"
    )
