"""The first step: a question and what a first search found become a register of requirements."""

import dspy

from .values import ProposedRequirements, ShortQuestions


class InitializeRegister(dspy.Signature):
    """Take the question apart into short questions that each ask for one fact, in the order in which they can be answered.

    Write R1, R2, ... in place of an answer that is not known yet, so that a question can be searched for once it is.
    """

    passages: str = dspy.InputField(desc="what a first search found; may be beside the point")
    question: str = dspy.InputField()
    steps: ShortQuestions = dspy.OutputField(
        desc="two to four short questions, such as 'Who painted X?' then 'Where did R1 live?'; for a comparison the same "
        "about each thing"
    )
    requirements: ProposedRequirements = dspy.OutputField(
        desc="the steps in order, R1 first, each with what the passages say. text: the short question; needs: ids that it "
        "waits for; support: ids of passages that answer it, else empty; answer: the short fact, where such a passage "
        "states it, else empty"
    )
