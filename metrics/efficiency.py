"""What one question cost: LM calls, tokens, money, time, and how much text retrieval showed.

The agent's and the judge's costs stand apart and are never added up. A cost of None is "unknown", not 0: a call had no
price, or an exception took the accounting of its question with it.
"""

from dataclasses import dataclass

from .record import QuestionRecord, Verdict


@dataclass(frozen=True, slots=True)
class Efficiency:
    """The efficiency figures of one question.

    Attributes:
        id: The question's.
        lm_calls: Requests to the answering LM, replies from the cache included.
        cached_calls: Those answered from the cache, which billed nothing.
        prompt_tokens: Billed, as providers reported them.
        completion_tokens: Billed, as providers reported them.
        logical_prompt_tokens: As if no reply had come from the cache.
        logical_completion_tokens: As if no reply had come from the cache.
        cost: USD of the answering LM; None is unknown.
        seconds: Wall time.
        loops: Retrieval loops.
        retrieved_tokens: Tokens of the distinct texts that searches and reads showed.
        retrieved_tokens_arag: A-RAG's count: what each search showed, repeats included, and each first read.
        judge_prompt_tokens: Of the judge.
        judge_completion_tokens: Of the judge.
        judge_cost: USD of the judge; None is unknown, 0 where none was asked.
    """

    id: str
    lm_calls: int
    cached_calls: int
    prompt_tokens: int
    completion_tokens: int
    logical_prompt_tokens: int
    logical_completion_tokens: int
    cost: float | None
    seconds: float
    loops: int
    retrieved_tokens: int
    retrieved_tokens_arag: int
    judge_prompt_tokens: int
    judge_completion_tokens: int
    judge_cost: float | None


def efficiency(record: QuestionRecord, verdict: Verdict | None = None) -> Efficiency:
    """The figures of one question, and of a judge's verdict on it where there is one."""
    usage = record.usage
    # A question that an exception ended has an empty account: it may well have called an LM that billed.
    lost = record.failure is not None and not record.stop_reason and usage.calls == 0
    return Efficiency(
        id=record.id,
        lm_calls=usage.calls,
        cached_calls=usage.cached_calls,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        logical_prompt_tokens=usage.logical_prompt_tokens,
        logical_completion_tokens=usage.logical_completion_tokens,
        cost=None if lost else usage.cost,
        seconds=usage.seconds,
        loops=usage.loops,
        retrieved_tokens=usage.retrieved_tokens,
        retrieved_tokens_arag=usage.retrieved_tokens_arag,
        judge_prompt_tokens=verdict.prompt_tokens if verdict else 0,
        judge_completion_tokens=verdict.completion_tokens if verdict else 0,
        judge_cost=verdict.cost if verdict else 0.0,
    )
