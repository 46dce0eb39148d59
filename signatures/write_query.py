"""What to search for, and with which tool."""

import dspy

from .values import ToolName


class WriteQuery(dspy.Signature):
    """Write the search that is most likely to find what the target still lacks.

    Name the entities themselves, using the values found so far in place of ids, and never repeat a tried query.
    """

    question: str = dspy.InputField()
    progress: str = dspy.InputField(desc="the register and all that was searched so far")
    target: str = dspy.InputField(desc="the requirement to serve now, with its note")
    found_values: str = dspy.InputField(desc="what other requirements have established; (tentative) is not settled")
    tried_queries: str = dspy.InputField(desc="queries already made for the target")
    advice: str = dspy.InputField()
    missing: str = dspy.OutputField(desc="what the target lacks, in a few words")
    tool: ToolName = dspy.OutputField(
        desc="semantic_search finds passages by meaning; keyword_search by rare words and names; "
        "read_passages shows passages that came back, and their neighbours, in full"
    )
    query: str = dspy.OutputField(
        desc="a natural phrase for semantic_search, a few words for keyword_search, passage ids such as 'P3 P4' "
        "(add '+1' for neighbours) for read_passages"
    )
