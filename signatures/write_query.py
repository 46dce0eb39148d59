"""What to search for, and with which tool."""

import dspy

from .values import ToolName


class WriteQuery(dspy.Signature):
    """Write one search for the target alone, not for the whole question.

    Name its entities by the values found so far, and never repeat a tried query.
    """

    question: str = dspy.InputField()
    progress: str = dspy.InputField(desc="the register and all that was searched so far")
    found_values: str = dspy.InputField(desc="what other requirements have established; (tentative) is not settled")
    tried_queries: str = dspy.InputField(desc="queries already made for the target")
    advice: str = dspy.InputField()
    target: str = dspy.InputField(desc="the requirement to search for now, with its note")
    missing: str = dspy.OutputField(desc="the one fact that the target lacks, in a few words")
    query: str = dspy.OutputField(
        desc="a short phrase for semantic_search, a few words for keyword_search, ids such as 'P3 P4' for read_passages"
    )
    tool: ToolName = dspy.OutputField(
        desc="semantic_search: passages by meaning, the usual choice; keyword_search: by rare names and words; "
        "read_passages: passages that came back, in full, with neighbours"
    )
