"""The optimisers, run through DSPy on one program: what each is given, its budget, and what Ctrl-C leaves.

The program is copied by DSPy as often as it likes; the index in it never is. An optimiser sees the train part only, and
chooses among candidates on a part of that (`split_train`). No failed question ends a compilation. Ctrl-C keeps the best
candidate that was scored on the whole choosing part, of `bootstrap` the demonstrations collected. GEPA goes on from its
checkpoint in `log_dir`; for the others DSPy's reply cache makes the same line again cheap.
"""

import contextlib
import logging
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy
from dspy.utils.callback import BaseCallback

from ..errors import UserError
from .feedback import DEMO_THRESHOLD, FeedbackMetric

logger = logging.getLogger(__name__)

OPTIMIZERS = ("gepa", "mipro", "bootstrap", "random")
BUDGETS = ("light", "medium", "heavy")
_NEVER = 1_000_000_000  # errors that DSPy would end a compilation at
_CANDIDATES = {"light": 4, "medium": 8, "heavy": 16}
_TRIALS = {"light": 6, "medium": 12, "heavy": 24}


@dataclass(frozen=True)
class Plan:
    """What to compile with.

    Attributes:
        optimizer: One of `OPTIMIZERS`.
        budget: One of `BUDGETS`, or about how many questions may be answered (of `bootstrap`: tried).
        seed: Of every choice.
        threads: Questions at once.
        demos: Demonstrations a step at most; `gepa` uses none.
    """

    optimizer: str
    budget: str | int = "light"
    seed: int = 0
    threads: int = 1
    demos: int = 2


@dataclass(frozen=True)
class Compiled:
    """What came of it.

    Attributes:
        program: The best program; the student itself where nothing was found.
        stopped: Ctrl-C ended it.
        answered: Questions that were scored.
        lm_calls: Calls to any LM, replies from the cache among them.
        prompt_tokens: Billed for the questions that were scored; what proposes instructions is not among them.
        completion_tokens: Likewise.
        cost: USD of those questions; None where the price of one is unknown.
    """

    program: dspy.Module
    stopped: bool
    answered: int
    lm_calls: int
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = 0.0


