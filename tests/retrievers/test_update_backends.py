"""ONNX and bfloat16 in updates and resumed builds: vectors in another dtype are never taken for one another, and where
torch and ONNX meet it is said."""

import logging

import numpy as np
import pytest

from executionrag.errors import UserError
from executionrag.retrievers import encoder
from executionrag.retrievers.building import Changes, build_index
from executionrag.retrievers.corpus import passages_from_rows
from executionrag.retrievers.embedded import EmbeddedPlace, text_digest
from executionrag.retrievers.index import Index
from executionrag.retrievers.manifest import read_manifest
from executionrag.runs.benchmarks.minihop import MiniHop

CORPUS = passages_from_rows(MiniHop.corpus)[:12]
MORE = passages_from_rows(MiniHop.corpus)[12:14]
ONNX, BFLOAT16 = {"backend": "onnx"}, {"dtype": "bfloat16"}


@pytest.fixture(params=[ONNX, BFLOAT16], ids=["onnx", "bfloat16"])
def options(request):
    if request.param == ONNX:
        needs_onnx()
    return request.param


def needs_onnx():
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")


def vectors_of(place):
    return np.load(place / "vectors.npy")


def interrupt(passages, place, monkeypatch, **options):
    """A build that ends when eight texts are embedded."""

    def stop(done, total):
        if done >= 8:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(encoder, "_BLOCK", 4)
        with pytest.raises(KeyboardInterrupt):
            build_index(passages, place, progress=stop, **options)
    return [vectors[:8].copy() for _, _, vectors in EmbeddedPlace(place, digest(), "torch", "float32").finished()]


def digest():
    return encoder.get_encoder().digest


def made_otherwise(place):
    manifest = read_manifest(place)
    return {"backend": manifest.backend, "dtype": manifest.dtype}


