"""The first step: a question and what a first search found become a register of requirements."""

import dspy

from .values import ProposedRequirements, ShortQuestions


class InitializeRegister(dspy.Signature):
    """Take the question apart into short questions that each ask for one fact, in the order they can be answered.

    Begin with the names that the question mentions, and write R1, R2, ... in place of an answer that is not known yet.
    """

    # The question stands last: a weak LM otherwise takes the passages apart instead.
    passages: str = dspy.InputField(desc="what a first search found; may be beside the point")
    question: str = dspy.InputField()
    steps: ShortQuestions = dspy.OutputField(
        desc="for 'Where did the aunt of the painter of X live?': 'Who painted X?', 'Who was the aunt of R1?', "
        "'Where did R2 live?'; for 'Which is taller, X or Y?': 'How tall is X?', 'How tall is Y?'"
    )
    requirements: ProposedRequirements = dspy.OutputField(
        desc="the steps in order, R1 first, each with what the passages say. text: the short question; needs: ids that "
        "it waits for; support: ids of passages that answer it, else empty; answer: the short fact, where such a "
        "passage states it, else empty"
    )
