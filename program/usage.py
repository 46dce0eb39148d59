"""What a question cost in LM calls, told apart from the context tokens that its budget counts."""

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict


class LMCall(BaseModel):
    """One request to an LM as DSPy's history shows it; tokens and cost are None where the provider says nothing.

    `cached` marks a reply from DSPy's cache: it billed nothing now, whatever price the history keeps for it. DSPy drops
    the usage of such a reply, so its logical tokens are counted here, with the tokenizer of the budget. `truncated`
    marks a reply that the limit of its length cut off.
    """

    model_config = ConfigDict(frozen=True)

    model: str
    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    logical_prompt_tokens: int = 0
    logical_completion_tokens: int = 0
    cost: float | None = None
    cached: bool = False
    truncated: bool = False


class StepUsage(BaseModel):
    """The calls of one step, added up."""

    calls: int = 0
    cached_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Usage(BaseModel):
    """The calls of one question, in all and by step.

    `prompt_tokens` and `completion_tokens` are billed: what providers reported for calls that were made. The logical
    ones count replies from the cache too, as if they had been made. `cost` in USD is None ("unknown") as soon as one
    call that was made has no price. `context_tokens` is what the budget counted, under the tokenizer named beside it.
    `retrieved_tokens` are those of the distinct texts that searches and reads showed; `retrieved_tokens_arag` follows
    A-RAG's count: what each search showed, repeats included, and each passage the first time that it is read.
    """

    calls: int = 0
    cached_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    logical_prompt_tokens: int = 0
    logical_completion_tokens: int = 0
    cost: float | None = 0.0
    context_tokens: int = 0
    tokenizer: str = ""
    effective_tokens: int = 0
    loops: int = 0
    repeated_queries: int = 0
    retrieved_tokens: int = 0
    retrieved_tokens_arag: int = 0
    seconds: float = 0.0
    steps: dict[str, StepUsage] = {}

    def add(self, step: str, calls: Iterable[LMCall]) -> None:
        """Count the calls of one step."""
        by_step = self.steps.setdefault(step, StepUsage())
        for call in calls:
            for total in (self, by_step):
                total.calls += 1
                total.cached_calls += call.cached
                total.prompt_tokens += call.prompt_tokens or 0
                total.completion_tokens += call.completion_tokens or 0
            self.logical_prompt_tokens += call.logical_prompt_tokens
            self.logical_completion_tokens += call.logical_completion_tokens
            if not call.cached:
                self.cost = None if call.cost is None or self.cost is None else self.cost + call.cost
