"""The next sentence of a chain of thought, which is also the next query."""

import dspy

from .values import Flag


class NextThought(dspy.Signature):
    """Write the next sentence of the reasoning that leads from the passages to the answer.

    State one fact that a passage gives, or name the one to look up next; the reasoning is finished once the answer
    itself is stated.
    """

    question: str = dspy.InputField()
    transcript: str = dspy.InputField(desc="the passages found and the sentences written so far")
    thought: str = dspy.OutputField(desc="one sentence that names its people, places and things; not said before")
    finished: Flag = dspy.OutputField(desc="true only when the sentence states the answer to the question")
