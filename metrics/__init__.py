"""What it was worth: answers and evidence, scored.

The plain DSPy metrics are exported here; each is a callable `(example, prediction, trace=None) -> float` that never
raises. Whole records are scored by `metrics.scoring`.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .contain_match import answer_contains as answer_contains
    from .evidence_recall import evidence_recall_metric as evidence_recall_metric
    from .exact_match import exact_match_metric as exact_match_metric
    from .llm_judge import LLMJudge as LLMJudge
    from .substring_match import substring_metric as substring_metric
    from .token_f1 import f1_metric as f1_metric

# Exported lazily: only the judge needs DSPy.
_EXPORTS = {
    "LLMJudge": ".llm_judge",
    "answer_contains": ".contain_match",
    "evidence_recall_metric": ".evidence_recall",
    "exact_match_metric": ".exact_match",
    "f1_metric": ".token_f1",
    "substring_metric": ".substring_match",
}
__all__ = [
    "LLMJudge",
    "answer_contains",
    "evidence_recall_metric",
    "exact_match_metric",
    "f1_metric",
    "substring_metric",
]


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        return getattr(importlib.import_module(_EXPORTS[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
