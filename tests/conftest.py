"""What every room's tests share: one scripted LM, and nothing that reaches a network."""

import json
import os
import re
import threading
from collections import Counter

import pytest

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

# Which step a prompt asks for, told by the output field that only that step has.
_STEP_FIELDS = {
    "requirements": "initialize",
    "selected_id": "select",
    "query": "write_query",
    "updates": "update",
    "checks": "verify",
    "calls": "choose_action",
    "thought": "next_thought",
    "answer": "answer",
    "verdict": "judge",
}


class ScriptedEngine:
    """A DSPy engine that answers by what the prompt asks, so that it does not depend on the order of threads.

    `script` maps a step's name to a function of the prompt's inputs (a dict of the field texts) that returns the output
    fields as a dict, a raw string to reply with, or an exception to raise. Every prompt is kept in `prompts`.
    """

    def __init__(self, script):
        self.script = script
        self.prompts = []
        self.counts = Counter()
        self._lock = threading.Lock()

    def complete(self, request):
        from dspy.lm15 import Message, Response, TextPart, Usage

        system = request.system or ""
        system = system if isinstance(system, str) else "".join(part.text for part in system)
        user = "".join(part.text for part in request.messages[-1].parts)
        step = next(name for field, name in _STEP_FIELDS.items() if f"`{field}` (" in system.split("structured in")[0])
        if step == "answer" and "The search is over" in system:
            step = "force_answer"
        inputs = dict(re.findall(r"\[\[ ## (\w+) ## \]\]\n(.*?)(?=\n\n\[\[ ## |\n\nRespond with)", user, re.DOTALL))
        with self._lock:
            self.prompts.append((step, inputs, system))
            self.counts[step] += 1
        outputs = self.script[step](inputs)
        if isinstance(outputs, Exception):
            raise outputs
        if isinstance(outputs, dict):
            text = (
                json.dumps(outputs)
                if "JSON object" in user
                else "\n\n".join(
                    f"[[ ## {name} ## ]]\n{value if isinstance(value, str) else json.dumps(value)}"
                    for name, value in outputs.items()
                )
                + "\n\n[[ ## completed ## ]]"
            )
        else:
            text = outputs
        return Response(
            id="scripted",
            model=request.model,
            message=Message(role="assistant", parts=(TextPart(text=text),)),
            finish_reason="stop",
            usage=Usage(input_tokens=len(system + user) // 4, output_tokens=max(1, len(text) // 4)),
        )

    def stream(self, request):
        raise NotImplementedError

    def close(self):
        pass


@pytest.fixture
def scripted():
    """`scripted(script)` -> (lm, engine): a real dspy.LM whose engine follows the script; nothing is cached."""
    import dspy

    def make(script):
        engine = ScriptedEngine(script)

        class AsyncEngine:
            async def complete(self, request):
                return engine.complete(request)

            def stream(self, request):
                raise NotImplementedError

            async def aclose(self):
                pass

        lm = dspy.LM("scripted/model", engine=engine, async_engine=AsyncEngine(), cache=False, num_retries=0)
        return lm, engine

    return make


# A chain of three facts, a second person of the same name, and a comparison: enough for real retrieval to find its way.
SMALL_CORPUS = [
    ("salt", "The Salt Choir", "The Salt Choir is an opera in three acts composed by Ana Kell for the Orrim festival."),
    ("ana", "Ana Kell", "Ana Kell was a composer. Her mother was the glassblower Bettina Moore."),
    ("bettina", "Bettina Moore", "Bettina Moore was a glassblower who was born in the harbour town of Tarn Hollow."),
    ("tarn", "Tarn Hollow", "Tarn Hollow is a harbour town on the Vessel Sea, known for its blue lighthouse."),
    ("ana2", "Ana Kell (cyclist)", "Ana Kell won the Brask Circuit cycle race in 1931 and 1933."),
    ("quiet", "The Quiet Mill", "The Quiet Mill is an opera by Joren Pask, first sung in 1904."),
    ("joren", "Joren Pask", "Joren Pask was a composer of comic operas and a keen beekeeper."),
    ("vessel", "Vessel Sea", "The Vessel Sea is a shallow sea with eleven inhabited islands."),
    ("glass", "Glassblowing in Orrim", "Glassblowing came to Orrim with settlers who knew the secret of green glass."),
    ("brask", "Brask Circuit", "The Brask Circuit is a cycle race around Lake Brask held every second year."),
]


@pytest.fixture(scope="session")
def small_index(tmp_path_factory):
    """A real index, MiniLM and BM25, over ten passages."""
    from executionrag import Index
    from executionrag.retrievers.passage import Passage

    passages = [Passage(id=key, title=title, text=text, document=key, position=0) for key, title, text in SMALL_CORPUS]
    return Index.build(passages, tmp_path_factory.mktemp("index") / "small")
