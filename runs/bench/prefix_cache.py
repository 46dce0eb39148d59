"""How much of a prompt a cache of prompt prefixes has already read."""

from bisect import bisect_left, insort
from collections.abc import Sequence

from ...program.tokens import count_tokens

# OpenAI's published rule: from so many tokens on, in steps of so many.
CACHE_FROM, CACHE_STEP = 1_024, 128


def shared_prefix(one: str, other: str) -> str:
    """The longest text that both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return one[:low]


def cached_tokens(shared: int) -> int:
    """What a provider's cache counts of a shared prefix, in tokens."""
    return 0 if shared < CACHE_FROM else shared - shared % CACHE_STEP


def shared_with_earlier(prompts: Sequence[str]) -> list[int]:
    """For each prompt, the tokens of the longest prefix that it shares with any before it."""
    earlier: list[str] = []
    shared = []
    for prompt in prompts:
        # Of all texts, those beside it in the sorted list share most with it.
        place = bisect_left(earlier, prompt)
        beside = earlier[max(0, place - 1) : place + 1]
        longest = max((shared_prefix(prompt, other) for other in beside), key=len, default="")
        shared.append(count_tokens(longest))
        insort(earlier, prompt)
    return shared
