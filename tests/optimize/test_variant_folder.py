import json
from pathlib import Path

import pytest

from executionrag.errors import UserError
from executionrag.optimize.variant import bare_program, load_variant, save_variant
from executionrag.program.prompts import render_prompts

SNAPSHOT = Path(__file__).parent / "snapshot"


def test_the_baseline_prompts_are_those_of_the_snapshot():
    """A prompt that is changed on purpose is written anew: the test says what it reads where a file is missing."""
    prompts = render_prompts(bare_program("executionrag"))
    assert {file.stem for file in SNAPSHOT.glob("*.txt")} == prompts.keys()
    for name, prompt in prompts.items():
        assert prompt == (SNAPSHOT / f"{name}.txt").read_text(encoding="utf-8"), name


def test_the_baseline_has_no_file_and_changes_nothing():
    program = bare_program("executionrag")
    before = render_prompts(program)
    baseline = load_variant("baseline")
    baseline.apply(program)
    assert (baseline.digest, render_prompts(program)) == ("", before)


@pytest.fixture
def saved(tmp_path):
    program = bare_program("executionrag")
    program.select.signature = program.select.signature.with_instructions("Take ``` the first.")
    save_variant(tmp_path / "v", program, {"system": "executionrag", "optimizer": "gepa"})
    return tmp_path / "v"


def test_the_readme_shows_every_step_and_a_fence_that_its_prompt_cannot_close(saved):
    text = (saved / "README.md").read_text()
    assert all(f"## {name} (" in text for name in render_prompts(bare_program("executionrag")))
    assert "````text" in text


def damage_json(folder):
    (folder / "program.json").write_text('{"select": ')


def damage_step(folder):
    (folder / "program.json").write_text('{"select": {"demos": []}}')


def damage_list(folder):
    (folder / "program.json").write_text("[]")


def change(folder):
    state = json.loads((folder / "program.json").read_text())
    state["select"]["signature"]["instructions"] = "Something else."
    (folder / "program.json").write_text(json.dumps(state))


def remove(folder):
    (folder / "variant.json").unlink()


@pytest.mark.parametrize("damage", [damage_json, damage_step, damage_list, change, remove])
def test_a_damaged_or_foreign_folder_is_one_line(saved, damage):
    damage(saved)
    with pytest.raises(UserError) as told:
        load_variant(saved)
    assert "\n" not in str(told.value)


def test_a_variant_of_another_system_is_refused(saved):
    with pytest.raises(UserError, match="of another system"):
        load_variant(saved).apply(bare_program("direct"))
