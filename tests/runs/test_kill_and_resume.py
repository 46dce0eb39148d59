"""A run that is killed with SIGKILL ten times and resumed ends with the records of one that nobody disturbed.

Run as a program, this file is a server that has everything loaded and no thread beside its own: each run is a fork of
it, so that a kill costs no loading. The fork runs the command line; retrieval is real, the LM a script with delays, and
the disk slow, so that kills hit half-written lines too.
"""

import contextlib
import importlib.util
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

KILLS = 10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_ten_kills_lose_no_question_and_answer_none_twice(tmp_path):
    quiet = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "EXECUTIONRAG_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, __file__, str(tmp_path)], env=os.environ | quiet, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    rows_at_kills = told["rows at kills"]
    assert len(rows_at_kills) == KILLS
    assert rows_at_kills == sorted(rows_at_kills)
    assert 0 < rows_at_kills[-1] < told["questions"]

    killed, undisturbed = read(tmp_path / "killed"), read(tmp_path / "undisturbed")
    assert Counter(row["id"] for row in killed) == Counter(told["ids"])
    assert by_id(killed) == by_id(undisturbed)
    assert passages(tmp_path / "killed") == passages(tmp_path / "undisturbed")
    assert sorted(path.name for path in (tmp_path / "killed").iterdir()) == [
        "passages.jsonl",
        "prompts.json",
        "records.jsonl",
        "run.json",
    ]


def read(folder):
    return [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]


def by_id(rows):
    """The rows by question, without what time and the company of other queries in one batch decide."""
    plain = {}
    for row in rows:
        row["usage"]["seconds"] = 0
        for step in row["trajectory"]:
            for found in step.get("found", ()):
                found["score"] = round(found["score"], 3)
        plain[row["id"]] = row
    return plain


def passages(folder):
    return {row["id"]: row for row in map(json.loads, (folder / "passages.jsonl").read_text().splitlines())}


# The server.


def script(benchmark):
    """An LM that follows the gold chain one query a hop, resolves each on the first passage, and takes its time."""
    questions = {question.question: question for question in benchmark.dev}

    def slowly(reply):
        def give(inputs):
            time.sleep(0.02)
            return reply(questions[inputs["question"]], inputs)

        return give

    def initialize(gold, inputs):
        needs = [re.findall(r"#(\d+)", hop.question) for hop in gold.decomposition]
        items = [
            {
                "text": re.sub(r"#(\d+)", r"R\1", hop.question),
                "needs": [f"R{n}" for n in need],
                "support": [],
                "answer": "",
            }
            for hop, need in zip(gold.decomposition, needs, strict=True)
        ]
        return {"requirements": items}

    def write_query(gold, inputs):
        return {"missing": "all", "tool": "semantic_search", "query": hop_of(gold, inputs).question}

    def update(gold, inputs):
        shown = re.search(r"\[(P\d+)\]", inputs["new_passages"])
        item = re.match(r"R\d+", inputs["target"])[0]
        change = {"requirement": item, "note": "", "support": [shown[1]], "answer": hop_of(gold, inputs).answer}
        return {"updates": [change | {"status": "resolved", "reason": ""}], "new_requirements": []}

    def hop_of(gold, inputs):
        return gold.decomposition[int(re.match(r"R(\d+)", inputs["target"])[1]) - 1]

    def answer(gold, inputs):
        return {"explanation": "From [P1].", "abstained": "false", "answer": gold.answer}

    steps = {"initialize": initialize, "write_query": write_query, "update": update, "answer": answer}
    steps |= {"force_answer": answer, "select": lambda _, inputs: {"selected_id": inputs["open_ids"].split(",")[0]}}
    return {name: slowly(reply) for name, reply in steps.items()}


def slow_write(write):
    """Each large write takes two steps with a pause between them."""

    def halves(handle, content):
        if len(content) < 2000:
            return write(handle, content)
        half = write(handle, content[: len(content) // 2])
        time.sleep(0.005)
        return half

    return halves


def fork(work):
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        code = work()
    finally:
        sys.stderr.flush()
        os._exit(code)


def rows_in(folder):
    with contextlib.suppress(FileNotFoundError):
        return (folder / "records.jsonl").read_bytes().count(b"\n")
    return 0


def serve(place):
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    import dspy
    import torch

    from executionrag import Index, MiniHop
    from executionrag.retrievers.corpus import passages_from_rows
    from executionrag.retrievers.encoder import get_encoder
    from executionrag.runs import backends, cli, jsonl  # noqa: F401
    from executionrag.runs.backends import Backend
    from executionrag.runs.commands import run_options

    torch.set_num_threads(1)
    index = Index.build(passages_from_rows(MiniHop.corpus), place / "index")
    index.semantic_search("a first query reads the weights", 1)
    get_encoder(index.encoder_name)

    spec = importlib.util.spec_from_file_location("scripted_lm", Path(__file__).parents[1] / "conftest.py")
    conftest = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conftest)
    lm = dspy.LM("scripted/model", engine=conftest.ScriptedEngine(script(MiniHop)), cache=False, num_retries=0)
    run_options.start_lm = lambda *_, **__: Backend(label="scripted/model", lm=lm)
    jsonl.os = SimpleNamespace(**{**vars(os), "write": slow_write(os.write)})

    def run(out):
        line = ["evaluate", "--benchmark", "minihop", "--index", str(place / "index"), "--lm", "scripted/model"]
        os.dup2(2, 1)
        return cli.main([*line, "--threads", "4", "--quiet", "--out", str(out)])

    moments, killed, rows = random.Random(20), place / "killed", []
    for _ in range(KILLS):
        child = fork(lambda: run(killed))
        wanted, pause = rows_in(killed) + moments.randrange(3), moments.uniform(0, 0.05)
        while not killed.exists() or rows_in(killed) < wanted:
            time.sleep(0.002)
            if os.waitpid(child, os.WNOHANG)[0]:
                raise SystemExit("a run ended before it could be killed")
        time.sleep(pause)
        os.kill(child, signal.SIGKILL)
        if not os.WIFSIGNALED(os.waitpid(child, 0)[1]):
            raise SystemExit("a run ended before it could be killed")
        rows.append(rows_in(killed))
    for out in (killed, place / "undisturbed"):
        if os.waitpid(fork(lambda out=out: run(out)), 0)[1]:
            raise SystemExit(f"the run of {out} failed")
    ids = [question.id for question in MiniHop.dev]
    sys.stdout.write(json.dumps({"rows at kills": rows, "questions": len(ids), "ids": ids}) + "\n")


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
