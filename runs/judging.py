"""Judge the answers of a run: each once, its verdict on disk as it comes, the answers untouched.

Judging resumes: what this judge has said of an answer is not asked again, unless its verdict failed or all are wanted
anew.
Ctrl-C lets no further answer be judged and keeps the verdicts of those in flight; a second one leaves at once.
"""

import contextvars
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import dspy

from ..metrics.llm_judge import LLMJudge
from ..metrics.record import QuestionRecord, Verdict
from .run_folder import RunFolder
from .verdicts import VerdictLog

Progress = Callable[[int, int], None]
Notify = Callable[[str], None]


@dataclass(frozen=True)
class Judged:
    """What a judge said of a run.

    Attributes:
        verdicts: The verdict that counts for each question, in the benchmark's order.
        answers: How many questions the run holds.
        new: Answers judged now.
        reused: Answers that had this judge's verdict already.
        prompt_tokens: Of the judge, billed now.
        completion_tokens: Of the judge, billed now.
        cost: Of the judge in USD, billed now; None is unknown.
    """

    verdicts: Mapping[str, Verdict]
    answers: int
    new: int
    reused: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None

    @property
    def right(self) -> int:
        """Answers judged right."""
        return sum(verdict.verdict == "right" for verdict in self.verdicts.values())

    @property
    def failures(self) -> list[Verdict]:
        """Verdicts where the judge could not say."""
        return [verdict for verdict in self.verdicts.values() if verdict.verdict is None]

    @property
    def accuracy(self) -> float | None:
        """LLM-Acc, 0 to 1, over the answers that could be judged; None where none could."""
        n = len(self.verdicts) - len(self.failures)
        return self.right / n if n else None

    @property
    def bounds(self) -> tuple[float, float] | None:
        """LLM-Acc over all verdicts if those that failed are all wrong, and if they are all right."""
        n = len(self.verdicts)
        return (self.right / n, (self.right + len(self.failures)) / n) if n else None

    @property
    def judges(self) -> dict[str, int]:
        """How many of the verdicts that count are whose."""
        return dict(sorted(Counter(verdict.judge for verdict in self.verdicts.values()).items()))


def judge_run(
    folder: RunFolder | Path | str,
    judge: LLMJudge,
    *,
    threads: int = 1,
    again: bool = False,
    progress: Progress = lambda done, total: None,
    notify: Notify = lambda text: None,
) -> Judged:
    """Judge what a run has answered so far.

    Args:
        folder: The run.
        judge: The judge, with its LM.
        threads: Answers judged at a time.
        again: Ask again what this judge has said already.
        progress: Told `(done, total)` of the answers that need asking.
        notify: Told what an interrupt waits for.

    Raises:
        UserError: The folder cannot be read or written; verdicts so far are kept.
        dspy.LMConfigurationError: The judge cannot be asked at all.
    """
    run = folder if isinstance(folder, RunFolder) else RunFolder.open(folder)
    records = run.records()
    log = VerdictLog(run)
    asking, reused, label = [], 0, judge.label
    with log.appending():
        for record in records:
            said = None if again else log.earlier(record, label)
            if said is None:
                asking.append(record)
                continue
            reused += 1
            standing = log.standing(record)
            if standing is None or standing.judge != label or standing.verdict is None:
                log.append(said)
        made = _ask_all(asking, judge, log, threads, progress, notify)
    counting = {record.id: verdict for record in records if (verdict := log.standing(record)) is not None}
    costs = [verdict.cost for verdict in made]
    return Judged(
        verdicts=counting,
        answers=len(records),
        new=len(made),
        reused=reused,
        prompt_tokens=sum(verdict.prompt_tokens for verdict in made),
        completion_tokens=sum(verdict.completion_tokens for verdict in made),
        cost=None if None in costs else sum(cost for cost in costs if cost is not None),
    )


def _ask_all(
    records: Iterable[QuestionRecord],
    judge: LLMJudge,
    log: VerdictLog,
    threads: int,
    progress: Progress,
    notify: Notify,
) -> list[Verdict]:
    """Judge the answers in threads; each writes its own verdict, so that nothing said is lost."""

    def one(record: QuestionRecord) -> Verdict:
        verdict = judge.on_record(record)
        log.append(verdict)
        return verdict

    pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="judge")
    # Each in a copy of this context, for DSPy's settings do not reach a plain thread; without a thousand kept prompts.
    with dspy.context(max_history_size=16, trace=None):
        futures = [pool.submit(partial(contextvars.copy_context().run, one, record)) for record in records]
    try:
        for done, future in enumerate(as_completed(futures), start=1):
            future.result()
            progress(done, len(futures))
    except BaseException as error:
        pool.shutdown(wait=False, cancel_futures=True)
        flying = sum(future.running() for future in futures)
        if flying and isinstance(error, KeyboardInterrupt):
            notify(f"Waiting for {flying} verdict{'' if flying == 1 else 's'} in flight; Ctrl-C again leaves at once.")
        pool.shutdown(wait=True)
        raise
    pool.shutdown()
    return [future.result() for future in futures]
