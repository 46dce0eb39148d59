"""An update embeds what is new and equals a new build; an interrupted build goes on where it ended."""

import dataclasses
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from executionrag.errors import UserError
from executionrag.retrievers import embedded, needs
from executionrag.retrievers.building import Changes, build_index
from executionrag.retrievers.corpus import passages_from_rows
from executionrag.retrievers.embedded import EmbeddedPlace, text_digest
from executionrag.retrievers.encoder import Encoder
from executionrag.retrievers.files import DiskFull
from executionrag.retrievers.index import Index
from executionrag.retrievers.known import KnownVectors
from executionrag.runs.benchmarks.minihop import MiniHop

CORPUS = passages_from_rows(MiniHop.corpus)[:40]
NEW = passages_from_rows([("zz-1", "Pell", "Pell is a town of weavers."), ("zz-2", "", "No title stands over this.")])


def files_of(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def assert_equals_a_new_build(place, passages, fresh, **options):
    new = Index.build(passages, fresh, overwrite=fresh.exists(), **options)
    ours, theirs = files_of(place), files_of(fresh)
    assert ours.keys() == theirs.keys()
    assert {name for name in ours if ours[name] != theirs[name]} <= {"vectors.npy", "manifest.json"}
    found = np.load(place / "vectors.npy")
    assert np.abs(found - np.load(fresh / "vectors.npy")).max() < 1e-6
    assert Index.load(place, verify=True).digest == new.digest
    for query in ("Who founded the town?", "weavers"):
        assert [match.passage_id for match in Index.load(place).semantic_search(query, 5)] == [
            match.passage_id for match in new.semantic_search(query, 5)
        ]


@pytest.fixture
def embedded_texts(monkeypatch):
    """Every text that is embedded, as it is."""
    seen = []
    original = Encoder.encode_blocks

    def watched(self, texts, **options):
        for rows, vectors in original(self, texts, **options):
            seen.extend(texts[row] for row in rows)
            yield rows, vectors

    monkeypatch.setattr(Encoder, "encode_blocks", watched)
    return seen


@pytest.mark.parametrize("granularity", ["passage", "sentence"])
def test_what_is_added_changed_and_removed_is_all_that_an_update_does(tmp_path, embedded_texts, granularity):
    place = tmp_path / "i"
    old = build_index(CORPUS, place, granularity=granularity)
    before = np.load(place / "vectors.npy").copy()
    embedded_texts.clear()
    changes = build_index([*CORPUS[:-2], *NEW], place, granularity=granularity, update=True)
    assert sorted(embedded_texts) == sorted(passage.embedding_text for passage in NEW)
    assert changes.embedded == 2
    assert changes.kept + changes.removed == old.embedded
    assert np.array_equal(np.load(place / "vectors.npy")[: changes.kept], before[: changes.kept])
    assert_equals_a_new_build(place, [*CORPUS[:-2], *NEW], tmp_path / "fresh", granularity=granularity)
    assert not (tmp_path / "i.embedded").exists()


def test_a_new_text_or_title_under_the_same_id_is_embedded_again(tmp_path, embedded_texts):
    place = tmp_path / "i"
    build_index(CORPUS[:6], place)
    embedded_texts.clear()
    changed = [
        dataclasses.replace(CORPUS[0], text="Another text."),
        dataclasses.replace(CORPUS[1], title="Other"),
        *CORPUS[2:6],
    ]
    assert build_index(changed, place, update=True) == Changes(embedded=2, kept=4, removed=2)
    assert len(embedded_texts) == 2
    assert_equals_a_new_build(place, changed, tmp_path / "fresh")


def test_an_index_that_has_not_changed_is_left_as_it_is(tmp_path, embedded_texts):
    build_index(CORPUS[:5], tmp_path / "i")
    embedded_texts.clear()
    stood = (tmp_path / "i").stat().st_ino
    assert build_index(CORPUS[4::-1], tmp_path / "i", update=True) == Changes(0, kept=5, unchanged=True)
    assert (tmp_path / "i").stat().st_ino == stood
    assert embedded_texts == []


def test_a_new_id_alone_embeds_nothing_and_still_changes_the_index(tmp_path):
    build_index(CORPUS[:3], tmp_path / "i")
    renamed = [dataclasses.replace(CORPUS[0], id="other", document="other"), *CORPUS[1:3]]
    assert build_index(renamed, tmp_path / "i", update=True) == Changes(0, kept=3)
    assert "other" in Index.load(tmp_path / "i")


def test_an_update_of_nothing_builds(tmp_path):
    assert len(Index.build(CORPUS[:3], tmp_path / "i", update=True)) == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"granularity": "sentence"}, "granularity passage instead of sentence"),
        ({"dtype": "bfloat16"}, "dtype float32 instead of bfloat16"),
    ],
)
def test_an_index_made_otherwise_is_not_updated(tmp_path, embedded_texts, options, said):
    build_index(CORPUS[:3], tmp_path / "i")
    embedded_texts.clear()
    with pytest.raises(UserError, match=f"{said}.*--rebuild"):
        build_index(CORPUS[:4], tmp_path / "i", update=True, **options)
    assert embedded_texts == []


