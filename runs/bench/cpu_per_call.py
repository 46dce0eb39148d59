"""How much CPU the machinery takes for each LM call, and who takes it.

MiniHop's questions are answered as `evaluate` does it, from the question to the row on disk, with a scripted reader in
place of the LM. All figures are CPU time of the answering threads, never wall time; what a library's own threads take
is not in them (an evaluation's products of matrices have none, on the older commit they had). It is split into

- the LM, which is left out;
- *retrieval and encoding*: the two searches of the index, told apart;
- *DSPy*: what `dspy.Predict` takes from its call to its prediction, less the LM: prompt formatted, reply parsed;
- *ours*: all the rest. The loop, the register, passages fetched and shown, tokens counted, the record made and written.

The reference is a bare `dspy.Predict`: the same prompts put to predictors of the same signatures, from as many threads,
in turns with the questions, less the LM. A ratio is taken turn by turn.

*Long questions* have 24 loops, two for each of 12 requirements. How much DSPy's part and ours grow with the prompts,
which grow with every loop, is shown by the last eight loops beside the first eight, a call; the target leaves room for
counting the tokens of longer prompts. One thread, the median of several such questions. The answering step, which comes
once, is in neither.
"""

import statistics
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import thread_time

import dspy

from ...signatures.answer_question import AnswerQuestion
from ...signatures.force_answer import ForceAnswer
from ...signatures.initialize_register import InitializeRegister
from ...signatures.select_requirement import SelectRequirement
from ...signatures.update_register import UpdateRegister
from ...signatures.write_query import WriteQuery
from .long_question import LOOPS, Loop, long_question
from .measured import Measured
from .predictor_cpu import PredictorCpu
from .reader import read_prompt
from .setting import Setting
from .timing import quartiles
from .workload import TimedIndex, Workload, minihop_index, workload

BOUND = 1.0
FLAT = 1.25
THREADS = (1, 8, 64)
_THIRD = LOOPS // 3
_SIGNATURES: dict[str, type[dspy.Signature]] = {
    "initialize": InitializeRegister,
    "select": SelectRequirement,
    "write_query": WriteQuery,
    "update": UpdateRegister,
    "answer": AnswerQuestion,
    "force_answer": ForceAnswer,
}


@dataclass(frozen=True)
class Turn:
    """One turn: the questions, then bare predictors. In ms of CPU a call; `retrieval` a question."""

    calls: float
    ours: float
    dspys: float
    bare: float
    retrieval: float


def measure(setting: Setting, count: int = 64, threads: Sequence[int] = THREADS) -> list[Measured]:
    """Answer questions and put the same prompts to bare predictors, in turns; then long questions.

    Args:
        setting: Where and how far.
        count: Questions a turn.
        threads: From how many threads.
    """
    rounds = setting.rounds
    with minihop_index() as index:
        _turn(index, 8, 1)  # what is loaded at first use is nobody's
        rows = [
            row for number in threads for row in _rows(number, [_turn(index, count, number) for _ in range(rounds)])
        ]
        long_question(index)
        longs = [long_question(index) for _ in range(2 * rounds + 1)]
    return [*rows, *_long_rows(longs)]


def _turn(index: TimedIndex, count: int, threads: int) -> Turn:
    before = index.cpu
    with workload(count, index=index) as run, PredictorCpu() as predictors:
        run.engine.keep = sys.maxsize
        run.run(threads)
        calls, engine, retrieval = run.engine.calls, run.engine.cpu, index.cpu - before
        ours, dspys = run.evaluation.cpu - predictors.cpu - retrieval, predictors.cpu - engine
        bare = _bare(run, threads)
    each = 1_000 / calls
    return Turn(calls / count, ours * each, dspys * each, bare, retrieval / count * 1_000)


def _bare(run: Workload, threads: int) -> float:
    """Milliseconds of CPU a call outside the engine, for bare predictors on the same prompts."""
    prompts = [read_prompt(system, user) for system, user in run.engine.kept]
    predictors = {step: dspy.Predict(signature) for step, signature in _SIGNATURES.items()}
    calls, inside = run.engine.calls, run.engine.cpu

    def put(share: Sequence[tuple[str, dict[str, str]]]) -> float:
        with dspy.context(lm=run.lm, adapter=dspy.ChatAdapter(), max_history_size=16, trace=None):
            began = thread_time()
            for step, inputs in share:
                predictors[step](**inputs)
            return thread_time() - began

    with ThreadPoolExecutor(threads) as pool:
        spent = sum(pool.map(put, (prompts[thread::threads] for thread in range(threads))))
    return (spent - (run.engine.cpu - inside)) / (run.engine.calls - calls) * 1_000


def _rows(threads: int, turns: Sequence[Turn]) -> list[Measured]:
    where = "1 thread" if threads == 1 else f"{threads} threads"
    against = "a bare dspy.Predict on the same prompts, from as many threads"
    return [
        _told(
            f"{where}: ours, as a multiple of a bare dspy.Predict",
            [one.ours / one.bare for one in turns],
            "x",
            BOUND,
            against,
        ),
        _told(f"{where}: ours, a call", [one.ours for one in turns], "ms"),
        _told(f"{where}: a bare dspy.Predict, a call", [one.bare for one in turns], "ms"),
        _told(f"{where}: DSPy, a call", [one.dspys for one in turns], "ms"),
        _told(
            f"{where}: DSPy, as a multiple of a bare dspy.Predict",
            [one.dspys / one.bare for one in turns],
            "x",
            None,
            against,
        ),
        _told(f"{where}: retrieval and encoding, a question", [one.retrieval for one in turns], "ms"),
        _told(f"{where}: LM calls a question", [one.calls for one in turns]),
    ]


def _long_rows(questions: Sequence[Sequence[Loop]]) -> list[Measured]:
    first = [_a_call(loops[:_THIRD]) for loops in questions]
    last = [_a_call(loops[-_THIRD:]) for loops in questions]

    def growth(part: int) -> list[float]:
        return [after[part] / before[part] for before, after in zip(first, last, strict=True)]

    against = f"the first {_THIRD} of {LOOPS} loops"
    return [
        _told("long questions: ours, a call in the first loops", [one[0] for one in first], "ms"),
        _told("long questions: ours, a call in the last loops", [one[0] for one in last], "ms"),
        _told("long questions: ours, the last as a multiple of the first", growth(0), "x", FLAT, against),
        _told("long questions: DSPy, the last as a multiple of the first", growth(1), "x", None, against),
    ]


def _a_call(loops: Sequence[Loop]) -> tuple[float, float]:
    """Ours and DSPy's, in ms of CPU a call."""
    each = 1_000 / sum(loop.calls for loop in loops)
    return sum(loop.ours for loop in loops) * each, sum(loop.dspys for loop in loops) * each


def _told(name: str, values: Sequence[float], unit: str = "", bound: float | None = None, note: str = "") -> Measured:
    return Measured(name, statistics.median(values), unit, bound, None, quartiles(values), note)