def warnings(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_an_update_keeps_what_was_computed_alike_and_says_nothing(tmp_path, caplog, options):
    place = tmp_path / "i"
    build_index(CORPUS, place, **options)
    before = vectors_of(place).copy()
    assert build_index([*CORPUS, *MORE], place, update=True, **options) == Changes(embedded=2, kept=12)
    assert np.array_equal(vectors_of(place)[:12], before)
    assert made_otherwise(place) == {"backend": "torch", "dtype": "float32"} | options
    fresh = Index.build([*CORPUS, *MORE], tmp_path / "fresh", **options)
    assert (vectors_of(place) * vectors_of(fresh.path)).sum(axis=1).min() > (0.995 if options == BFLOAT16 else 0.999999)
    assert Index.load(place, verify=True).digest == fresh.digest
    assert warnings(caplog) == []


def test_an_interrupted_build_goes_on_with_what_was_computed_alike(tmp_path, caplog, monkeypatch, options):
    place = tmp_path / "i"
    interrupt(CORPUS, place, monkeypatch, **options)
    assert build_index(CORPUS, place, **options) == Changes(embedded=4, resumed=8)
    assert made_otherwise(place) == {"backend": "torch", "dtype": "float32"} | options
    fresh = Index.build(CORPUS, tmp_path / "fresh", **options)
    assert (vectors_of(place) * vectors_of(fresh.path)).sum(axis=1).min() > (0.995 if options == BFLOAT16 else 0.999999)
    assert Index.load(place).digest == fresh.digest
    assert warnings(caplog) == []
    assert not (tmp_path / "i.embedded").exists()


@pytest.mark.parametrize(("first", "then"), [("bfloat16", "float32"), ("float32", "bfloat16")])
def test_vectors_of_an_interrupted_build_in_another_dtype_are_not_used_and_it_is_said(
    tmp_path, caplog, monkeypatch, first, then
):
    place = tmp_path / "i"
    interrupt(CORPUS, place, monkeypatch, dtype=first)
    assert build_index(CORPUS, place, dtype=then) == Changes(embedded=12)
    (said,) = warnings(caplog)
    assert (
        said == f"{place}.embedded: what an interrupted run embedded in {first} does not fit this run and is not used"
    )
    build_index(CORPUS, tmp_path / "fresh", dtype=then)
    assert np.array_equal(vectors_of(place), vectors_of(tmp_path / "fresh"))
    assert not (tmp_path / "i.embedded").exists()


@pytest.mark.parametrize(("stands", "asked"), [("bfloat16", "float32"), ("float32", "bfloat16")])
def test_an_index_in_one_dtype_is_not_updated_in_the_other(tmp_path, stands, asked):
    build_index(CORPUS[:3], tmp_path / "i", dtype=stands)
    before = vectors_of(tmp_path / "i").copy()
    with pytest.raises(UserError, match=f"dtype {stands} instead of {asked}; give what it has") as error:
        build_index(CORPUS[:4], tmp_path / "i", update=True, dtype=asked)
    assert "\n" not in str(error.value)
    assert np.array_equal(vectors_of(tmp_path / "i"), before)


@pytest.mark.parametrize(("stands", "asked"), [("torch", "onnx"), ("onnx", "torch")])
def test_an_update_by_the_other_library_keeps_the_vectors_and_says_so(tmp_path, caplog, stands, asked):
    needs_onnx()
    place = tmp_path / "i"
    build_index(CORPUS, place, backend=stands)
    assert build_index([*CORPUS, *MORE], place, update=True, backend=asked) == Changes(embedded=2, kept=12)
    (said,) = warnings(caplog)
    assert said.startswith(f"12 vectors are kept that were not all computed by {asked}, as the 2 missing ones are")
    assert made_otherwise(place)["backend"] == "mixed"
    fresh = Index.build([*CORPUS, *MORE], tmp_path / "fresh")
    assert np.abs(vectors_of(place) - vectors_of(fresh.path)).max() < 1e-5
    assert Index.load(place).digest == fresh.digest


def test_an_interrupted_build_that_the_other_library_ends_says_so(tmp_path, caplog, monkeypatch):
    needs_onnx()
    place = tmp_path / "i"
    (kept,) = interrupt(CORPUS, place, monkeypatch)
    assert build_index(CORPUS, place, backend="onnx") == Changes(embedded=4, resumed=8)
    (said,) = warnings(caplog)
    assert said.startswith("8 vectors are kept that were not all computed by onnx")
    assert made_otherwise(place)["backend"] == "mixed"
    assert sum(any(np.array_equal(row, vector) for vector in kept) for row in vectors_of(place)) == 8


def test_of_two_interrupted_builds_the_one_by_the_same_library_is_taken(tmp_path):
    for backend, value in (("torch", 1.0), ("onnx", 2.0)):
        place = EmbeddedPlace(tmp_path / "i", "e" * 64, backend, "float32")
        place.append([text_digest("a")], np.full((1, 4), value, dtype=np.float32))
        place.close()
    for backend, value in (("torch", 1.0), ("onnx", 2.0)):
        first, _ = EmbeddedPlace(tmp_path / "i", "e" * 64, backend, "float32").finished()
        assert (first[0], first[2].tolist()) == (backend, [[value] * 4])


def test_what_does_not_fit_is_named(tmp_path):
    for name, dtype in (("e", "bfloat16"), ("f", "float32")):
        place = EmbeddedPlace(tmp_path / "i", name * 64, "torch", dtype)
        place.append([text_digest("a")], np.ones((1, 4), dtype=np.float32))
        place.close()
    assert EmbeddedPlace(tmp_path / "i", "e" * 64, "onnx", "float32").unfit() == ["by another encoder", "in bfloat16"]
    assert EmbeddedPlace(tmp_path / "i", "e" * 64, "onnx", "bfloat16").unfit() == ["by another encoder"]
    assert EmbeddedPlace(tmp_path / "j", "e" * 64, "torch", "float32").unfit() == []
