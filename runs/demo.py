"""The demo: MiniHop questions answered one after another, and a closing table beside the gold."""

import hashlib
import json
import logging
import re
import shutil
from collections.abc import Sequence

import dspy

from ..errors import UsageError, UserError
from ..program.execution_rag import ExecutionRAG
from ..retrievers.corpus import passages_from_rows
from ..retrievers.index import DEFAULT_ENCODER, Index
from .answered import Answered, Gold, GoldHop, cost_parts, retrieved_passages
from .backends import Backend
from .benchmarks.minihop import DEMO_QUESTIONS, MiniHop
from .benchmarks.record import BenchmarkQuestion
from .commands.ask import answer_live
from .lm_errors import explain_lm_error
from .local_lm.model_file import cache_folder
from .output import Console, Screen

logger = logging.getLogger(__name__)


def chosen_questions(ids: str | None) -> list[BenchmarkQuestion]:
    """The MiniHop questions of comma-separated ids, or the demo's own three.

    Raises:
        UsageError: There is no such question.
    """
    wanted = DEMO_QUESTIONS if ids is None else tuple(filter(None, (part.strip() for part in ids.split(","))))
    if not wanted:
        raise UsageError("--questions names none: give ids of MiniHop questions, separated by commas")
    try:
        return [MiniHop.question(question_id) for question_id in wanted]
    except UserError as error:
        raise UsageError(f"--questions: {error}") from error


def minihop_index(console: Console) -> Index:
    """The index over MiniHop in the user's cache folder, built where it is missing, damaged or of another encoder."""
    corpus = MiniHop.corpus
    identity = hashlib.sha256(json.dumps([DEFAULT_ENCODER, corpus]).encode()).hexdigest()[:12]
    folder = cache_folder() / "indexes" / f"minihop-{identity}"
    console.note(f"Loading the encoder {DEFAULT_ENCODER} …")
    if folder.exists():
        try:
            return Index.load(folder, encoder=DEFAULT_ENCODER)  # naming the encoder has it compared now
        except UserError as error:
            logger.warning("the demo's index is built again: %s", error)
            shutil.rmtree(folder, ignore_errors=True)
    console.note(f"Indexing MiniHop's {len(corpus)} passages …")
    with console.err.progress("embedding", "texts", total=len(corpus)) as progress:
        return Index.build(passages_from_rows(corpus), folder, progress=progress, overwrite=True)


def answer_questions(
    questions: Sequence[BenchmarkQuestion], index: Index, backend: Backend, max_loops: int, console: Console
) -> list[Answered]:
    """Answer the questions in their order, showing each; one that fails does not keep the others from running."""
    program = ExecutionRAG(index, max_loops=max_loops, context_window=backend.context_window)
    answered: list[Answered] = []
    for number, question in enumerate(questions, start=1):
        console.out.heading(f"Question {number} of {len(questions)} ({question.type}, {question.hops} hops)")
        prediction, error = None, ""
        try:
            prediction, error = answer_live(program, backend, question.question, console)
        except (UserError, dspy.LMError) as failure:
            error = explain_lm_error(failure, base_url=backend.base_url)
        except Exception as failure:
            logger.debug("question %s failed", question.id, exc_info=True)
            error = f"{type(failure).__name__}: {failure}"
        if error:
            console.fail(error)
        passages = {} if prediction is None else retrieved_passages(index, prediction)
        one = Answered(question.question, prediction, passages, _gold(question), error)
        answered.append(one)
        _show_verdict(one, console.out)
    return answered


def show_results(answered: Sequence[Answered], screen: Screen) -> None:
    """The closing table: a block a question, then the totals."""
    screen.heading("Results")
    for number, one in enumerate(answered, start=1):
        if number > 1:
            screen.line()
        screen.entry(f"{number}", one.question, head_style="bold", style="bold")
        _show_verdict(one, screen, indent=2)
        assert one.gold is not None
        screen.entry("", "gold evidence, hop by hop:", indent=2, style="dim")
        for hop, found in zip(one.gold.hops, one.found, strict=True):
            mark, style = ("✓ found  ", "green") if found else ("✗ missing", "red")
            screen.entry(mark, f"{hop.question} → {hop.answer}", indent=2, head_style=style)
        if one.prediction is not None:
            parts = [one.prediction.stop_reason, *cost_parts(one.prediction.usage)]
            screen.entry("", " · ".join(parts), indent=2, style="dim")
    hops = [found for one in answered for found in one.found]
    seconds = sum(one.prediction.usage.seconds for one in answered if one.prediction is not None)
    screen.line()
    screen.entry(
        "",
        f"{sum(bool(one.right) for one in answered)} of {len(answered)} right · evidence found for "
        f"{sum(map(bool, hops))} of {len(hops)} hops · {seconds:.0f} s",
        style="bold",
    )


def _show_verdict(one: Answered, screen: Screen, indent: int = 0) -> None:
    """The verdict with the answer beside the gold."""
    assert one.gold is not None
    given = f"failed: {one.error}"
    if one.prediction is not None and not one.error:
        given = one.prediction.answer or "(no answer)"
    mark, style = ("✓ right", "green") if one.right else ("✗ wrong", "red")
    gold = " / ".join(one.gold.answers)
    screen.entry(mark, f"answer: {given} · gold: {gold}", indent=indent, head_style=style)


def _gold(question: BenchmarkQuestion) -> Gold:
    """The gold of a question, each sub-question with earlier answers in place of `#1`, `#2` and so on."""
    hops = []
    for hop in question.decomposition:
        text = re.sub(
            r"#(\d+)",
            lambda match: (
                question.decomposition[int(match[1]) - 1].answer
                if 0 < int(match[1]) <= len(question.decomposition)
                else match[0]
            ),
            hop.question,
        )
        passage = None if hop.support is None else MiniHop.passage_id(question.supporting[hop.support])
        hops.append(GoldHop(text, hop.answer, passage))
    return Gold(tuple(question.answers), tuple(hops))
