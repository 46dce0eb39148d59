"""The two short drivers of a question's generator: one for `forward`, one for `aforward`.

The generator yields what it wants done, an `Ask` or a `Search`, and receives the `Reply` or `SearchResult`; everything
that waits is here, everything that decides is there.
"""

import asyncio
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import dspy

from ..retrievers.session import AnyTool, SearchResult, SearchSession
from .asking import Ask, aask, ask


@dataclass(frozen=True)
class Search:
    """A tool call in one question's session."""

    session: SearchSession
    tool: AnyTool
    query: str
    loop: int

    def run(self) -> SearchResult:
        """Search, now."""
        return self.session.run(self.tool, self.query, loop=self.loop)


Answering = Generator[Ask | Search, Any, dspy.Prediction]
"""A question being answered."""


_STEP = "in the step: "


def step_of(error: BaseException) -> str | None:
    """The step of a question (an LM step's name, or `search`) in which an exception arose; None outside of one."""
    notes = getattr(error, "__notes__", ())
    return next((note.removeprefix(_STEP) for note in notes if note.startswith(_STEP)), None)


def _name_step(error: BaseException, request: Ask | Search | None) -> None:
    """Note in what step an exception arose: a traceback shows it, and a run's record keeps it."""
    if request is not None:
        error.add_note(_STEP + ("search" if isinstance(request, Search) else request.step))


def drive(program: dspy.Module, answering: Answering) -> dspy.Prediction:
    """Run a question to its end."""
    request: Ask | Search | None = None
    try:
        request = next(answering)
        while True:
            request = answering.send(request.run() if isinstance(request, Search) else ask(program, request))
    except StopIteration as end:
        prediction: dspy.Prediction = end.value
        return prediction
    except Exception as error:
        _name_step(error, request)
        raise


async def adrive(program: dspy.Module, answering: Answering) -> dspy.Prediction:
    """Run a question to its end without blocking the event loop: searches run in a thread."""
    request: Ask | Search | None = None
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
    except Exception as error:
        _name_step(error, request)
        raise
