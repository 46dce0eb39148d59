"""Untrusted text made harmless before it enters a prompt.

Passages, LM replies and questions may hold what a prompt format uses as its own marks: DSPy's field headers,
chat-template tokens, the passage labels that this program writes. Each is rewritten to something that reads the same to
a person and means nothing to a parser.
"""

import re

_FIELD_HEADER = re.compile(r"\[\[\s*##|##\s*\]\]")
# <|im_end|> and its kin; DeepSeek's full-width bars; Gemma's turns; Mistral's and Llama 2's instruction marks.
_TEMPLATE_TOKEN = re.compile(
    r"<[|\uff5c]([^|\uff5c<>\n]{1,60})[|\uff5c]>|<(/?(?:start|end)_of_turn)>|\[(/?INST)\]|<<(/?SYS)>>"
)
_SPECIAL = re.compile(r"<(/?(?:s|bos|eos|pad|unk|think|tool_call|tool_response))>|\[(TOOL_CALLS|AVAILABLE_TOOLS)\]")
_PASSAGE_LABEL = re.compile(r"(?mi)^(\s*)\[\s*(P\d+)\s*\]")
# What each of them has at least one of, "\r" of a line's end included: most texts have none.
_SUSPECT = re.compile(r"[\[<#\x00-\x08\x0b-\x1f\x7f\u2028\u2029\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u2028\u2029\ud800-\udfff]")


def neutralize(text: str) -> str:
    """The text without marks of the prompt formats, control characters or lone surrogates."""
    if _SUSPECT.search(text) is None:
        return text
    text = _CONTROL.sub(" ", text.replace("\r\n", "\n"))
    text = _FIELD_HEADER.sub(lambda match: "((##" if match[0].startswith("[") else "##))", text)
    for marks in (_TEMPLATE_TOKEN, _SPECIAL, _TEMPLATE_TOKEN):  # the last for marks that stood around others
        text = marks.sub(lambda match: f"({match[match.lastindex or 0]})", text)
    return _PASSAGE_LABEL.sub(r"\1(\2)", text)


def one_line(text: str, limit: int) -> str:
    """Neutralised text on a single line of at most `limit` characters, cut with an ellipsis."""
    line = " ".join(neutralize(text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
