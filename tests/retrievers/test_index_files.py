"""An index on disk: damage is named, nothing half written is left, and no folder of another's is touched."""

import dataclasses
import json
import shutil
import subprocess
import sys

import pytest

from executionrag.errors import UserError
from executionrag.retrievers import building
from executionrag.retrievers.corpus import passages_from_rows
from executionrag.retrievers.index import Index

TINY = passages_from_rows([("a", "A", "Alpha text."), ("b", "B", "Beta text.")])


@pytest.fixture
def copied(passage_index, tmp_path):
    shutil.copytree(passage_index.path, tmp_path / "copy")
    return tmp_path / "copy"


def leftovers(folder):
    return sorted(path.name for path in folder.iterdir())


FILES = [
    "passages.jsonl",
    "offsets.npy",
    "documents.npy",
    "vectors.npy",
    "keyword/data.csc.index.npy",
    "keyword/tokens.npy",
    "keyword/token_ids.npy",
    "manifest.json",
]


@pytest.mark.parametrize("name", FILES)
def test_a_truncated_file_is_named_with_the_remedy(copied, name):
    content = (copied / name).read_bytes()
    (copied / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(UserError, match=f"{name}.*damaged.*build it again") as error:
        Index.load(copied)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", FILES[:-1])
def test_a_missing_file_and_one_of_garbage_are_named(copied, name):
    size = (copied / name).stat().st_size
    (copied / name).write_bytes(b"\x80" * size)
    with pytest.raises(UserError, match=f"{name}.*damaged"):
        Index.load(copied, verify=True)
    (copied / name).unlink()
    with pytest.raises(UserError, match=f"{name}.*it is missing"):
        Index.load(copied)


@pytest.mark.parametrize("name", FILES[:-1])
def test_garbage_that_only_reading_shows_is_still_a_user_error(copied, name):
    """Large files are not hashed at load: what they hold must not raise anything else."""
    (copied / name).write_bytes(b"\x80garbage")
    manifest = json.loads((copied / "manifest.json").read_text())
    manifest["files"][name] = {"bytes": 8, "sha256": __import__("hashlib").sha256(b"\x80garbage").hexdigest()}
    (copied / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(UserError, match="damaged"):
        Index.load(copied)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": 999}, "index format 999"),
        ({"format": "other"}, "not an index"),
        ({"passages": 3}, "do not belong together"),
        ({"granularity": "word"}, "do not agree"),
        ({"encoder_digest": "0" * 64}, "do not agree"),
        ({"extra": 1}, "missing or of another kind"),
        ({"files": {"../x": {"bytes": 1, "sha256": ""}}}, "do not agree"),
    ],
)
def test_a_manifest_that_was_tampered_with_is_refused(copied, change, said):
    manifest = json.loads((copied / "manifest.json").read_text())
    (copied / "manifest.json").write_text(json.dumps(manifest | change))
    with pytest.raises(UserError, match=said):
        Index.load(copied)


def test_what_is_no_index_is_refused(tmp_path):
    with pytest.raises(UserError, match="no such index folder"):
        Index.load(tmp_path / "none")
    with pytest.raises(UserError, match=r"not an index \(no manifest"):
        Index.load(tmp_path)


def test_nothing_in_an_index_is_pickled(passage_index, sentence_index):
    for index in (passage_index, sentence_index):
        names = {path.suffix for path in index.path.rglob("*") if path.is_file()}
        assert names <= {".json", ".jsonl", ".npy"}
        for path in index.path.rglob("*.npy"):
            assert b"|O" not in path.read_bytes()[:128]


def test_an_existing_folder_is_left_alone_unless_it_is_empty_or_an_index_to_overwrite(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    for overwrite in (False, True):
        with pytest.raises(UserError, match="no index; it is left alone"):
            Index.build(TINY, tmp_path / "mine", overwrite=overwrite)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "precious"
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match="no folder"):
        Index.build(TINY, tmp_path / "file", overwrite=True)
    (tmp_path / "empty").mkdir()
    assert len(Index.build(TINY, tmp_path / "empty")) == 2
    with pytest.raises(UserError, match="an index stands there already"):
        Index.build(TINY, tmp_path / "empty")
    assert len(Index.build(TINY[:1], tmp_path / "empty", overwrite=True)) == 1
    assert leftovers(tmp_path) == ["empty", "file", "mine"]


def test_an_open_index_goes_on_answering_while_it_is_replaced(tmp_path):
    index = Index.build(TINY, tmp_path / "i")
    Index.build(TINY[:1], tmp_path / "i", overwrite=True)
    assert index.passage("b").text == "Beta text."
    assert [match.passage_id for match in index.keyword_search("beta", 1)] == ["b"]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError, MemoryError])
def test_nothing_half_written_is_left_whatever_stops_the_build(tmp_path, stop):
    def interrupted(done, total):
        raise stop

    with pytest.raises(stop):
        Index.build(TINY, tmp_path / "i", progress=interrupted)
    assert leftovers(tmp_path) == ["i.embedded"]
    old = Index.build(TINY, tmp_path / "i")
    with pytest.raises(stop):
        Index.build(TINY[:1], tmp_path / "i", overwrite=True, progress=interrupted)
    assert leftovers(tmp_path) == ["i", "i.embedded"]
    assert Index.load(tmp_path / "i", verify=True).digest == old.digest


@pytest.mark.skipif(sys.platform == "win32", reason="no file size limit to set")
@pytest.mark.parametrize("limit", [100, 20_000, 300_000])
def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path, limit):
    """The limit strikes the passages, the inverted index and the vectors in turn."""
    code = f"""
import resource, numpy
from pathlib import Path
from executionrag.errors import UserError
from executionrag.retrievers import building, index
from executionrag.retrievers.passage import Passage
class Encoder:
    digest = "d"
    folder = Path("none")
    def encode_blocks(self, texts, **_): yield list(range(len(texts))), numpy.ones((len(texts), 384), dtype="float32")
building.get_encoder = lambda name: Encoder()
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
passages = [Passage(str(n), "", f"word{{n}} and thing{{n}}", str(n), 0) for n in range(400 if {limit} > 100 else 9)]
try:
    index.Index.build(passages, Path({str(tmp_path / "i")!r}))
except UserError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "no room to write the index" in run.stdout
    assert len(run.stdout.splitlines()) == 1
    assert leftovers(tmp_path) == []


def test_a_place_that_cannot_be_written_is_a_user_error(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match="cannot be written"):
        Index.build(TINY, tmp_path / "file" / "inside")


@pytest.mark.parametrize(
    ("passages", "said"),
    [
        ([], "empty"),
        ([TINY[0], TINY[0]], "'a' is used more than once"),
        ([dataclasses.replace(TINY[0], text=" ")], "'a' has no text"),
        ([dataclasses.replace(TINY[0], id="")], "blank id"),
    ],
)
def test_a_corpus_that_cannot_be_indexed_is_refused_before_the_encoder_is_asked(tmp_path, monkeypatch, passages, said):
    monkeypatch.setattr(building, "get_encoder", lambda *_: pytest.fail("asked for the encoder"))
    with pytest.raises(UserError, match=said):
        Index.build(passages, tmp_path / "i")


def test_a_folder_whose_manifest_is_broken_is_left_alone_and_says_what_to_do(tmp_path):
    index = Index.build(TINY[:1], tmp_path / "i").path
    (index / "manifest.json").write_text("{")
    with pytest.raises(UserError, match=r"left alone; remove the folder, or give another place$"):
        Index.build(TINY[:1], index, overwrite=True)
    assert (index / "manifest.json").read_text() == "{"
