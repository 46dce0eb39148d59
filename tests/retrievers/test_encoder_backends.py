"""Whatever computes the vectors, they are the same; what computes only nearly the same says so in the index."""

import json
import subprocess
import sys

import numpy as np
import pytest

from executionrag.errors import UserError
from executionrag.retrievers.corpus import passages_from_rows
from executionrag.retrievers.encoder import get_encoder
from executionrag.retrievers.encoder_files import DEFAULT_ENCODER, locate
from executionrag.retrievers.index import Index
from executionrag.retrievers.manifest import read_manifest
from executionrag.retrievers.query_encoder import open_light
from executionrag.runs.benchmarks.load import corpus_passages, load_benchmark

HARD = ["", "  lead\ttab\n", "word " * 1000, "[SEP] Élan [MASK] \u200b東京 don't", "ﬁne İstanbul ẞ", "\x00\ufffd🐋"]
TINY = passages_from_rows([("a", "Whales", "Whales cross the sea."), ("b", "Towers", "The tower is built of brick.")])


@pytest.fixture(scope="module")
def texts() -> list[str]:
    passages = corpus_passages(load_benchmark("minihop", to_measure=False), "minihop")
    return [passage.embedding_text for passage in passages][:50] + HARD


@pytest.fixture(scope="module")
def expected(texts):
    return get_encoder().encode_passages(texts)


def test_queries_are_encoded_lightly_as_passages_are_by_sentence_transformers(texts, expected):
    light = open_light(locate(DEFAULT_ENCODER))
    assert light is not None
    assert np.abs(light.encode_queries(texts) - expected).max() < 1e-5


def test_onnx_gives_the_vectors_of_torch(texts, expected):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    assert np.abs(get_encoder().encode_passages(texts, backend="onnx") - expected).max() < 1e-5


def test_bfloat16_gives_near_unit_vectors(texts, expected):
    vectors = get_encoder().encode_passages(texts, dtype="bfloat16")
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert (vectors * expected).sum(axis=1).mean() >= 0.999
    assert np.abs(vectors - expected).max() > 1e-5  # else it was not bfloat16 that computed


def test_a_query_has_the_same_bits_whatever_is_encoded_with_it():
    light = open_light(locate(DEFAULT_ENCODER))
    short, long = (
        "Who wrote it?",
        "Which river runs through the birthplace of the writer of the radio serial The Night Post?",
    )
    together = light.encode_queries([short, long, short])
    assert np.array_equal(together[0], light.encode_queries([short])[0])
    assert np.array_equal(together[1], light.encode_queries([long])[0])


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("1_Pooling/config.json", {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}),
        ("1_Pooling/config.json", {"include_prompt": False}),
        ("config.json", {"model_type": "roberta"}),
        ("config.json", {"hidden_act": "relu"}),
        ("sentence_bert_config.json", {"max_seq_length": None}),
        ("sentence_bert_config.json", {"do_lower_case": True}),
        ("tokenizer_config.json", {"do_lower_case": False}),
        ("config_sentence_transformers.json", {"default_prompt_name": "query", "prompts": {"query": "q: "}}),
    ],
)
def test_a_model_of_another_shape_is_not_encoded_lightly(copy_encoder, file, change):
    folder = copy_encoder("other")
    assert open_light(folder) is not None
    (folder / file).write_text(json.dumps(json.loads((folder / file).read_text()) | change))
    assert open_light(folder) is None


def test_where_the_light_encoder_does_not_fit_queries_still_match_passages(copy_encoder):
    cls_pooled = get_encoder(str(copy_encoder("c", pooling_mode_cls_token=True, pooling_mode_mean_tokens=False)))
    query = cls_pooled.encode_query("whales of the sea")
    assert np.allclose(query, cls_pooled.encode_passages(["whales of the sea"])[0], atol=1e-5)
    assert not np.allclose(query, get_encoder().encode_query("whales of the sea"), atol=1e-2)


def test_a_length_limit_of_the_model_holds_for_light_queries(copy_encoder):
    folder = copy_encoder("short")
    config = folder / "sentence_bert_config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"max_seq_length": 6}))
    light = open_light(folder)
    assert light is not None
    vectors = light.encode_queries(["one two three four five six seven", "one two three four"])
    assert np.allclose(vectors[0], vectors[1], atol=1e-5)


def test_the_index_says_how_it_was_computed_and_only_bfloat16_changes_its_identity(tmp_path):
    plain = Index.build(TINY, tmp_path / "plain")
    near = Index.build(TINY, tmp_path / "near", dtype="bfloat16")
    assert (read_manifest(plain.path).backend, read_manifest(plain.path).dtype) == ("torch", "float32")
    assert read_manifest(near.path).dtype == "bfloat16"
    assert near.digest != plain.digest
    assert near.encoder_digest == plain.encoder_digest
    assert [match.passage_id for match in near.semantic_search("whales", 2)] == ["a", "b"]


def test_a_manifest_that_does_not_say_is_of_torch_in_float32(tmp_path):
    index = Index.build(TINY, tmp_path / "index")
    file = index.path / "manifest.json"
    content = json.loads(file.read_text())
    del content["backend"], content["dtype"]
    file.write_text(json.dumps(content))
    assert Index.load(index.path).digest == index.digest
    file.write_text(json.dumps(content | {"dtype": "float16"}))
    with pytest.raises(UserError, match="do not agree"):
        Index.load(index.path)


def test_what_cannot_be_computed_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    with pytest.raises(UserError, match="float32 only"):
        Index.build(TINY, tmp_path / "index", backend="onnx", dtype="bfloat16")
    with pytest.raises(UserError, match="give torch or onnx"):
        Index.build(TINY, tmp_path / "index", backend="openvino")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(UserError, match=r"install executionrag\[onnx\]"):
        Index.build(TINY, tmp_path / "index", backend="onnx")
    assert not (tmp_path / "index").exists()


def test_a_semantic_search_loads_neither_torch_nor_sentence_transformers_and_asks_no_network(tmp_path):
    index = Index.build(TINY, tmp_path / "index")
    code = (
        "import socket, sys\n"
        "def refuse(*_): raise OSError('no network in tests')\n"
        "socket.socket.connect = refuse\n"
        "from executionrag.retrievers.index import Index\n"
        "found = Index.load(sys.argv[1]).semantic_search('whales', 1)\n"
        "assert found[0].passage_id == 'a', found\n"
        "sys.exit(any(name in sys.modules for name in ('torch', 'transformers', 'sentence_transformers')))\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(index.path)], check=False, timeout=60).returncode == 0