def test_an_index_of_another_encoder_is_not_updated(tmp_path, copy_encoder):
    build_index(CORPUS[:3], tmp_path / "i")
    other = str(copy_encoder("c", pooling_mode_cls_token=True, pooling_mode_mean_tokens=False))
    with pytest.raises(UserError, match=r"encoder 'all-MiniLM-L6-v2' instead of .*--rebuild"):
        build_index(CORPUS[:3], tmp_path / "i", update=True, encoder=other)


def test_an_index_of_the_first_format_is_refused_by_name_and_its_vectors_are_kept(tmp_path, embedded_texts):
    build_index(CORPUS[:5], tmp_path / "i")
    manifest = tmp_path / "i" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"version": 2', '"version": 1'))
    with pytest.raises(UserError, match=r"index format 1.*--rebuild"):
        Index.load(tmp_path / "i")
    embedded_texts.clear()
    assert build_index(CORPUS[:5], tmp_path / "i", update=True) == Changes(0, kept=5)
    assert len(Index.load(tmp_path / "i", verify=True)) == 5
    assert embedded_texts == []


def test_vectors_that_were_damaged_are_not_kept(tmp_path):
    build_index(CORPUS[:5], tmp_path / "i")
    vectors = tmp_path / "i" / "vectors.npy"
    content = bytearray(vectors.read_bytes())
    content[-5] ^= 1
    vectors.write_bytes(content)
    with pytest.raises(UserError, match=r"vectors.npy.*--rebuild"):
        build_index(CORPUS[:6], tmp_path / "i", update=True)
    assert len(Index.build(CORPUS[:6], tmp_path / "i", overwrite=True)) == 6


