"""Which open requirement the next search is for; asked only where there is a choice."""

import dspy


class SelectRequirement(dspy.Signature):
    """Choose the open requirement that the next search should serve.

    Prefer one whose answer others wait for, and leave one that keeps failing for another that may still be found.
    """

    question: str = dspy.InputField()
    progress: str = dspy.InputField(desc="the register and all that was searched so far")
    open_ids: str = dspy.InputField(desc="the requirements to choose from")
    reasoning: str = dspy.OutputField(desc="one short sentence")
    selected_id: str = dspy.OutputField(desc="one id, such as R2")
