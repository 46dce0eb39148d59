"""Temporary folders of killed processes are removed by the next build at the same place; nobody else's are touched."""

import signal
import subprocess
import sys

import pytest

from executionrag.retrievers.files import replacing
from executionrag.retrievers.temporaries import locked, remove_stale, temporary_beside

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="what is stale cannot be told there")

WRITES_AND_WAITS = """
import sys, time
from pathlib import Path
from executionrag.retrievers.files import replacing
with replacing(Path(sys.argv[1])) as folder:
    (folder / "half").write_text("written")
    print("writing", flush=True)
    time.sleep(60)
"""
MAKES_AND_LEAVES = """
import sys
from pathlib import Path
from executionrag.retrievers.temporaries import temporary_beside
folder = temporary_beside(Path(sys.argv[1]), sys.argv[2])
folder.mkdir()
(folder / "file").write_text("left")
"""


def writer(place):
    process = subprocess.Popen([sys.executable, "-c", WRITES_AND_WAITS, str(place)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "writing\n"
    return process


def left_by_another(place, ending):
    subprocess.run([sys.executable, "-c", MAKES_AND_LEAVES, str(place), ending], check=True)


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.communicate()


def build(place):
    with replacing(place) as folder:
        (folder / "whole").write_text("x")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_a_killed_build_left_is_removed_by_the_next_one_at_the_same_place(tmp_path):
    kill(writer(tmp_path / "idx"))
    assert len(names(tmp_path)) == 1
    build(tmp_path / "other")
    assert len(names(tmp_path)) == 2
    build(tmp_path / "idx")
    assert names(tmp_path) == ["idx", "other"]


def test_the_folder_of_a_living_process_is_never_removed(tmp_path):
    process = writer(tmp_path / "idx")
    try:
        (temporary,) = names(tmp_path)
        build(tmp_path / "idx")
        assert names(tmp_path) == [temporary, "idx"]
        assert names(tmp_path / temporary) == ["half"]
    finally:
        kill(process)


def test_this_processes_own_temporaries_stay_too(tmp_path):
    with replacing(tmp_path / "idx") as first:
        build(tmp_path / "idx")
        assert first.is_dir()


def test_a_folder_that_is_locked_stays_though_its_process_number_is_gone(tmp_path):
    left_by_another(tmp_path / "idx", "tmp")
    (folder,) = tmp_path.iterdir()
    with locked(folder) as held:
        assert held
        remove_stale(tmp_path / "idx", "tmp")
        assert folder.is_dir()
    remove_stale(tmp_path / "idx", "tmp")
    assert names(tmp_path) == []


def test_another_machines_and_unlike_names_stay(tmp_path):
    left_by_another(tmp_path / "idx", "tmp")
    (mine,) = tmp_path.iterdir()
    machine = mine.name.split(".")[2].split("-")[0]
    elsewhere = mine.name.replace(machine, "0" * 8)
    others = [elsewhere, ".idx.0a1b2c3d.tmp", mine.name + "x", mine.name[1:], mine.name.replace(".idx.", ".idx2.")]
    for name in others:
        (tmp_path / name).mkdir()
    mine.with_name(mine.name.replace(".tmp", ".old")).write_text("a file")
    kept = set(names(tmp_path)) - {mine.name}
    remove_stale(tmp_path / "idx", "tmp")
    remove_stale(tmp_path / "idx", "old")
    assert set(names(tmp_path)) == kept


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "precious").mkdir()
    left_by_another(tmp_path / "idx", "tmp")
    folder = next(path for path in tmp_path.iterdir() if path.name != "precious")
    (folder / "file").unlink()
    folder.rmdir()
    folder.symlink_to(tmp_path / "precious")
    remove_stale(tmp_path / "idx", "tmp")
    assert (tmp_path / "precious").is_dir()
    assert folder.is_symlink()


def test_a_former_index_set_aside_goes_only_once_a_new_one_stands(tmp_path):
    left_by_another(tmp_path / "idx", "old")
    with pytest.raises(RuntimeError), replacing(tmp_path / "idx"):
        raise RuntimeError
    assert len(names(tmp_path)) == 1
    build(tmp_path / "idx")
    assert names(tmp_path) == ["idx"]


@pytest.mark.parametrize("name", ["a[1]*", "x" * 150, "ünï"])
def test_any_folder_name_will_do(tmp_path, name):
    left_by_another(tmp_path / name, "tmp")
    assert temporary_beside(tmp_path / name, "tmp").parent == tmp_path
    remove_stale(tmp_path / name, "tmp")
    assert names(tmp_path) == []
