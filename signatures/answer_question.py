"""The answer from a register with nothing open."""

import dspy

from .values import Flag


class AnswerQuestion(dspy.Signature):
    """Answer the question from the findings and the passages alone.

    Give a best guess where evidence is partly inferred and say in the explanation what is inferred; abstain only where
    no answer can be given at all.
    """

    question: str = dspy.InputField()
    findings: str = dspy.InputField(desc="values found for each requirement; (tentative) is not settled")
    passages: str = dspy.InputField()
    explanation: str = dspy.OutputField(desc="one or two sentences that lead to the answer, citing passages as [P2]")
    abstained: Flag = dspy.OutputField(desc="true only when no answer is given")
    answer: str = dspy.OutputField(
        desc="the shortest form: a name, date, number, or yes or no; no sentence; empty when abstaining"
    )
