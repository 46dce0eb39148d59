"""What new passages change in the register."""

import dspy

from .values import ItemUpdates, NewRequirements


class UpdateRegister(dspy.Signature):
    """Say what the new passages settle: of the target first, then of any other requirement that they touch.

    Resolve an item with the best-supported value that passages about its own subject state or clearly imply; leave it
    open while none speaks of that subject, and retire it only with a reason.
    """

    question: str = dspy.InputField()
    progress: str = dspy.InputField(desc="the register and all that was searched so far")
    advice: str = dspy.InputField()
    new_passages: str = dspy.InputField()
    target: str = dspy.InputField(desc="the requirement that the search was for, with its note")
    updates: ItemUpdates = dspy.OutputField(
        desc="only items that change, the target first, each in this order. requirement: its id, such as R1; "
        "note: what the passages say of its subject, or what is still missing, in one short sentence; "
        "support: ids of passages that state the fact, such as P2; answer: the fact as a short name, date or number, "
        "else empty; status: open, resolved or retired; reason: only when retired (wrong, not needed, not found)"
    )
    new_requirements: NewRequirements = dspy.OutputField(
        desc="usually empty: a fact that turns out to be needed too. replaces: the item that it takes over from, if any"
    )
