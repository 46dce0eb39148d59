"""How much CPU the machinery takes for each LM call: everything but the LM, retrieval and encoding.

CPU time of the answering threads (never wall time, so that a busy machine changes little), from the question to the row
on disk. Beside it the same for a bare `dspy.Predict` on the same prompts, which DSPy takes in any program.
"""

from time import thread_time

import dspy

from ...signatures.answer_question import AnswerQuestion
from ...signatures.force_answer import ForceAnswer
from ...signatures.initialize_register import InitializeRegister
from ...signatures.select_requirement import SelectRequirement
from ...signatures.update_register import UpdateRegister
from ...signatures.write_query import WriteQuery
from .measured import Measured
from .reader import read_prompt
from .setting import Setting
from .workload import Workload, workload

BOUND_MS = 5.0
_THREADS = 2
_BARE_PROMPTS = 400
_SIGNATURES: dict[str, type[dspy.Signature]] = {
    "initialize": InitializeRegister,
    "select": SelectRequirement,
    "write_query": WriteQuery,
    "update": UpdateRegister,
    "answer": AnswerQuestion,
    "force_answer": ForceAnswer,
}


def measure(setting: Setting, count: int = 1_000) -> list[Measured]:
    """Answer `count` questions, then put some of the same prompts to bare predictors.

    Args:
        setting: Where and how far.
        count: Questions.
    """
    with workload(count) as run:
        run.engine.keep = _BARE_PROMPTS
        run.run(_THREADS)
        calls = run.engine.calls
        spent = run.evaluation.cpu - run.engine.cpu - run.index.cpu
        retrieval = run.index.cpu
        bare = _bare(run)
    ours = spent / calls * 1_000
    return [
        Measured("LM calls a question", calls / count),
        Measured("CPU a call, without LM, retrieval, encoding", ours, "ms", BOUND_MS),
        Measured("CPU of a bare dspy.Predict on the same prompts", bare, "ms"),
        Measured("the first as a multiple of the second", ours / bare),
        Measured("CPU of retrieval and encoding a question", retrieval / count * 1_000, "ms"),
    ]


def _bare(run: Workload) -> float:
    """Milliseconds of CPU a call outside the engine, for bare predictors on the kept prompts."""
    prompts = [read_prompt(system, user) for system, user in run.engine.kept]
    predictors = {step: dspy.Predict(signature) for step, signature in _SIGNATURES.items()}
    calls, inside = run.engine.calls, run.engine.cpu
    with dspy.context(lm=run.lm, adapter=dspy.ChatAdapter(), max_history_size=16):
        began = thread_time()
        for step, inputs in prompts:
            predictors[step](**inputs)
        spent = thread_time() - began
    return (spent - (run.engine.cpu - inside)) / (run.engine.calls - calls) * 1_000
