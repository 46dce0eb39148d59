"""The questions that prompts are optimised on: from a train split only, none of them one that is measured on."""

import hashlib
import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy

from ..errors import UserError
from ..retrievers.index import Index
from .benchmarks.benchmark import Benchmark
from .benchmarks.gold import map_gold
from .benchmarks.load import load_benchmark


@dataclass(frozen=True)
class Training:
    """What an optimisation works on.

    Attributes:
        benchmark: Whose questions.
        index: What is searched.
        train: To optimise on.
        validation: Held out, to compare with the baseline on.
    """

    benchmark: Benchmark
    index: Index
    train: tuple[dspy.Example, ...]
    validation: tuple[dspy.Example, ...]

    @classmethod
    def load(
        cls, spec: str, index: Path, *, train: int | None, validation: int, seed: int, measured_on: str | None = None
    ) -> "Training":
        """Draw both parts from a benchmark's train split; the validation part depends on the seed and its size alone.

        Args:
            spec: The benchmark.
            index: The index's folder.
            train: How many to optimise on; None is all that are not held out.
            validation: How many to hold out.
            seed: Of the draw.
            measured_on: The benchmark that will be measured on, where it is another file.

        Raises:
            UserError: There is no train split, too few questions, a question of the evaluation split among them, or
                gold that the index lacks.
        """
        read = load_benchmark(spec, to_measure=False)
        if not read.train:
            raise UserError(f"--benchmark {spec}: it has no train split; prompts are optimised on train questions only")
        measured = set() if read.split == "train" else {question.id for question in read.dev}
        if measured_on is not None:
            measured |= {question.id for question in load_benchmark(measured_on).dev}
        shared = sorted(measured.intersection(question.id for question in read.train))
        if shared:
            raise UserError(
                f"--benchmark {spec}: {len(shared)} of its questions are also in the split that is measured on "
                f"(the first: {shared[0]}); give a train split that shares none"
            )
        drawn = sorted(read.train, key=lambda question: question.id)
        random.Random(seed).shuffle(drawn)
        wanted = len(drawn) if train is None else validation + train
        if len(drawn) <= validation or wanted > len(drawn):
            raise UserError(
                f"--benchmark {spec}: its train split has {len(drawn)} questions, too few for "
                f"--validation {validation} and --train {train or 1}"
            )
        drawn = drawn[:wanted]
        opened = Index.load(index)
        mapping = map_gold(drawn, opened)
        if mapping.unmapped:
            first = mapping.unmapped[0]
            raise UserError(
                f"{index}: {len(mapping.unmapped)} gold passages of the train questions are not in it (the first: "
                f"{first.title!r} of question {first.question_id}); index the train split's own corpus"
            )
        examples = []
        for question in drawn:
            example = question.example(read.kind)
            ids = [gold.passage_id for gold in mapping.passages_of(question)]
            example["supporting_ids"] = ids
            example["gold_ids"] = sorted({one for one in ids if one is not None})
            examples.append(example.with_inputs("question"))
        return cls(read, opened, tuple(examples[validation:]), tuple(examples[:validation]))

    @property
    def digest(self) -> str:
        """Identity of the questions, their gold and their order."""
        said: list[Any] = [
            self.benchmark.digest,
            self.index.digest,
            *([example["id"] for example in part] for part in (self.train, self.validation)),
        ]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]
