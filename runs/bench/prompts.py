"""What is put to the LM: calls and prompt tokens a question, by step and by hops, and how much a prefix cache saves.

Two sets of questions, asked one after another: *MiniHop*, all of its questions with real retrieval and a scripted
reader in place of the LM; *recorded*, the questions of `docs/study` (MiniHop and MuSiQue) as an LM of 1.5 billion
parameters answered them, its replies and the passages that came back given again. Nothing is timed, so nothing varies.
Prompts are what DSPy's chat adapter makes of a step: system and user message, in tokens of o200k_base, without those
that a provider's chat template adds.

- *LM calls*: a step whose outcome is forced is not asked. Selecting is not where one requirement alone can be a target,
  updating not where a search showed nothing new, a verifier that searches not where nothing was resolved. Only the last
  is newer than the older commit, and neither set has a verifier, so that its calls and prompts are those of today.
- *Register text* is the lines that list requirements, over all prompts that show them: with deltas as the program
  shows them, beside the same trajectories with the whole register shown each loop.
- *Instructions* (the system message) and *passages* are told as shares of a step's prompt tokens; *shown before* are
  the passages that an earlier prompt of the same question showed too: LM calls remember nothing.
- *Stable prefix* is how much of a prompt begins like another one, mean over the calls that have that other one: the
  prompt before it of the same step and question, or the call before it whatever its step. (DSPy writes a step's
  instructions first, so prompts of different steps part early.)
- *Cached* is what a provider's cache would count of all prompt tokens if it held every earlier prompt: the longest
  prefix shared with any of them, from 1,024 tokens on and in steps of 128, as OpenAI states its rule
  ([guide](https://developers.openai.com/api/docs/guides/prompt-caching),
  [cookbook](https://github.com/openai/openai-cookbook/blob/main/examples/Prompt_Caching_201.ipynb)). A server of one's
  own has no such minimum: *shared* is the same prefix token by token.
"""

import itertools
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import dspy

from ...metrics.record import QuestionRecord
from ...metrics.register_tokens import RegisterTokens, register_tokens
from ...program.systems import make_system
from ...program.tokens import count_tokens
from ...retrievers.corpus import passages_from_rows
from ...retrievers.index import Index
from ..benchmarks.minihop import MiniHop
from .measured import Measured
from .prefix_cache import cached_tokens, shared_prefix, shared_with_earlier
from .reader import Reader, read_prompt
from .recorded import recorded
from .setting import Setting
from .workload import SYSTEM, ReaderEngine

REPLAY = f"{SYSTEM}-full-replay"
STEPS = ("initialize", "select", "write_query", "update", "answer", "force_answer")
_PASSAGE = re.compile(r"(?ms)^\[P\d+\] .*?(?=\n\n\[P\d+\] |\Z)")
_STUDY = Path(__file__).resolve().parents[2] / "docs" / "study"


@dataclass(frozen=True)
class Prompt:
    """One call.

    Attributes:
        step: What was asked for.
        text: The whole prompt.
        tokens: Of the prompt.
        instructions: Tokens of its system message.
        passages: The passages that it shows, each as it is shown.
    """

    step: str
    text: str
    tokens: int
    instructions: int = 0
    passages: tuple[str, ...] = ()


@dataclass(frozen=True)
class Asked:
    """One question: its prompts in order, the tokens of those with the whole register, and its register's text."""

    hops: int
    prompts: tuple[Prompt, ...]
    replay_tokens: int
    register: RegisterTokens | None


def measure(setting: Setting) -> list[Measured]:
    """Ask the questions of both sets.

    Args:
        setting: Not used: both sets are part of the project.
    """
    rows = _rows("MiniHop", list(_scripted()))
    again = list(_recorded(_STUDY))  # no part of an installed package
    return rows + (_rows("recorded", again) if again else [])


