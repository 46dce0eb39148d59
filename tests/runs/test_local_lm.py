"""The embedded LM: wire and errors without a model, and (slow) the real one."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Literal

import dspy
import pydantic
import pytest

from executionrag.errors import UserError
from executionrag.runs.local_lm import lm as lm_module
from executionrag.runs.local_lm import server as server_module
from executionrag.runs.local_lm import wire
from executionrag.runs.local_lm.server import LocalServer


class Verdict(pydantic.BaseModel):
    note: str = pydantic.Field(max_length=60)
    evidence: list[str] = pydantic.Field(max_length=2)
    answer: str = pydantic.Field(max_length=30)
    done: Literal["yes", "no"]


class Judge(dspy.Signature):
    """Say for each requirement what the passages state about it."""

    passages: list[str] = dspy.InputField()
    requirements: list[str] = dspy.InputField()
    zz_first: list[Verdict] = dspy.OutputField()
    aa_last: bool = dspy.OutputField()


INPUTS = {
    "passages": ["[P1] Ana Bole was born in Tirv.", "[P2] Tirv lies in Konia."],
    "requirements": ["R1: Where was Ana Bole born?", "R2: In which country is Tirv?"],
}


@pytest.fixture
def stub_lm(lm_stub, monkeypatch):
    """`local_lm` with the stub in place of llama.cpp."""

    def local_server(model_path=None, **_):
        return LocalServer(f"{lm_stub.root}/v1", Path("m.gguf"), f"{model_path or 'm'}@0123", 16384, 1, None)

    monkeypatch.setattr(lm_module, "local_server", local_server)
    return lm_module.local_lm


def test_the_strict_schema_is_sent_in_the_order_of_the_fields(lm_stub, stub_lm, monkeypatch):
    monkeypatch.setattr(wire, "has_llguidance", lambda: False)
    lm_stub.reply = json.dumps({"zz_first": [], "aa_last": True})
    with dspy.context(lm=stub_lm(cache=False), adapter=dspy.JSONAdapter()):
        assert dspy.Predict(Judge)(**INPUTS).aa_last is True
    (body,) = lm_stub.completions
    assert body["response_format"]["type"] == "json_schema"
    wanted = body["response_format"]["json_schema"]
    assert wanted["strict"] is True
    assert list(wanted["schema"]["properties"]) == ["zz_first", "aa_last"]
    assert list(wanted["schema"]["$defs"]["Verdict"]["properties"]) == ["note", "evidence", "answer", "done"]
    assert wanted["schema"]["$defs"]["Verdict"]["properties"]["note"]["maxLength"] == 60
    assert (body["temperature"], body["max_tokens"]) == (0.0, 512)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_where_the_runtime_can_the_schema_goes_as_a_grammar_without_white_space(
    lm_stub, stub_lm, monkeypatch, asynchronous
):
    monkeypatch.setattr(wire, "has_llguidance", lambda: True)
    lm_stub.reply = json.dumps({"zz_first": [], "aa_last": True})
    with dspy.context(lm=stub_lm(cache=False), adapter=dspy.JSONAdapter()):
        predict = dspy.Predict(Judge)
        prediction = asyncio.run(predict.acall(**INPUTS)) if asynchronous else predict(**INPUTS)
    assert prediction.aa_last is True
    (body,) = lm_stub.completions
    assert "response_format" not in body
    head, _, schema = body["grammar"].partition("%json ")
    assert head == "%llguidance {}\nstart: "
    assert list(json.loads(schema)["properties"]) == ["zz_first", "aa_last"]
    assert json.loads(schema)["x-guidance"]["whitespace_flexible"] is False


def test_free_text_is_asked_for_without_any_grammar(lm_stub, stub_lm):
    stub_lm(cache=False)("hello")
    assert not {"grammar", "response_format"} & set(lm_stub.completions[0])


def test_the_cache_tells_model_files_apart_and_ports_not(lm_stub, stub_lm):
    dspy.configure_cache(enable_disk_cache=False)
    lm_stub.reply = "one"
    assert stub_lm("a")("Which are you, by name?") == ["one"]
    lm_stub.reply = "two"
    assert stub_lm("a")("Which are you, by name?") == ["one"]
    assert stub_lm("b")("Which are you, by name?") == ["two"]


def test_a_missing_runtime_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(UserError, match=r"pip install 'executionrag\[local\]'"):
        lm_module.local_lm(notify=pytest.fail)


def test_threads_follow_the_variable_and_else_the_cores_of_this_process(monkeypatch):
    monkeypatch.setenv("EXECUTIONRAG_LM_THREADS", "3")
    assert server_module.thread_count() == 3
    monkeypatch.delenv("EXECUTIONRAG_LM_THREADS")
    assert 1 <= server_module.thread_count() <= (os.cpu_count() or 1)


def test_nothing_heavy_is_loaded_before_the_lm_is_made():
    code = "import sys, executionrag.runs.local_lm.lm; assert not {'xllamacpp', 'litellm', 'torch'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# --- with the real model ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real_lm():
    pytest.importorskip("xllamacpp")
    return lm_module.local_lm(notify=print, cache=False)


@pytest.mark.slow
def test_replies_are_constrained_and_fields_come_in_the_signatures_order(real_lm):
    with dspy.context(lm=real_lm, adapter=dspy.JSONAdapter(), disable_history=False):
        prediction = dspy.Predict(Judge)(**INPUTS)
    (reply,) = real_lm.history[-1]["outputs"]
    raw = json.loads(reply)
    assert "\n" not in reply
    assert list(raw) == ["zz_first", "aa_last"]
    assert all(list(item) == ["note", "evidence", "answer", "done"] for item in raw["zz_first"])
    assert all(len(item.note) <= 60 and len(item.evidence) <= 2 for item in prediction.zz_first)
    assert prediction.zz_first[0].answer == "Tirv"


@pytest.mark.slow
def test_a_reply_that_would_not_end_is_cut_at_its_limit(real_lm):
    lm = real_lm.copy(max_tokens=32)
    start = time.monotonic()
    lm("Count from 1 to 10000, one number a line, and leave none out.")
    assert lm.history[-1]["usage"]["completion_tokens"] <= 32
    assert time.monotonic() - start < 60


@pytest.mark.slow
def test_threads_share_one_server_and_get_their_own_answers(real_lm):
    assert lm_module.local_lm(notify=print).kwargs["api_base"] == real_lm.kwargs["api_base"]
    predict = dspy.Predict("statement -> city")

    def ask(city):
        return predict(statement=f"Ana lives in {city}.").city

    cities = ["Paris", "Rome", "Oslo", "Lima"]
    with dspy.context(lm=real_lm, adapter=dspy.JSONAdapter()), ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(copy_context().run, ask, city) for city in cities]
        assert [future.result() for future in futures] == cities


SCRIPT = """
    import logging, sys
    logging.basicConfig(level=logging.DEBUG)
    import dspy
    from executionrag.runs.local_lm.lm import local_lm
    lm = local_lm(cache=False, max_tokens=4000)
    lm.copy(max_tokens=4)("Say hello.")
    sys.stderr.write("PORT " + lm.kwargs["api_base"].split(":")[-1].split("/")[0] + "\\n"); sys.stderr.flush()
"""


def run_script(extra: str) -> subprocess.Popen[str]:
    code = textwrap.dedent(SCRIPT) + extra
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A job that a shell starts in the background ignores Ctrl-C, and hands that down.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def read_port(process: subprocess.Popen[str]) -> int:
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("PORT "):
            return int(line.split()[1])
    raise AssertionError("the LM did not start")


def port_is_open(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.slow
def test_nothing_but_our_own_words_reaches_stdout():
    process = run_script("print('alone')")
    out, _ = process.communicate(timeout=180)
    assert (process.returncode, out) == (0, "alone\n")


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_server_ends_with_the_process_even_in_the_middle_of_a_reply(how):
    process = run_script("lm('Count from 1 to 10000, one number a line, and leave none out.')")
    port = read_port(process)
    assert port_is_open(port)
    time.sleep(2)
    process.send_signal(how)
    process.communicate(timeout=15)
    assert not port_is_open(port)
