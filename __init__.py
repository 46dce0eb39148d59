"""ExecutionRAG: a register of requirements that steers multi-hop retrieval, as a DSPy program."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .program.execution_rag import ExecutionRAG as ExecutionRAG
    from .retrievers.index import Index as Index
    from .runs.benchmarks.minihop import MiniHop as MiniHop

# Exported lazily: `import executionrag` loads nothing heavy, and a checkout under any folder name works.
_EXPORTS = {
    "ExecutionRAG": ".program.execution_rag",
    "Index": ".retrievers.index",
    "MiniHop": ".runs.benchmarks.minihop",
}
__all__ = ["ExecutionRAG", "Index", "MiniHop"]


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        return getattr(importlib.import_module(_EXPORTS[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