def _scripted() -> Iterator[Asked]:
    with tempfile.TemporaryDirectory() as folder:
        index = Index.build(passages_from_rows(MiniHop.corpus), Path(folder) / "index")
        for question in (*MiniHop.dev, *MiniHop.train):
            runs = [_ask(system, index, Reader([question]), question.question) for system in (SYSTEM, REPLAY)]
            yield _asked(question.hops, *runs)


def _recorded(study: Path) -> Iterator[Asked]:
    for folder in sorted(path.parent for path in study.glob(f"*/*/{SYSTEM}/records.jsonl")):
        for one, other in zip(recorded(folder), recorded(folder), strict=True):
            delta, replay = (
                _ask(system, again.found, again.replies, again.record.question, again.max_loops)
                for system, again in ((SYSTEM, one), (REPLAY, other))
            )
            yield _asked(one.record.hops, delta, replay)


def _ask(
    name: str, index: Any, reader: Reader, question: str, max_loops: int = 15
) -> tuple[list[Prompt], dspy.Prediction]:
    """A question's prompts and what came of it."""
    engine = ReaderEngine(reader)
    engine.keep = 1_000
    system = make_system(name, index, max_loops=max_loops)
    lm = dspy.LM("scripted/reader", engine=engine, cache=False, num_retries=0)
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        prediction = system(question=question)
    return [_prompt(*kept) for kept in engine.kept], prediction


def _prompt(instructions: str, user: str) -> Prompt:
    step, inputs = read_prompt(instructions, user)
    text = f"{instructions}\n{user}"
    shown = inputs.get("passages", "") or inputs.get("new_passages", "")
    return Prompt(step, text, count_tokens(text), count_tokens(instructions), tuple(_PASSAGE.findall(shown)))


def _asked(
    hops: int, delta: tuple[list[Prompt], dspy.Prediction], replay: tuple[list[Prompt], dspy.Prediction]
) -> Asked:
    prompts, prediction = delta
    trajectory = tuple(prediction.trajectory)
    record = QuestionRecord(
        id="", question="", benchmark="", type="", hops=hops, answers=(), gold=(), trajectory=trajectory
    )
    return Asked(hops, tuple(prompts), sum(one.tokens for one in replay[0]), register_tokens(record))


def _rows(name: str, asked: Sequence[Asked]) -> list[Measured]:
    hops = sorted({one.hops for one in asked})
    parts = [(f"{count} hops", [one for one in asked if one.hops == count]) for count in hops]
    rows = []
    for part, ones in parts:
        rows += _calls(f"{name}, {part}", ones)
    for part, ones in parts:
        rows += _tokens(f"{name}, {part}", ones)
    for part, ones in parts:
        rows += _register(f"{name}, {part}", ones)
    return rows + _parts(name, asked) + _prefixes(name, asked)


def _calls(part: str, asked: Sequence[Asked]) -> list[Measured]:
    n = f"mean of {len(asked)} questions"
    rows = [Measured(f"{part}: LM calls a question", fmean(len(one.prompts) for one in asked), note=n)]
    for step in ("select", "write_query", "update"):  # the others are one a question
        count = sum(prompt.step == step for one in asked for prompt in one.prompts)
        rows.append(Measured(f"{part}: of these {step}", count / len(asked)))
    return rows


def _tokens(part: str, asked: Sequence[Asked]) -> list[Measured]:
    rows = [Measured(f"{part}: prompt tokens a question", fmean(_size(one.prompts) for one in asked), "tokens")]
    for step in STEPS:
        prompts = [prompt for one in asked for prompt in one.prompts if prompt.step == step]
        if prompts:
            size = fmean(prompt.tokens for prompt in prompts)
            rows.append(Measured(f"{part}: prompt tokens of one {step} call", size, "tokens"))
    return rows


