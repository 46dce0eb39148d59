"""ExecutionRAG as a DSPy module: six predictors and a Python control loop."""

from typing import Any

import dspy

from ..retrievers.index import Index
from ..signatures.answer_question import AnswerQuestion
from ..signatures.force_answer import ForceAnswer
from ..signatures.initialize_register import InitializeRegister
from ..signatures.select_requirement import SelectRequirement
from ..signatures.update_register import UpdateRegister
from ..signatures.verify_sufficiency import AuditAnswer, VerifySufficiency
from ..signatures.write_query import WriteQuery
from .driver import Answering
from .loop import LoopSettings, RegisterLoop
from .question import QuestionState
from .register import MAX_ITEMS
from .system import System
from .verification import Verifier


class ExecutionRAG(System):
    """Answers multi-hop questions over a fixed retriever, steered by a register of requirements.

    Optimisers find the predictors by name (`initialize`, `select`, `write_query`, `update`, `answer`, `force_answer`).

    Args:
        index: what is searched; shared, never copied.
        seed: whether a first search with the question grounds the initial register.
        update: whether what is found changes the register; else each of its items is searched for once.
        replay: whether the whole register is shown each loop instead of what changed.
        max_items: requirements that a register may hold.
        verifier: a check of the register against its passages. `audit` reads the drafted answer with it and may correct
            or withhold that; `search` comes before the answer and may reopen a requirement while budget remains. Its
            predictor is `verify`; without one there is none, and every prompt is the same.
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
        verifier: Verifier | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(index, **settings)
        self.settings = LoopSettings(seed=seed, update=update, replay=replay, max_items=max_items, verifier=verifier)
        self.initialize = dspy.Predict(InitializeRegister)
        self.select = dspy.Predict(SelectRequirement)
        self.write_query = dspy.Predict(WriteQuery)
        self.update = dspy.Predict(UpdateRegister)
        self.answer = dspy.Predict(AnswerQuestion)
        self.force_answer = dspy.Predict(ForceAnswer)
        if verifier is not None:
            self.verify = dspy.Predict(AuditAnswer if verifier == "audit" else VerifySufficiency)

    def answering(self, state: QuestionState) -> Answering:
        """The register's loop."""
        return RegisterLoop(state, self.settings).run()
