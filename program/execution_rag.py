"""ExecutionRAG as a DSPy module: six predictors and a Python control loop."""

from typing import Any

import dspy

from ..retrievers.index import Index
from ..retrievers.session import SearchSession
from ..signatures.answer_question import AnswerQuestion
from ..signatures.force_answer import ForceAnswer
from ..signatures.initialize_register import InitializeRegister
from ..signatures.select_requirement import SelectRequirement
from ..signatures.update_register import UpdateRegister
from ..signatures.write_query import WriteQuery
from .budget import MAX_LOOPS, MAX_TOKENS, Limits
from .driver import Answering, adrive, drive
from .loop import LoopSettings, RegisterLoop
from .question import QuestionState, checked_question
from .register import MAX_ITEMS
from .window import lm_window


class ExecutionRAG(dspy.Module):
    """Answers multi-hop questions over a fixed retriever, steered by a register of requirements.

    One instance answers many questions at once, from many threads or tasks: all state of a question lives in objects
    made inside `forward`. Optimisers find the predictors by name (`initialize`, `select`, `write_query`, `update`,
    `answer`, `force_answer`). The LM is whatever DSPy is configured with.

    Args:
        index: what is searched; shared, never copied.
        k: passages that a search returns.
        max_loops: retrieval loops a question may use.
        max_tokens: cumulative context tokens a question may use.
        context_window: the LM's window in tokens; read off the LM where it tells, else unlimited.
        seed: whether a first search with the question grounds the initial register.
        update: whether what is found changes the register; else each of its items is searched for once.
        replay: whether the whole register is shown each loop instead of what changed.
        max_items: requirements that a register may hold.
        parse_retries: how often a step is asked again after a reply that could not be read.
    """

    def __init__(
        self,
        index: Index,
        *,
        k: int = 5,
        max_loops: int = MAX_LOOPS,
        max_tokens: int = MAX_TOKENS,
        context_window: int | None = None,
        seed: bool = True,
        update: bool = True,
        replay: bool = False,
        max_items: int = MAX_ITEMS,
        parse_retries: int = 1,
    ) -> None:
        super().__init__()
        Limits(max_loops, max_tokens, context_window)  # refuses impossible limits now, not at the first question
        self.index = index
        self.k = k
        self.max_loops = max_loops
        self.max_tokens = max_tokens
        self.context_window = context_window
        self.parse_retries = parse_retries
        self.settings = LoopSettings(seed=seed, update=update, replay=replay, max_items=max_items)
        self.initialize = dspy.Predict(InitializeRegister)
        self.select = dspy.Predict(SelectRequirement)
        self.write_query = dspy.Predict(WriteQuery)
        self.update = dspy.Predict(UpdateRegister)
        self.answer = dspy.Predict(AnswerQuestion)
        self.force_answer = dspy.Predict(ForceAnswer)

    def forward(self, question: str) -> dspy.Prediction:
        """Answer one question.

        Returns:
            A prediction with `answer`, `explanation`, `abstained`, `requirements`, `trajectory`, `retrieved_ids`,
            `citations`, `stop_reason` and `usage`.

        Raises:
            UsageError: the question is blank.
            dspy.LMConfigurationError: no usable LM is configured. Other failures end the question as `lm_error`.
        """
        return drive(self, self._answering(question))

    async def aforward(self, question: str) -> dspy.Prediction:
        """`forward`, asynchronously; the same steps in the same order."""
        return await adrive(self, self._answering(question))

    def _answering(self, question: Any) -> Answering:
        asked = checked_question(question)
        session = SearchSession(self.index, k=self.k)
        limits = Limits(
            self.max_loops, self.max_tokens, self.context_window or lm_window(self.answer.lm or dspy.settings.lm)
        )
        state = QuestionState(asked, session, limits, parse_retries=self.parse_retries)
        return RegisterLoop(state, self.settings).run()
