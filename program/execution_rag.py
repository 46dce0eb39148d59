"""ExecutionRAG as a DSPy module: six predictors and a Python control loop."""

from typing import Any

import dspy

from ..retrievers.index import Index
from ..signatures.answer_question import AnswerQuestion
from ..signatures.force_answer import ForceAnswer
from ..signatures.initialize_register import InitializeRegister
from ..signatures.select_requirement import SelectRequirement
from ..signatures.update_register import UpdateRegister
from ..signatures.write_query import WriteQuery
from .driver import Answering
from .loop import LoopSettings, RegisterLoop
from .question import QuestionState
from .register import MAX_ITEMS
from .system import System


class ExecutionRAG(System):
    """Answers multi-hop questions over a fixed retriever, steered by a register of requirements.

    Optimisers find the predictors by name (`initialize`, `select`, `write_query`, `update`, `answer`, `force_answer`).

    Args:
        index: what is searched; shared, never copied.
        seed: whether a first search with the question grounds the initial register.
        update: whether what is found changes the register; else each of its items is searched for once.
        replay: whether the whole register is shown each loop instead of what changed.
        max_items: requirements that a register may hold.
        **settings: those of every `System`: `k`, `max_loops`, `max_tokens`, `context_window`, `parse_retries`.
    """

    def __init__(
        self,
        index: Index,
        *,
        seed: bool = True,
        update: bool = True,
        replay: bool = False,
        max_items: int = MAX_ITEMS,
        **settings: Any,
    ) -> None:
        super().__init__(index, **settings)
        self.settings = LoopSettings(seed=seed, update=update, replay=replay, max_items=max_items)
        self.initialize = dspy.Predict(InitializeRegister)
        self.select = dspy.Predict(SelectRequirement)
        self.write_query = dspy.Predict(WriteQuery)
        self.update = dspy.Predict(UpdateRegister)
        self.answer = dspy.Predict(AnswerQuestion)
        self.force_answer = dspy.Predict(ForceAnswer)

    def answering(self, state: QuestionState) -> Answering:
        """The register's loop."""
        return RegisterLoop(state, self.settings).run()
