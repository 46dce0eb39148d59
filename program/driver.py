"""The two short drivers of a question's generator: one for `forward`, one for `aforward`.

The generator yields what it wants done, an `Ask` or a `Search`, and receives the `Reply` or `SearchResult`; everything
that waits is here, everything that decides is there.
"""

import asyncio
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import dspy

from ..retrievers.session import SearchResult, SearchSession, Tool
from .asking import Ask, aask, ask


@dataclass(frozen=True)
class Search:
    """A tool call in one question's session."""

    session: SearchSession
    tool: Tool
    query: str
    loop: int

    def run(self) -> SearchResult:
        """Search, now."""
        return self.session.run(self.tool, self.query, loop=self.loop)


Answering = Generator[Ask | Search, Any, dspy.Prediction]
"""A question being answered."""


def drive(program: dspy.Module, answering: Answering) -> dspy.Prediction:
    """Run a question to its end."""
    try:
        request = next(answering)
        while True:
            request = answering.send(request.run() if isinstance(request, Search) else ask(program, request))
    except StopIteration as end:
        prediction: dspy.Prediction = end.value
        return prediction


async def adrive(program: dspy.Module, answering: Answering) -> dspy.Prediction:
    """Run a question to its end without blocking the event loop: searches run in a thread."""
    try:
        request = next(answering)
        while True:
            if isinstance(request, Search):
                result: Any = await asyncio.to_thread(request.run)
            else:
                result = await aask(program, request)
            request = answering.send(result)
    except StopIteration as end:
        prediction: dspy.Prediction = end.value
        return prediction
