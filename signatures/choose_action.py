"""The free choice of an agent: which tools to call next, or to answer."""

import dspy

from .values import ToolCalls


class ChooseAction(dspy.Signature):
    """Gather evidence for the answer by calling tools, step by step, and stop when the evidence suffices.

    Searches may return snippets: read a passage in full where its snippet is promising.
    """

    question: str = dspy.InputField()
    transcript: str = dspy.InputField(desc="what was thought, called and found so far")
    reasoning: str = dspy.OutputField(desc="one or two sentences: what is known, and what is still missing")
    calls: ToolCalls = dspy.OutputField(
        desc="the tool calls to make now; empty to answer. tool: semantic_search (passages by meaning), keyword_search "
        "(by rare names and words) or read_passages (in full, with neighbours); query: a short phrase, a few words, "
        "or ids such as 'P3 P4'"
    )
