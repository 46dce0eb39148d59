"""The answer from a register with nothing open."""

import dspy

from .values import Flag


class AnswerQuestion(dspy.Signature):
    """Answer the question from the findings and the passages alone.

    Give a best guess where evidence is partly inferred and say in the explanation what is inferred; abstain only where
    no answer can be given at all.
    """

    findings: str = dspy.InputField(desc="values found for each requirement; (tentative) is not settled")
    passages: str = dspy.InputField()
    # Last, so that a weak LM answers it and not the last finding.
    question: str = dspy.InputField()
    explanation: str = dspy.OutputField(
        desc="one or two sentences that lead to what the question asks for, citing passages as [P2]"
    )
    abstained: Flag = dspy.OutputField(desc="true only when no answer is given")
    answer: str = dspy.OutputField(
        desc="what the question asks for and nothing else, as the explanation concludes: a name, date or number; "
        "for a choice one of the things named; for a yes-no question yes or no; empty when abstaining"
    )