STOPS_AFTER_A_BLOCK = """
import sys, time
from executionrag.retrievers import encoder
from executionrag.retrievers.building import build_index
from executionrag.retrievers.corpus import passages_from_rows
from executionrag.runs.benchmarks.minihop import MiniHop
encoder._BLOCK = 16
def progress(done, total):
    print(done, flush=True)
    if done >= 32: time.sleep(60)
build_index(passages_from_rows(MiniHop.corpus)[:40], sys.argv[1], progress=progress)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_killed_build_goes_on_where_it_ended(tmp_path, embedded_texts):
    process = subprocess.Popen(
        [sys.executable, "-c", STOPS_AFTER_A_BLOCK, str(tmp_path / "i")], stdout=subprocess.PIPE, text=True
    )
    assert [process.stdout.readline(), process.stdout.readline()] == ["16\n", "32\n"]
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert build_index(CORPUS, tmp_path / "i") == Changes(embedded=8, resumed=32)
    assert len(embedded_texts) == 8
    assert sorted(path.name for path in tmp_path.iterdir()) == ["i"]
    assert_equals_a_new_build(tmp_path / "i", CORPUS, tmp_path / "fresh")


def place_of(tmp_path, encoder="e" * 64, dtype="float32"):
    return EmbeddedPlace(tmp_path / "i", encoder, "torch", dtype)


def kept_in(place):
    return {
        digest: vector.tolist()
        for _, digests, vectors in place.finished()
        for digest, vector in zip(digests, vectors, strict=True)
    }


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, 3 * 52), flip=st.integers(0, 3 * 52 - 1))
def test_a_torn_or_damaged_record_is_left_out_and_no_other_ever_altered(tmp_path_factory, cut, flip):
    folder = tmp_path_factory.mktemp("torn")
    place = place_of(folder)
    vectors = np.arange(12, dtype=np.float32).reshape(3, 4)
    digests = [text_digest(name) for name in "abc"]
    place.append(digests, vectors)
    place.close()
    (file,) = place.folder.iterdir()
    content = bytearray(file.read_bytes())
    assert len(content) == 32 + 3 * 52
    content[32 + flip] ^= 255
    file.write_bytes(content[: 32 + cut])
    whole = {n for n in range(3) if (n + 1) * 52 <= cut and n != flip // 52}
    kept = kept_in(place_of(folder))
    kept.pop(b"", None)
    assert kept == {digests[n]: vectors[n].tolist() for n in whole}


def test_embeddings_of_another_encoder_or_dtype_never_mix(tmp_path):
    place = place_of(tmp_path)
    place.append([text_digest("a")], np.ones((1, 4), dtype=np.float32))
    place.close()
    assert kept_in(place_of(tmp_path)) == {text_digest("a"): [1, 1, 1, 1]}
    assert kept_in(place_of(tmp_path, encoder="f" * 64)) == {}
    assert kept_in(place_of(tmp_path, dtype="bfloat16")) == {}


@pytest.mark.skipif(sys.platform == "win32", reason="no locks")
def test_what_another_build_appends_to_stays(tmp_path):
    one, other = place_of(tmp_path), place_of(tmp_path)
    one.append([text_digest("a")], np.ones((1, 4), dtype=np.float32))
    other.append([text_digest("b")], np.ones((1, 4), dtype=np.float32))
    one.remove()
    assert set(kept_in(other)) == {text_digest("b")}
    other.append([text_digest("c")], np.ones((1, 4), dtype=np.float32))
    assert len(other.vectors()) == 2
    other.remove()
    assert not other.folder.exists()


def test_a_disk_that_fills_keeps_what_is_embedded(tmp_path, monkeypatch):
    from executionrag.retrievers import encoder

    monkeypatch.setattr(encoder, "_BLOCK", 8)
    written = []

    def write(handle, content):
        written.append(len(content))
        if len(written) > 3:
            os.write(handle, bytes(content)[:100])
            raise OSError(28, "No space left on device")
        os.write(handle, content)

    monkeypatch.setattr(embedded, "_write", write)
    with pytest.raises(DiskFull, match=r"no room.*run again.*kept in .*i\.embedded") as error:
        build_index(CORPUS, tmp_path / "i")
    assert "\n" not in str(error.value)
    monkeypatch.undo()
    assert build_index(CORPUS, tmp_path / "i") == Changes(embedded=24, resumed=16)


def test_a_disk_that_fills_once_all_is_embedded_says_each_time_that_it_is_kept(tmp_path, monkeypatch):
    def full(known, file):
        raise DiskFull(f"{file}: no room")

    monkeypatch.setattr(KnownVectors, "write", full)
    for _ in range(2):  # the second one has nothing left to embed
        with pytest.raises(DiskFull, match=r"kept in .*i\.embedded"):
            build_index(CORPUS[:3], tmp_path / "i")
    monkeypatch.undo()
    assert build_index(CORPUS[:3], tmp_path / "i") == Changes(embedded=0, resumed=3)


@pytest.mark.parametrize(
    ("which", "said"),
    [
        ("available_memory", "GB of memory, and 1.0 kB"),
        ("free_disk", "kB of disk, and 1.0 kB are free; free some space"),
    ],
)
def test_too_little_room_is_refused_before_anything_is_embedded(tmp_path, monkeypatch, which, said):
    monkeypatch.setattr(needs, which, lambda *_: 1_000)
    monkeypatch.setattr(Encoder, "encode_blocks", lambda *_, **__: pytest.fail("embeds"))
    with pytest.raises(UserError, match=said):
        build_index(CORPUS[:3], tmp_path / "i")
    assert list(tmp_path.iterdir()) == []


def test_a_graph_that_does_not_fit_names_the_flat_search_that_does(tmp_path, monkeypatch):
    monkeypatch.setattr(needs, "_LINKS", 10**9)  # as of a corpus much greater
    monkeypatch.setattr(needs, "available_memory", lambda: 2 * 10**9)
    with pytest.raises(UserError, match="give --dense flat"):
        build_index(CORPUS[:3], tmp_path / "i", dense_kind="hnsw")


def test_an_alternative_that_does_not_fit_either_is_not_named(tmp_path, monkeypatch):
    monkeypatch.setattr(needs, "available_memory", lambda: 1_000)
    with pytest.raises(UserError, match="index a smaller corpus") as error:
        build_index(CORPUS[:3], tmp_path / "i", dense_kind="hnsw")
    assert "flat" not in str(error.value)


def test_updating_and_overwriting_exclude_one_another(tmp_path):
    with pytest.raises(UserError, match="not both"):
        build_index(CORPUS[:3], tmp_path / "i", update=True, overwrite=True)
