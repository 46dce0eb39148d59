"""One system over the questions asked, into its run folder: made or resumed, each question answered once.

`evaluate` makes one of these, a study one a system. What a run is, its settings say (`run_settings`); what is already
answered stands; what is missing is asked.
"""

import importlib.metadata
import shlex
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy

from ..errors import UserError
from ..metrics.record import QuestionRecord
from ..optimize.variant import Variant
from ..program.systems import make_system
from .asked import Asked
from .backends import Backend
from .evaluation import Evaluation, Tally, describe
from .git_commit import git_commit
from .interrupts import interruptible
from .output import Console
from .plain_text import count
from .run_folder import RUN, RunFolder
from .run_settings import RunSettings


@dataclass(frozen=True)
class Conditions:
    """What all systems that are compared answer under.

    Attributes:
        backend: The LM.
        lm: What a person typed for it.
        temperature: Of the LM.
        max_tokens: Longest reply; None is the LM's own.
        k: Passages a search.
        max_loops: Retrieval loops a question.
        max_context_tokens: Context tokens a question.
        deduplicate: Whether a repeated query is answered from memory; None is each system's own way.
        seed: Of resampling in reports.
        threads: Questions at once.
        variant: Optimised prompts; None is the baseline.
    """

    backend: Backend
    lm: str
    temperature: float | None
    max_tokens: int | None
    k: int
    max_loops: int
    max_context_tokens: int
    deduplicate: bool | None = None
    seed: int = 0
    threads: int = 1
    variant: Variant | None = None

    @property
    def lm_name(self) -> str:
        """The answering LM as settings name it."""
        return self.backend.settings_name(self.lm)


