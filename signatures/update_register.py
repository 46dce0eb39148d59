"""What new passages change in the register."""

import dspy

from .values import ItemUpdates, NewRequirements


class UpdateRegister(dspy.Signature):
    """Say what the new passages change for the target, and for any other requirement that they touch.

    Resolve an item with the best-supported value that passages about its own subject state or clearly imply; leave it
    open while no passage speaks of that subject, and retire it only with a reason.
    """

    question: str = dspy.InputField()
    progress: str = dspy.InputField(desc="the register and all that was searched so far")
    target: str = dspy.InputField(desc="the requirement that the search was for, with its note")
    new_passages: str = dspy.InputField()
    advice: str = dspy.InputField()
    reading: str = dspy.OutputField(
        desc="one or two sentences: which passage speaks of the target's subject, and what it says of the fact asked"
    )
    updates: ItemUpdates = dspy.OutputField(
        desc="only items that change, each in this order. id: such as R1; note: what is known or still missing, "
        "in a few words; support: ids of passages that state it, such as P2; answer: the short value, else empty; "
        "status: open, resolved or retired; reason: why it is retired (wrong, not needed, not found), else empty"
    )
    new_requirements: NewRequirements = dspy.OutputField(
        desc="usually empty; a fact that turns out to be needed too. replaces: the id of an item it takes over from"
    )
