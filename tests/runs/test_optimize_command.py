import json

import pytest

from executionrag.errors import UserError
from executionrag.optimize.variant import bare_program, load_variant, save_variant
from executionrag.runs.benchmarks.load import load_benchmark
from executionrag.runs.cli import main
from executionrag.runs.training import Training


@pytest.fixture(scope="session")
def whole_minihop(tmp_path_factory):
    from executionrag import Index, MiniHop
    from executionrag.retrievers.corpus import passages_from_rows

    return Index.build(passages_from_rows(MiniHop.corpus), tmp_path_factory.mktemp("train") / "index").path


@pytest.fixture
def lm(command_line, lm_stub):
    return ["--lm", "openai/local-model", "--api-base", f"{lm_stub.root}/v1", "--threads", "1"]


def optimize(index, out, *more):
    parts = ["--train", "2", "--validation", "2", "--max-loops", "1"]
    return main(["optimize", "--benchmark", "minihop", "--index", str(index), "--out", str(out), *parts, *more])


def test_an_lm_that_gives_nothing_to_learn_leaves_a_variant_that_says_so(lm, whole_minihop, tmp_path, capsys):
    assert optimize(whole_minihop, tmp_path / "v", "--optimizer", "bootstrap", *lm) == 0
    told = json.loads((tmp_path / "v" / "variant.json").read_text())
    assert (told["improved"], told["changed"], told["complete"]) == ("no", False, True)
    assert len(told["train_ids"]) == len(told["validation_ids"]) == 2
    assert not set(told["train_ids"]) & set(told["validation_ids"])
    assert "improved: no" in capsys.readouterr().out
    for file in (tmp_path / "v").iterdir():
        assert "127.0.0.1" not in file.read_text(), file
    assert optimize(whole_minihop, tmp_path / "v", "--optimizer", "bootstrap", *lm) == 1
    assert "holds a variant already" in capsys.readouterr().err


def test_a_variant_is_evaluated_under_its_digest_and_the_baseline_under_none(lm, whole_minihop, tmp_path, capsys):
    program = bare_program("executionrag")
    program.select.signature = program.select.signature.with_instructions("Take the first.")
    save_variant(tmp_path / "v", program, {"system": "executionrag"})
    line = [
        "evaluate",
        "--benchmark",
        "minihop",
        "--index",
        str(whole_minihop),
        "--limit",
        "1",
        "--max-loops",
        "1",
        *lm,
    ]
    for name, digest in ((str(tmp_path / "v"), load_variant(tmp_path / "v").digest), ("baseline", "")):
        out = tmp_path / f"run-{digest}"
        main([*line, "--max-loops", "1", "--out", str(out), "--variant", name])
        assert json.loads((out / "run.json").read_text())["settings"]["variant"] == digest
    assert "executionrag · variant v ·" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("provenance", "said"),
    [
        ({"system": "a-rag"}, "its prompts are of a-rag"),
        ({"system": "executionrag", "train_ids": [load_benchmark("minihop").dev[0].id]}, "was optimised on 1 of the"),
    ],
)
def test_a_variant_that_cannot_be_measured_here_is_one_line(lm, whole_minihop, tmp_path, capsys, provenance, said):
    save_variant(tmp_path / "v", bare_program("executionrag"), provenance)
    line = ["evaluate", "--benchmark", "minihop", "--index", str(whole_minihop), "--limit", "1", *lm]
    assert main([*line, "--out", str(tmp_path / "run"), "--variant", str(tmp_path / "v")]) == 1
    assert said in capsys.readouterr().err


def test_variants_are_listed_shown_and_told_apart(command_line, tmp_path, capsys):
    program = bare_program("executionrag")
    program.select.signature = program.select.signature.with_instructions("Take the first.")
    save_variant(tmp_path / "variants" / "first", program, {"system": "executionrag", "optimizer": "gepa"})
    assert main(["variants"]) == 0
    assert "first executionrag · gepa" in capsys.readouterr().out
    assert main(["variants", "show", "first"]) == 0
    assert "Take the first." in capsys.readouterr().out
    assert main(["variants", "diff", "baseline", "first"]) == 0
    told = capsys.readouterr().out
    assert "+++ first/select" in told
    assert "first/answer" not in told
    assert main(["variants", "show", "nothing"]) == 1


def test_a_benchmark_without_a_train_split_is_refused(whole_minihop, tmp_path):
    row = {
        "id": "1",
        "question": "q?",
        "answer": "a",
        "answer_aliases": [],
        "answerable": True,
        "paragraphs": [{"idx": 0, "title": "t", "paragraph_text": "x", "is_supporting": True}],
        "question_decomposition": [{"id": 1, "question": "q?", "answer": "a", "paragraph_support_idx": 0}],
    }
    for name in ("dev.jsonl", "train.jsonl"):
        (tmp_path / name).write_text(json.dumps(row) + "\n")
    parts = {"train": None, "validation": 0, "seed": 0}
    with pytest.raises(UserError, match="no train split"):
        Training.load(f"musique:{tmp_path / 'dev.jsonl'}", whole_minihop, **parts)
    train = f"musique:{tmp_path / 'train.jsonl'}"
    with pytest.raises(UserError, match="also in the split that is measured on"):
        Training.load(train, whole_minihop, **parts, measured_on=f"musique:{tmp_path / 'dev.jsonl'}")
    with pytest.raises(UserError, match="are not in it"):
        Training.load(f"musique:{tmp_path / 'train.jsonl'}", whole_minihop, **parts)


def test_what_is_held_out_depends_on_the_seed_and_not_on_how_many_train(whole_minihop):
    few, many, other = (
        Training.load("minihop", whole_minihop, train=train, validation=4, seed=seed)
        for train, seed in ((2, 0), (8, 0), (8, 1))
    )
    held_out = [[example["id"] for example in one.validation] for one in (few, many, other)]
    assert held_out[0] == held_out[1] != held_out[2]
    assert all(example["gold_ids"] for example in many.train)