class SystemRun:
    """A system's run on disk, ready to go on."""

    def __init__(self, system: str, asked: Asked, conditions: Conditions, out: Path, *, command: str = "") -> None:
        """Make or open the run folder; nothing is asked yet.

        Args:
            system: Name of the system, as in `program.systems`.
            asked: What it is asked.
            conditions: Under what.
            out: The run's folder.
            command: What made it, for its header.

        Raises:
            UserError: There is no such system, or the folder holds a run of other settings or cannot be written to.
        """
        self.system, self.asked, self.conditions = system, asked, conditions
        own = {} if conditions.deduplicate is None else {"deduplicate": conditions.deduplicate}
        self.program = make_system(
            system,
            asked.index,
            k=conditions.k,
            max_loops=conditions.max_loops,
            max_tokens=conditions.max_context_tokens,
            context_window=conditions.backend.context_window,
            **own,
        )
        if conditions.variant is not None:
            self._use(conditions.variant)
        self.settings = self._settings()
        self.folder = self._folder(out, command)

    def _use(self, variant: Variant) -> None:
        """Give the program a variant's prompts; never to answer what they were optimised on.

        Raises:
            UserError: It is of another system, or was optimised on a question that is asked.
        """
        if variant.system and variant.system != self.system:
            raise UserError(f"--variant {variant.name}: its prompts are of {variant.system}, not of {self.system}")
        seen = set(variant.provenance.get("train_ids", ())) | set(variant.provenance.get("validation_ids", ()))
        shared = sorted(seen.intersection(question.id for question in self.asked.questions))
        if shared:
            raise UserError(
                f"--variant {variant.name}: it was optimised on {len(shared)} of the questions asked (the first: "
                f"{shared[0]}); measure on a split that shares none"
            )
        variant.apply(self.program)

    def _settings(self) -> RunSettings:
        asked, conditions = self.asked, self.conditions
        return RunSettings(
            system=self.system,
            variant="" if conditions.variant is None else conditions.variant.digest,
            lm=conditions.lm_name,
            temperature=conditions.temperature,
            max_tokens=conditions.max_tokens,
            context_window=conditions.backend.context_window,
            benchmark=asked.benchmark.kind,
            benchmark_digest=asked.benchmark.digest,
            index_digest=asked.index.digest,
            encoder=asked.encoder,
            granularity=asked.index.granularity,
            k=conditions.k,
            max_loops=conditions.max_loops,
            max_context_tokens=conditions.max_context_tokens,
            deduplicate=bool(getattr(self.program, "deduplicate", True)),
            seed=conditions.seed,
        )

    def _folder(self, out: Path, command: str) -> RunFolder:
        if not (out / RUN).is_file():
            versions = {name: importlib.metadata.version(name) for name in ("executionrag", "dspy")}
            ids = [question.id for question in self.asked.questions]
            variant = self.conditions.variant
            return RunFolder.create(
                out,
                self.settings.model_dump(),
                self.settings.digest,
                ids,
                versions=versions,
                commit=git_commit(),
                variant_name="" if variant is None else variant.name,
                command=command,
            )
        folder = RunFolder.open(out)
        if folder.digest != self.settings.digest:
            differences = "; ".join(self.settings.differences(folder.settings))
            raise UserError(
                f"{out}: holds a run of other settings ({differences}); give another --out, or the same settings"
            )
        return folder

    def answer(self, console: Console, *, retry_failed: bool = False) -> bool:
        """Answer the questions that have no row, under a progress bar; whether Ctrl-C ended it.

        Args:
            console: Where the bar goes.
            retry_failed: Ask again what failed.

        Raises:
            UserError: A row could not be written, or what every question needs cannot be had; rows so far are kept.
        """
        asked, folder = self.asked, self.folder
        with folder.appending():
            self._extend()
            records = {record.id: record for record in folder.records()}
            todo = [
                one
                for one in asked.questions
                if (record := records.get(one.id)) is None or (retry_failed and record.failure is not None)
            ]
            gold = asked.gold_of(todo)
            number = len(asked.questions)
            console.note(
                f"{self._named} · {self.conditions.backend.label} · {count(len(asked.index), 'passage')} · "
                f"{count(number, 'question')}, {number - len(todo)} of them done · "
                f"{count(self.conditions.threads, 'thread')} · seed {self.conditions.seed} · {folder.path}"
            )
            if not todo:
                return False
            standing = [record for key, record in records.items() if key not in gold]
            return self._pass(console, todo, gold, standing)

    @property
    def _named(self) -> str:
        variant = self.conditions.variant
        return self.system if variant is None or not variant.digest else f"{self.system} · variant {variant.name}"

    def _extend(self) -> None:
        """Add the questions to those asked; a smaller --limit forgets nothing."""
        before = set(self.folder.question_ids)
        wanted = before | {question.id for question in self.asked.questions}
        if wanted != before:
            self.folder.extend([question.id for question in self.asked.benchmark.dev if question.id in wanted])

    def _pass(self, console: Console, todo: Sequence[Any], gold: Any, standing: Sequence[QuestionRecord]) -> bool:
        tally, lock, total = Tally(standing), threading.Lock(), len(standing) + len(todo)
        backend = self.conditions.backend
        with console.err.progress("questions", "q", total=total, done=len(standing)) as progress:
            progress(len(standing), total, said=str(tally))

            def finished(record: QuestionRecord) -> None:
                with lock:
                    tally.add(record)
                    if console.err.is_terminal:
                        progress(tally.n, total, said=str(tally))
                    else:
                        console.note(f"{tally.n}/{total} {describe(record)} · {tally}")

            evaluation = Evaluation(
                self.folder,
                self.program,
                self.asked.index,
                todo,
                gold,
                benchmark=self.settings.benchmark,
                system=self.system,
                finished=finished,
            )
            context = dspy.context(lm=backend.lm, adapter=backend.adapter)
            with context, interruptible(evaluation, console) as interrupted:
                evaluation.run(self.conditions.threads)
        return interrupted.is_set()


_ADDRESSES = ("api-base", "tracking-uri")


def command_line(argv: Sequence[str]) -> str:
    """What was typed, for the run's header; addresses are left out, for they may carry a password."""
    shown: list[str] = []
    for word in argv:
        option, separator, _ = word.partition("=")
        if shown and shown[-1].endswith(_ADDRESSES):
            word = "…"
        elif separator and option.endswith(_ADDRESSES):
            word = f"{option}=…"
        shown.append(word)
    return shlex.join(["executionrag", *shown])
