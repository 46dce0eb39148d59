"""A build really takes no more memory than it is said to need, nor much less."""

import json
import subprocess
import sys

import pytest

# The high-water mark of resident memory, above what is resident when the estimate is made.
BUILD = """
import json, sys
from executionrag.retrievers import building, needs
from executionrag.retrievers.corpus import passages_from_rows
from executionrag.runs.benchmarks.minihop import MiniHop

def now(name):
    lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return int(lines[name].split()[0]) * 1024

def watched(passages, texts, encoder, *, out, **how):
    weights = sum(file.stat().st_size for file in encoder.glob("*.safetensors"))
    size = sum(len(text.encode()) for text in texts)
    said.update(needed=needs.estimate(len(texts), size, 384, weights, **how).memory, before=now("VmRSS"))

said = {}
building.require_room = watched
building.build_index(passages_from_rows(MiniHop.corpus), sys.argv[1], **json.loads(sys.argv[2]))
print(json.dumps({**said, "highest": now("VmHWM")}))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is told on Linux")
@pytest.mark.parametrize("options", [{}, {"dtype": "bfloat16"}, {"backend": "onnx"}, {"dense_kind": "hnsw"}], ids=str)
def test_the_estimate_is_above_what_a_build_of_real_texts_takes_and_not_far_above(tmp_path, options):
    if options.get("backend") == "onnx":
        pytest.importorskip("onnx")
        pytest.importorskip("onnxruntime")
    command = [sys.executable, "-c", BUILD, str(tmp_path / "i"), json.dumps(options)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)
    said = json.loads(run.stdout)
    took = said["highest"] - said["before"]
    assert took <= said["needed"], said
    assert said["needed"] <= 2 * took, said
