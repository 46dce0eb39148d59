import json
import sys
import threading

import numpy as np
import pytest

from executionrag.errors import UserError
from executionrag.retrievers import encoder_files
from executionrag.retrievers.encoder import get_encoder
from executionrag.retrievers.encoder_files import DEFAULT_ENCODER, digest, locate


def test_vectors_are_finite_float32_units_whatever_the_text():
    encoder = get_encoder()
    texts = ["A fine text.", "", "\ud800", "word " * 1000, "東京"]
    vectors = encoder.encode_passages(texts)
    assert vectors.dtype == np.float32
    assert vectors.shape == (5, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert encoder.encode_query("\udfff").shape == (384,)


def test_vectors_come_in_the_order_of_the_texts_and_progress_ends_at_the_total():
    encoder = get_encoder()
    texts = ["short", "a much longer text about whales and the sea", "medium text here"]
    seen = []
    vectors = encoder.encode_passages(texts, lambda done, total: seen.append((done, total)))
    assert seen[-1] == (3, 3)
    for text, vector in zip(texts, vectors, strict=True):
        assert np.allclose(vector, encoder.encode_query(text), atol=1e-5)


def test_one_model_a_process_whatever_its_name():
    assert get_encoder("all-MiniLM-L6-v2") is get_encoder("sentence-transformers/all-MiniLM-L6-v2")
    assert get_encoder(str(locate(DEFAULT_ENCODER))) is get_encoder()


@pytest.mark.parametrize("light", [True, False])
def test_queries_of_many_threads_get_their_own_vectors(light, copy_encoder):
    cls_pooled = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}  # what is not encoded lightly
    encoder = get_encoder() if light else get_encoder(str(copy_encoder("cls", **cls_pooled)))
    assert (encoder._light is not None) == light
    queries = [f"query about topic {number}" for number in range(12)]
    alone = [encoder.encode_query(query) for query in queries]
    together = [None] * len(queries)

    def ask(place):
        together[place] = encoder.encode_query(queries[place])

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(len(queries))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.allclose(alone, together, atol=1e-5)


def test_the_digest_knows_weights_and_pooling_and_not_the_place(copy_encoder):
    original = digest(locate(DEFAULT_ENCODER))
    assert digest(copy_encoder("same", pooling_mode_weightedmean_tokens=False, include_prompt=True)) == original
    other = copy_encoder("other", pooling_mode_cls_token=True, pooling_mode_mean_tokens=False)
    assert digest(other) != original


def test_a_query_prompt_of_the_model_is_used_for_queries_alone(copy_encoder):
    folder = copy_encoder("prompted")
    config = folder / "config_sentence_transformers.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"prompts": {"query": "Instruct: find it\nQuery: "}}))
    prompted, plain = get_encoder(str(folder)), get_encoder()
    assert prompted.digest != plain.digest
    expected = plain.encode_query("Instruct: find it\nQuery: whales")
    assert np.allclose(prompted.encode_query("whales"), expected, atol=1e-5)
    assert np.allclose(prompted.encode_passages(["whales"]), plain.encode_passages(["whales"]), atol=1e-5)


def test_the_default_encoder_on_this_machine_never_asks_the_hub(monkeypatch):
    monkeypatch.setattr(encoder_files, "_download", lambda *_: pytest.fail("asked the hub"))
    assert (locate(DEFAULT_ENCODER) / "model.safetensors").is_file()


def test_the_local_cache_comes_before_the_package_and_a_partial_one_does_not(monkeypatch, tmp_path, copy_encoder):
    import huggingface_hub

    folder = copy_encoder("cached")
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, local_files_only: str(folder))
    assert locate(DEFAULT_ENCODER) == folder
    (folder / "model.safetensors").unlink()
    assert locate(DEFAULT_ENCODER) != folder


def test_an_unreachable_hub_is_one_line_with_a_remedy(monkeypatch):
    import huggingface_hub
    from huggingface_hub.errors import LocalEntryNotFoundError

    def unreachable(*_, **__):
        raise LocalEntryNotFoundError("Name or service not known\nPlease check your connection.")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", unreachable)
    with pytest.raises(
        UserError, match=r"not on this machine and cannot be downloaded .* check the name and the network"
    ) as error:
        locate("no-such/encoder")
    assert "\n" not in str(error.value)
    monkeypatch.setattr(encoder_files, "_packaged", lambda: None)
    with pytest.raises(UserError, match=r"install executionrag\[local\]"):
        locate(DEFAULT_ENCODER)


@pytest.mark.parametrize("name", ["not a valid name!", "a/b/c/d", ""])
def test_an_impossible_name_is_a_user_error(name, monkeypatch):
    import socket

    monkeypatch.setattr(socket.socket, "connect", lambda *_: (_ for _ in ()).throw(OSError("no network in tests")))
    with pytest.raises(UserError, match="encoder"):
        locate(name)


def test_folders_that_hold_no_encoder_or_pickled_weights_are_refused(tmp_path, copy_encoder):
    with pytest.raises(UserError, match="no such folder"):
        locate(str(tmp_path / "nothing"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="holds no sentence-transformers model"):
        locate(str(tmp_path / "empty"))
    pickled = copy_encoder("pickled")
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    with pytest.raises(UserError, match="pickled weights only"):
        locate(str(pickled))


def test_garbage_weights_are_a_user_error_that_names_the_encoder(copy_encoder):
    folder = copy_encoder("garbage")
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").write_bytes(b"garbage")
    with pytest.raises(UserError, match="cannot be loaded"):
        get_encoder(str(folder)).encode_query("x")


def test_naming_an_encoder_loads_neither_torch_nor_its_weights():
    import subprocess

    code = (
        "import sys; from executionrag.retrievers.encoder import get_encoder; get_encoder().digest;"
        "from executionrag.retrievers import index, session, corpus;"
        "sys.exit(any(name in sys.modules for name in ('torch', 'sentence_transformers', 'faiss', 'bm25s')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
