"""The first step: a question and what a first search found become a register of requirements."""

import dspy

from .values import ProposedRequirements


class InitializeRegister(dspy.Signature):
    """Break the question into the smallest list of facts that must be looked up, one hop each, in the order of finding.

    Each requirement asks for exactly one fact, so that one passage can state it; where it depends on a fact that is
    not known yet, write the id of the earlier requirement in place of the fact.
    """

    question: str = dspy.InputField()
    passages: str = dspy.InputField(desc="what one search with the question found; may be beside the point")
    requirements: ProposedRequirements = dspy.OutputField(
        desc="one to four items, numbered R1, R2, ... by their order; the last fact or facts settle the question. "
        "text: a short question that names its subject, e.g. 'Who directed The Red Kite?' then 'Where was R1 born?'; "
        "needs: ids of the earlier items that the text refers to; "
        "support: ids of passages that state the fact, else empty; "
        "answer: the fact where such a passage states it, else empty"
    )
