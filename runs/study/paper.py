"""The figures that the paper publishes (arXiv:2610.21184), to stand beside ours. All are GPT-4o-mini's.

They are another LM's, on 1,000 questions of each benchmark: what can be compared is the direction of a difference, not
a figure. They are percentages of questions (`LLM_ACC`) or counts and shares of a system's own wrong answers
(`FAILURES`, `MISSING_BY_HOPS`). Places are those that a source-linked reading of the paper gives; what it does not give
is not here.
"""

from dataclasses import dataclass

PAPER_LM = "GPT-4o-mini"
PAPER = "arXiv:2610.21184"
MINILM, QWEN3 = "all-MiniLM-L6-v2", "Qwen3-Embedding-0.6B"


@dataclass(frozen=True)
class Published:
    """A published figure: its text as printed, and where in the paper it stands."""

    text: str
    source: str


_MAIN, _QWEN, _ABLATION = "§4.6", "§4.5, Figure 3", "§4.8"
#: LLM-Acc in per cent by benchmark, encoder and system.
LLM_ACC: dict[tuple[str, str, str], Published] = {
    ("hotpotqa", MINILM, "executionrag"): Published("79.8 %", _MAIN),
    ("2wiki", MINILM, "executionrag"): Published("74.3 %", _MAIN),
    ("musique", MINILM, "executionrag"): Published("50.2 %", _MAIN),
    ("hotpotqa", QWEN3, "executionrag"): Published("80.0 %", _QWEN),
    ("2wiki", QWEN3, "executionrag"): Published("68.3 %", _QWEN),
    ("musique", QWEN3, "executionrag"): Published("42.8 %", _QWEN),
    ("hotpotqa", QWEN3, "a-rag"): Published("76.4 %", _QWEN),
    ("2wiki", QWEN3, "a-rag"): Published("55.2 %", _QWEN),
    ("musique", QWEN3, "a-rag"): Published("42.3 %", _QWEN),
    ("musique", MINILM, "executionrag-question-init"): Published("48.7 %", _ABLATION),
    ("musique", MINILM, "executionrag-static"): Published("48.3 %", _ABLATION),
}

_SHARES = "§4.3; Appendix E, Tables 12 and 14"
#: Wrong answers on MuSiQue by encoder, system and category: counts of 1,000 questions, or shares of the own errors.
FAILURES: dict[tuple[str, str, str], Published] = {
    (MINILM, "a-rag", "Missing Evidence"): Published("382, 69.3 % of its errors", _SHARES),
    (MINILM, "executionrag", "Missing Evidence"): Published("234, 43.9 % of its errors", _SHARES),
    (QWEN3, "a-rag", "Missing Evidence"): Published("383, 66.4 % of its errors", _SHARES),
    (QWEN3, "executionrag", "Missing Evidence"): Published("274, 47.9 % of its errors", _SHARES),
    (MINILM, "a-rag", "Reasoning Error"): Published("9.4 % of its errors", _SHARES),
    (MINILM, "executionrag", "Reasoning Error"): Published("25.9 % of its errors", _SHARES),
    (QWEN3, "a-rag", "Reasoning Error"): Published("7.8 % of its errors", _SHARES),
    (QWEN3, "executionrag", "Reasoning Error"): Published("21.2 % of its errors", _SHARES),
    (MINILM, "a-rag", "Gave Up"): Published("6.5 % of its errors", _SHARES),
    (MINILM, "executionrag", "Gave Up"): Published("13.1 % of its errors", _SHARES),
    (QWEN3, "a-rag", "Gave Up"): Published("12.0 % of its errors", _SHARES),
    (QWEN3, "executionrag", "Gave Up"): Published("17.3 % of its errors", _SHARES),
}

#: Missing Evidence on MuSiQue as a share of the own errors, by encoder, system and hop count.
MISSING_BY_HOPS: dict[tuple[str, str, int], Published] = {
    (MINILM, "a-rag", 2): Published("62 % of its errors", "§1, encoder not named"),
    (MINILM, "a-rag", 4): Published("81 % of its errors", "§1, encoder not named"),
    (MINILM, "executionrag", 4): Published("55.3 % of its errors", "Appendix E"),
}

#: Less register text with deltas than with the whole register shown each loop, at four hops.
DELTA_SAVES = Published("about 40 % less", "Appendix B")


def llm_acc(kind: str, encoder: str, system: str) -> Published | None:
    """The paper's LLM-Acc of a system, where it gives one."""
    return LLM_ACC.get((kind, encoder, system))


def failures(kind: str, encoder: str, system: str, category: str) -> Published | None:
    """The paper's share of a failure category, where it gives one; it does for MuSiQue."""
    return FAILURES.get((encoder, system, category)) if kind == "musique" else None


def missing_by_hops(kind: str, encoder: str, system: str, hops: int) -> Published | None:
    """The paper's share of Missing Evidence at a hop count, where it gives one; it does for MuSiQue."""
    return MISSING_BY_HOPS.get((encoder, system, hops)) if kind == "musique" else None
