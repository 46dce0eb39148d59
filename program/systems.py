"""The systems by name: what `evaluate --system` takes.

A register's variant is a row of settings of `ExecutionRAG`; any other system is a module of its own, as a rule a
`Baseline` that says how it gathers evidence. Adding one is one file and one line here.
"""

from collections.abc import Callable
from typing import Any

import dspy

from ..errors import UsageError
from ..retrievers.index import Index
from .a_rag import ARAG
from .direct import Direct
from .execution_rag import ExecutionRAG
from .graph_rag import GraphRAG
from .ircot import IRCoT
from .vanilla_rag import VanillaRAG

System = Callable[..., dspy.Module]


def _register(**variant: Any) -> System:
    def make(index: Index, **settings: Any) -> dspy.Module:
        return ExecutionRAG(index, **settings, **variant)

    return make


SYSTEMS: dict[str, System] = {
    "direct": Direct,
    "vanilla-rag": VanillaRAG,
    "ircot": IRCoT,
    "graph-rag": GraphRAG,
    "a-rag": ARAG,
    "executionrag": _register(),
    "executionrag-question-init": _register(seed=False),
    "executionrag-static": _register(update=False),
    "executionrag-full-replay": _register(replay=True),
    "executionrag+verifier": _register(verifier="audit"),
    "executionrag+verifier-search": _register(verifier="search"),
}


def make_system(name: str, index: Index, **settings: Any) -> dspy.Module:
    """Make a system over an index.

    Args:
        name: One of `SYSTEMS`.
        index: What is searched.
        settings: `k`, `max_loops`, `max_tokens`, `context_window`, `deduplicate`: those of every `System`.

    Raises:
        UsageError: There is no system of that name.
    """
    if name not in SYSTEMS:
        raise UsageError(f"there is no system {name!r}; there are {', '.join(sorted(SYSTEMS))}")
    return SYSTEMS[name](index, **settings)