def _register(part: str, asked: Sequence[Asked]) -> list[Measured]:
    priced = [one.register for one in asked if one.register is not None]
    delta = sum(one.delta_in_prompts for one in priced)
    replay = sum(one.replay_in_prompts for one in priced)
    rows = [
        Measured(f"{part}: register text in a question's prompts, deltas", delta / len(asked), "tokens"),
        Measured(f"{part}: register text in a question's prompts, full replay", replay / len(asked), "tokens"),
    ]
    if delta:
        rows.append(Measured(f"{part}: full replay against deltas, register text", replay / delta, "x"))
    whole, with_deltas = sum(one.replay_tokens for one in asked), sum(_size(one.prompts) for one in asked)
    return [*rows, Measured(f"{part}: full replay against deltas, whole prompts", whole / with_deltas, "x")]


def _parts(name: str, asked: Sequence[Asked]) -> list[Measured]:
    """What prompts consist of, and which of their passages a prompt of the question showed before."""
    size, instructions = Counter[str](), Counter[str]()
    passages, again, again_in_update = Counter[str](), Counter[str](), Counter[str]()
    for one in asked:
        shown: dict[str, set[str]] = {}
        for prompt in one.prompts:
            size[prompt.step] += prompt.tokens
            instructions[prompt.step] += prompt.instructions
            for passage in prompt.passages:
                tokens, by = count_tokens(passage), shown.setdefault(passage, set())
                passages[prompt.step] += tokens
                again[prompt.step] += tokens if by else 0
                again_in_update[prompt.step] += tokens if "update" in by else 0
                by.add(prompt.step)
    rows = []
    for step in (step for step in STEPS if size[step]):
        told = [("instructions", instructions)]
        if passages[step]:
            told.append(("passages", passages))
        if again[step]:
            told += [("passages shown before", again), ("passages shown before to update", again_in_update)]
        rows += [Measured(f"{name}, {step}: {what}", 100 * part[step] / size[step], "%") for what, part in told]
    return rows


def _prefixes(name: str, asked: Sequence[Asked]) -> list[Measured]:
    prompts = [prompt for one in asked for prompt in one.prompts]
    shared = shared_with_earlier([prompt.text for prompt in prompts])
    by_step = [(step, [at for at, prompt in enumerate(prompts) if prompt.step == step]) for step in STEPS]
    rows = []
    for step, places in [("all steps", list(range(len(prompts)))), *by_step]:
        if not places:
            continue
        every = step == "all steps"
        same = [share for one in asked for told, share in _with_same_step(one.prompts) if every or told == step]
        before = [share for one in asked for told, share in _with_call_before(one.prompts) if every or told == step]
        size = sum(prompts[at].tokens for at in places)
        what = f"{name}, {step}"
        if same:
            rows.append(Measured(f"{what}: stable prefix, to the same step before", 100 * fmean(same), "%"))
        if before:
            rows.append(Measured(f"{what}: stable prefix, to the call before", 100 * fmean(before), "%"))
        any_before = sum(shared[at] for at in places)
        rows.append(Measured(f"{what}: shared with any prompt before", 100 * any_before / size, "%"))
        cached = sum(cached_tokens(shared[at]) for at in places)
        rows.append(Measured(f"{what}: cached by a provider", 100 * cached / size, "%"))
    return rows


def _with_same_step(prompts: Sequence[Prompt]) -> Iterator[tuple[str, float]]:
    """Step and stable share of each call whose step was asked before."""
    last: dict[str, Prompt] = {}
    for prompt in prompts:
        if prompt.step in last:
            yield prompt.step, _share(prompt, last[prompt.step])
        last[prompt.step] = prompt


def _with_call_before(prompts: Sequence[Prompt]) -> Iterator[tuple[str, float]]:
    """Step and stable share of each call but the first."""
    for before, prompt in itertools.pairwise(prompts):
        yield prompt.step, _share(prompt, before)


def _share(prompt: Prompt, other: Prompt) -> float:
    return count_tokens(shared_prefix(prompt.text, other.text)) / prompt.tokens


def _size(prompts: Iterable[Prompt]) -> int:
    return sum(prompt.tokens for prompt in prompts)
