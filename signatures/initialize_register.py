"""The first step: a question and what a first search found become a register of requirements."""

import dspy

from .values import OneHopQuestions, ProposedRequirements


class InitializeRegister(dspy.Signature):
    """Plan how to look up the answer to the question with one-hop questions, each about one fact of one named thing.

    Unfold nested descriptions from the inside out, writing R1, R2, ... for what is not known yet, and ask about each
    thing of a comparison apart.
    """

    # The question stands last: a weak LM otherwise takes the passages apart instead.
    passages: str = dspy.InputField(desc="what a first search found; may be beside the point")
    question: str = dspy.InputField()
    inner_description: str = dspy.OutputField(
        desc="the innermost description in the question, such as 'the painter of X' in 'Where did the aunt of the "
        "painter of X live?'; or the things compared"
    )
    one_hop_questions: OneHopQuestions = dspy.OutputField(
        desc="such as 'Who is the painter of X?', 'Who is the aunt of R1?', 'Where did R2 live?'; for a comparison "
        "'How tall is X?', 'How tall is Y?'"
    )
    requirements: ProposedRequirements = dspy.OutputField(
        desc="the one-hop questions in order, R1 first, each with what the passages say. text: the question; "
        "needs: ids that it waits for; support: ids of passages that answer it, else empty; "
        "answer: the short fact, where such a passage states it, else empty"
    )
