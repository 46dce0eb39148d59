"""A prediction of another system in the shape that a system of this program returns, so that rows are made one way."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

from ...program.secrets import mask_keys
from ...program.trajectory import AnswerStep, ErrorStep, Found, SearchStep, Step
from ...program.usage import Usage
from ..asked import Asked
from .disguised_errors import disguised_error
from .prediction import ImportedSearch, Prediction
from .references import References

#: The tool of passages that no known search brought; no report takes it for a search.
UNKNOWN_TOOL = "imported"


def as_prediction(one: Prediction, references: References, asked: Asked) -> SimpleNamespace:
    """What a system of this program would have returned, as far as the file says it."""
    steps: list[Step] = list(_search_steps(one, references, asked))
    loop = max((step.loop for step in steps), default=0)
    answer, explanation = one.answer.strip(), one.explanation.strip()
    failure = _failure(one, loop)
    if one.abstained:
        # A row that abstains gives no answer; what it said instead is kept beside it.
        answer, explanation = "", explanation or answer
    abstained = failure is None and not answer
    if failure is not None:
        steps.append(failure)
    else:
        forced = one.stop_reason.startswith("budget_")
        steps.append(
            AnswerStep(loop=loop, forced=forced, answer=answer, explanation=explanation, abstained=abstained, shown=())
        )
    return SimpleNamespace(
        answer=answer,
        explanation=explanation,
        abstained=abstained,
        stop_reason=one.stop_reason if failure is None else "lm_error",
        requirements=(),
        trajectory=steps,
        citations=(),
        usage=_usage(one, failure is not None),
    )


def _failure(one: Prediction, loop: int) -> ErrorStep | None:
    """What makes the row a failed one: a field that says so, or an answer that is an error; None where it is none."""
    name = disguised_error(one.answer)
    if not one.error and name is None and one.stop_reason != "lm_error":
        return None
    said = one.error or one.answer
    kind = "ImportedError" if one.error or name is None else "DisguisedError"
    message = mask_keys(" ".join(said.split()))[:500]
    return ErrorStep(loop=loop, step="answer", error=kind, message=message, fatal=True)


def _search_steps(one: Prediction, references: References, asked: Asked) -> Iterator[SearchStep]:
    """The tool calls as steps, then what was retrieved by no call that is known."""
    aliases: dict[str, str] = {}
    for search in one.searches:
        yield _step(search, references, aliases, asked)
    left = tuple(each for each in one.retrieved if references.passage_ids.get(each, "") not in aliases)
    if left:
        loop = max((search.loop for search in one.searches), default=0)
        step = _step(ImportedSearch(loop, UNKNOWN_TOOL, "", left), references, aliases, asked)
        if step.found:
            yield step


def _step(search: ImportedSearch, references: References, aliases: dict[str, str], asked: Asked) -> SearchStep:
    found: dict[str, Found] = {}
    missing = 0
    for rank, reference in enumerate(search.found, start=1):
        passage_id = references.passage_ids.get(reference)
        if passage_id is None:
            missing += 1
        elif passage_id not in found:
            new = passage_id not in aliases
            alias = aliases.setdefault(passage_id, f"P{len(aliases) + 1}")
            title = asked.index.passage(passage_id).title
            found[passage_id] = Found(
                alias=alias, passage_id=passage_id, title=title, rank=rank, new=new, full=search.full
            )
    lost = f"{missing} not in the index" if missing else ""
    return SearchStep(
        loop=search.loop,
        target=None,
        tool=search.tool,
        query=search.query,
        found=tuple(found.values()),
        note="; ".join(filter(None, (search.note, lost))),
    )


def _usage(one: Prediction, failed: bool) -> Usage:
    prompt, completion = one.prompt_tokens or 0, one.completion_tokens or 0
    return Usage(
        calls=one.llm_calls or 0,
        prompt_tokens=prompt,
        completion_tokens=completion,
        logical_prompt_tokens=prompt,
        logical_completion_tokens=completion,
        # What a failed row says it cost is what the runner knew of, and that is often 0.
        cost=None if failed and not one.cost else one.cost,
        loops=max((search.loop for search in one.searches), default=0) if one.loops is None else one.loops,
        retrieved_tokens_arag=one.retrieved_tokens_arag or 0,
        seconds=one.seconds or 0.0,
    )