def split_train(train: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The part to learn from, and that to choose candidates on; with fewer than four questions they are the same."""
    half = (len(train) + 1) // 2
    return (list(train), list(train)) if len(train) < 4 else (list(train[:half]), list(train[half:]))


def compile_program(
    program: dspy.Module,
    train: Sequence[Any],
    metric: FeedbackMetric,
    plan: Plan,
    *,
    reflection_lm: Any = None,
    log_dir: Path | None = None,
    scored: Callable[[int, float], None] = lambda _number, _score: None,
) -> Compiled:
    """Optimise a program's prompts, under DSPy's current LM.

    Args:
        program: The student; not changed.
        train: Examples with gold.
        metric: What is sought.
        plan: How.
        reflection_lm: Writes instructions, for `gepa` and `mipro`; default: DSPy's current LM.
        log_dir: Where GEPA keeps its checkpoint.
        scored: Told of each question that was scored: how many so far, and its score.

    Raises:
        UserError: There is no such optimiser, nothing to train on, or a library is missing.
    """
    if plan.optimizer not in OPTIMIZERS:
        raise UserError(f"--optimizer {plan.optimizer}: there is none; there are {', '.join(OPTIMIZERS)}")
    if not train:
        raise UserError("there is no train question to optimise on; give a --benchmark with a train split")
    examples = list(train)
    random.Random(plan.seed).shuffle(examples)
    learn, choose = split_train(examples)
    count = _Counter(metric, scored)
    watch = _Watch({id_of(example) for example in choose})
    reflection = reflection_lm or dspy.settings.lm
    callbacks = [*dspy.settings.callbacks, watch]
    with dspy.context(callbacks=callbacks), contextlib.redirect_stdout(sys.stderr), _quiet():
        if plan.optimizer == "bootstrap":
            compiled, stopped = _bootstrap(program, examples, count, plan)
        else:
            run = {"gepa": _gepa, "mipro": _mipro, "random": _random}[plan.optimizer]
            try:
                compiled, stopped = run(program, learn, choose, count, plan, reflection, log_dir), False
            except KeyboardInterrupt:
                compiled, stopped = watch.best or program, True
    return Compiled(compiled, stopped, count.n, watch.calls, count.prompt_tokens, count.completion_tokens, count.cost)


def id_of(example: Any) -> str:
    """What names an example: its id, else its question."""
    return str(example.get("id") or example.get("question"))


def _bootstrap(program: Any, train: list[Any], count: "_Counter", plan: Plan) -> tuple[Any, bool]:
    from dspy.teleprompt import BootstrapFewShot

    tried = train[: plan.budget] if isinstance(plan.budget, int) else train
    optimizer = BootstrapFewShot(
        metric=count.number,
        metric_threshold=DEMO_THRESHOLD,
        max_bootstrapped_demos=plan.demos,
        max_labeled_demos=0,
        max_errors=_NEVER,
    )
    try:
        return optimizer.compile(program, trainset=tried), False
    except KeyboardInterrupt:
        if not hasattr(optimizer, "name2traces"):
            return program, True
        optimizer.validation = []
        return optimizer._train(), True


def _random(program: Any, learn: Any, choose: Any, count: "_Counter", plan: Plan, _lm: Any, _dir: Any) -> Any:
    from dspy.teleprompt import BootstrapFewShotWithRandomSearch

    candidates = (
        _CANDIDATES[plan.budget] if isinstance(plan.budget, str) else max(1, plan.budget // (2 * len(choose)) - 2)
    )
    optimizer = BootstrapFewShotWithRandomSearch(
        metric=count.number,
        metric_threshold=DEMO_THRESHOLD,
        max_bootstrapped_demos=plan.demos,
        max_labeled_demos=0,
        num_candidate_programs=candidates,
        num_threads=plan.threads,
        max_errors=_NEVER,
    )
    # -3 is the program as it is, -2 labels alone (there are none), -1 the demonstrations in order.
    tried = [-3, -1, *range(candidates)]
    return optimizer.compile(program, trainset=learn, valset=choose, restrict=tried)


def _mipro(program: Any, learn: Any, choose: Any, count: "_Counter", plan: Plan, lm: Any, _dir: Any) -> Any:
    try:
        import optuna
    except ImportError as error:
        raise UserError("--optimizer mipro needs optuna: pip install 'executionrag[optimize]'") from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    trials = _TRIALS[plan.budget] if isinstance(plan.budget, str) else max(1, plan.budget // len(choose) - 1)
    optimizer = dspy.MIPROv2(
        metric=count.number,
        metric_threshold=DEMO_THRESHOLD,
        prompt_model=lm,
        task_model=dspy.settings.lm,
        max_bootstrapped_demos=plan.demos,
        max_labeled_demos=0,
        auto=None,
        num_candidates=_CANDIDATES[plan.budget] if isinstance(plan.budget, str) else max(2, min(8, trials)),
        num_threads=plan.threads,
        max_errors=_NEVER,
        seed=plan.seed,
    )
    return optimizer.compile(program, trainset=learn, valset=choose, num_trials=trials, minibatch=False)


def _gepa(program: Any, learn: Any, choose: Any, count: "_Counter", plan: Plan, lm: Any, log_dir: Path | None) -> Any:
    budget: dict[str, Any] = (
        {"max_metric_calls": plan.budget} if isinstance(plan.budget, int) else {"auto": plan.budget}
    )
    optimizer = dspy.GEPA(
        metric=count,
        reflection_lm=lm,
        num_threads=plan.threads,
        log_dir=None if log_dir is None else str(log_dir),
        seed=plan.seed,
        **budget,
    )
    return optimizer.compile(program, trainset=learn, valset=choose)


class _Counter:
    """The metric, counted; `number` for optimisers that want a number."""

    def __init__(self, metric: FeedbackMetric, scored: Callable[[int, float], None]) -> None:
        self._metric, self._scored, self.n = metric, scored, 0
        self.prompt_tokens = self.completion_tokens = 0
        self.cost: float | None = 0.0

    def __call__(self, gold: Any, pred: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None) -> Any:
        result = self._metric(gold, pred, trace, pred_name, pred_trace)
        if pred_name is None:
            self._tell(result.score, pred)
        return result

    def number(self, example: Any, pred: Any, trace: Any = None) -> float:
        score = self._metric.score(example, pred, trace)
        self._tell(score, pred)
        return score

    def _tell(self, score: float, pred: Any) -> None:
        self.n += 1
        usage = getattr(pred, "usage", None)  # a failed question has none
        if usage is not None:
            self.prompt_tokens += usage.prompt_tokens
            self.completion_tokens += usage.completion_tokens
            self.cost = None if usage.cost is None or self.cost is None else self.cost + usage.cost
        self._scored(self.n, score)


class _Watch(BaseCallback):  # type: ignore[misc, unused-ignore]
    """Keeps the best program that was scored on all questions to choose on, and counts LM calls."""

    def __init__(self, wanted: set[str]) -> None:
        self.best: dspy.Module | None = None
        self.calls = 0
        self._wanted, self._score = wanted, float("-inf")
        self._open: dict[str, dspy.Module] = {}

    def on_evaluate_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        devset = inputs.get("devset") or instance.devset
        if {id_of(example) for example in devset} == self._wanted:
            self._open[call_id] = inputs["program"]

    def on_evaluate_end(self, call_id: str, outputs: Any, exception: Exception | None = None) -> None:
        program = self._open.pop(call_id, None)
        score = getattr(outputs, "score", None)
        if program is not None and score is not None and float(score) > self._score:
            self.best, self._score = program, float(score)

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        self.calls += 1


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """DSPy's progress lines off: its logger prints whole prompts, which no terminal wants."""
    ours = logging.getLogger("dspy")
    before = ours.level
    ours.setLevel(max(before, logging.ERROR))
    try:
        yield
    finally:
        ours.setLevel(before)
