"""Whether the passages support what a register holds, and whether a drafted answer stands on it."""

import dspy

from .values import AnswerVerdict, RequirementChecks, Value


class VerifySufficiency(dspy.Signature):
    """Check each finding against the passages, as one who did not write it: do they state or clearly imply its value?

    A passage about another subject, time or relation supports nothing, however alike its words are.
    """

    findings: str = dspy.InputField(desc="each requirement with the value found for it and the passages given for it")
    passages: str = dspy.InputField()
    question: str = dspy.InputField()
    checks: RequirementChecks = dspy.OutputField(
        desc="one for each requirement, each in this order. requirement: its id, such as R1; evidence: what the "
        "passages say of its subject, in one short sentence; supported: true or false; missing: when false, the fact "
        "that is missing or wrong"
    )


class AuditAnswer(VerifySufficiency):
    """Check each finding against the passages, where one about another subject, time or relation supports nothing.

    Then keep the draft answer, unless the passages contradict it (correct) or do not bear it at all (withhold).
    """

    draft: str = dspy.InputField(desc="the answer that is about to be given")
    decision: AnswerVerdict = dspy.OutputField(desc="keep, correct or withhold")
    corrected_answer: Value = dspy.OutputField(
        desc="only when correcting: what the question asks for as the passages state it, a name, date or number; "
        "else empty"
    )
