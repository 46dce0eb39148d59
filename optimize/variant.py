"""Variants: optimised prompts on disk, told apart from the baseline by the digest of what they say.

A variant is a folder: `program.json` (DSPy's state of the program: instructions and demonstrations a step, `lm` null),
`variant.json` (where it comes from) and `README.md` (the prompts as text). Only instructions and demonstrations are
read from it, as JSON; no LM, address, key, class or pickle can come in that way. The baseline is the variant
without a file.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from pathlib import Path
from typing import Any

import dspy

from ..errors import UserError
from ..program.prompts import render_prompts

PROGRAM, PROVENANCE, README = "program.json", "variant.json", "README.md"
BASELINE = "baseline"
FORMAT = 1


@dataclass(frozen=True)
class Variant:
    """Prompts of a system.

    Attributes:
        name: The folder's name, or `baseline`.
        steps: For each predictor its `instructions` and `demos` (dicts); empty for the baseline.
        provenance: System, optimiser, settings, data, scores.
    """

    name: str
    steps: dict[str, dict[str, Any]] = dataclass_field(default_factory=dict)
    provenance: dict[str, Any] = dataclass_field(default_factory=dict)

    @property
    def system(self) -> str:
        """The system that it is of; blank for the baseline, which is any's."""
        return str(self.provenance.get("system", ""))

    @property
    def digest(self) -> str:
        """Identity of what it says; blank for the baseline."""
        if not self.steps:
            return ""
        said = json.dumps(self.steps, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(said.encode()).hexdigest()[:16]

    def apply(self, program: dspy.Module) -> None:
        """Give a program these prompts.

        Raises:
            UserError: The program has other predictors.
        """
        if not self.steps:
            return
        predictors = dict(program.named_predictors())
        if predictors.keys() != self.steps.keys():
            odd = ", ".join(sorted(predictors.keys() ^ self.steps.keys()))
            raise UserError(f"variant {self.name}: it is of another system (steps that differ: {odd})")
        for name, predictor in predictors.items():
            predictor.signature = predictor.signature.with_instructions(self.steps[name]["instructions"])
            predictor.demos = [dspy.Example(**demo) for demo in self.steps[name]["demos"]]


def steps_of(program: dspy.Module) -> dict[str, dict[str, Any]]:
    """A program's instructions and demonstrations as plain JSON values, by predictor name."""
    return {
        name: {
            "instructions": predictor.signature.instructions,
            "demos": [_plain(dict(demo)) for demo in predictor.demos],
        }
        for name, predictor in sorted(program.named_predictors())
    }


def save_variant(out: Path, program: dspy.Module, provenance: dict[str, Any]) -> Variant:
    """Write a variant's folder.

    Args:
        out: The folder; made where it is missing.
        program: Whose prompts.
        provenance: Where they come from: plain JSON values, no key and no address.

    Raises:
        UserError: It cannot be written.
    """
    variant = Variant(out.name, steps_of(program), {"format": FORMAT, **provenance})
    state = {
        name: {
            "traces": [],
            "train": [],
            "demos": step["demos"],
            "signature": predictor.signature.with_instructions(step["instructions"]).dump_state(),
            "lm": None,
        }
        for (name, predictor), step in zip(sorted(program.named_predictors()), variant.steps.values(), strict=True)
    }
    try:
        out.mkdir(parents=True, exist_ok=True)
        _write(out / PROGRAM, state)
        (out / README).write_text(readme(variant, render_prompts(program)), encoding="utf-8", errors="replace")
        _write(out / PROVENANCE, variant.provenance | {"digest": variant.digest})
    except OSError as error:
        raise UserError(
            f"{out}: the variant cannot be written: {error.strerror or error}; give another --out"
        ) from error
    return variant


def load_variant(path: Path | str) -> Variant:
    """Read a variant; `baseline` is the one without a file.

    Raises:
        UserError: The folder is missing, damaged, or no variant.
    """
    if str(path) == BASELINE:
        return Variant(BASELINE)
    path = Path(path)
    state, provenance = _read(path / PROGRAM), _read(path / PROVENANCE)
    steps: dict[str, dict[str, Any]] = {}
    try:
        for name, step in state.items():
            if name == "metadata":
                continue
            instructions, demos = step["signature"]["instructions"], step["demos"]
            if not isinstance(instructions, str) or not all(isinstance(demo, dict) for demo in demos):
                raise TypeError(name)
            steps[name] = {"instructions": instructions, "demos": [dict(demo) for demo in demos]}
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path / PROGRAM}: no program's state ({error}); optimise again") from error
    if not steps:
        raise UserError(f"{path / PROGRAM}: it holds no step; optimise again")
    for key in ("train_ids", "validation_ids"):
        ids = provenance.get(key, [])
        if not isinstance(ids, list) or not all(isinstance(one, str) for one in ids):
            raise UserError(f"{path / PROVENANCE}: field `{key}`: is no list of question ids; optimise again")
    variant = Variant(path.resolve().name, dict(sorted(steps.items())), provenance)
    if provenance.get("digest") != variant.digest:
        raise UserError(f"{path}: {PROGRAM} is not what {PROVENANCE} speaks of; it was changed, optimise again")
    return variant


def readme(variant: Variant, prompts: dict[str, str]) -> str:
    """The variant as Markdown: where it comes from, then each step's prompt as it is sent."""
    lines = [f"# {variant.name}", ""]
    for name in ("system", "optimizer", "budget", "seed", "lm", "reflection_lm", "improved"):
        if variant.provenance.get(name) is not None:
            lines.append(f"- {name.replace('_', ' ')}: {variant.provenance[name]}")
    if variant.provenance.get("said"):
        lines += ["", str(variant.provenance["said"])]
    for name, prompt in prompts.items():
        demos = len(variant.steps[name]["demos"])
        fence = "`" * (max([2, *map(len, re.findall(r"`+", prompt))]) + 1)
        lines += [
            "",
            f"## {name} ({demos} demonstration{'' if demos == 1 else 's'})",
            "",
            fence + "text",
            prompt,
            fence,
        ]
    return "\n".join(lines) + "\n"


def _plain(value: Any) -> Any:
    """A value as JSON has it, so that a variant prompts the same before and after it was on disk."""
    if hasattr(value, "model_dump"):
        value = value.model_dump(mode="json")
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _write(file: Path, value: Any) -> None:
    temporary = file.with_name(file.name + ".part")
    temporary.write_text(json.dumps(value, indent=2, ensure_ascii=True) + "\n", encoding="utf-8")
    temporary.replace(file)


def _read(file: Path) -> dict[str, Any]:
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{file.parent}: no variant ({file.name} cannot be read: {error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{file}: damaged, it is no JSON; optimise again") from error
    if not isinstance(value, dict):
        raise UserError(f"{file}: damaged, it is no JSON object; optimise again")
    return value


def bare_program(system: str) -> dspy.Module:
    """A system without an index: its prompts can be shown, and nothing be answered."""
    from ..program.systems import make_system

    nothing: Any = None
    return make_system(system, nothing)
