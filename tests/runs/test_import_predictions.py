"""Others' predictions become a run folder that every command takes; bad files are refused and leave nothing behind."""

import json

import pytest

from executionrag.metrics.record import Failure
from executionrag.program.trajectory import SearchStep
from executionrag.runs.cli import main
from executionrag.runs.run_folder import RunFolder
from executionrag.runs.scored_run import ScoredRun

QUESTIONS = [
    ("q1", "Who is the mother of the composer of The Salt Choir?", "Bettina Moore", ["Ana Kell", "The Salt Choir"]),
    ("q2", "Where was Bettina Moore born?", "Tarn Hollow", ["Bettina Moore"]),
    ("q3", "Who composed The Quiet Mill?", "Joren Pask", ["The Quiet Mill"]),
    ("q4", "On which sea lies Tarn Hollow?", "Vessel Sea", ["Tarn Hollow"]),
]


@pytest.fixture
def bring(tmp_path, small_index, capsys):
    """`bring(rows, *options)` -> (exit code, stdout, stderr) of importing rows (or a text) as the documented JSONL."""
    (tmp_path / "q.jsonl").write_text(
        "".join(
            json.dumps({"_id": key, "question": asked, "answer": answer, "type": "bridge", "supporting_titles": gold})
            + "\n"
            for key, asked, answer, gold in QUESTIONS
        )
    )

    def call(rows, *options):
        file = tmp_path / "preds.jsonl"
        file.write_text(rows if isinstance(rows, str) else "".join(json.dumps(row) + "\n" for row in rows))
        line = ["import-predictions", str(file), "--layout", "jsonl", "--benchmark", f"2wiki:{tmp_path / 'q.jsonl'}"]
        code = main([*line, "--index", str(small_index.path), "--out", str(tmp_path / "run"), *options])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def imported(bring, tmp_path):
    """`imported(rows, ...)` -> the scored run, by question."""

    def call(rows, *options):
        code, _, err = bring(rows, *options)
        assert code == 0, err
        run = ScoredRun.open(tmp_path / "run")
        return {record.id: (record, score) for record, score in zip(run.records, run.scores, strict=True)}

    return call


def test_a_full_row_keeps_everything_that_it_says(imported, tmp_path, small_index):
    row = {
        "id": "q1",
        "answer": " Bettina Moore ",
        "explanation": "Ana Kell's mother.",
        "stop_reason": "resolved",
        "searches": [
            {"tool": "semantic_search", "query": "composer", "found": ["salt", "ana"], "loop": 0},
            {"tool": "read_chunk", "query": "ana", "found": ["ana", "bettina"]},
        ],
        "retrieved": ["salt", "ana", "bettina", "tarn"],
        "cost": 1,
        "prompt_tokens": 900,
        "completion_tokens": 80,
        "llm_calls": 3,
        "seconds": 4.5,
    }
    record, score = imported([row])["q1"]
    assert (record.answer, record.explanation, record.stop_reason) == (
        "Bettina Moore",
        "Ana Kell's mother.",
        "resolved",
    )
    assert record.retrieved_ids == ("salt", "ana", "bettina", "tarn")
    came = {one.passage_id: (one.loop, one.tool, one.query, one.rank) for one in record.retrieved}
    assert came["ana"] == (0, "semantic_search", "composer", 2)
    assert came["bettina"] == (2, "read_passages", "ana", 2)
    assert came["tarn"][1] == "imported"
    usage = record.usage
    assert (usage.cost, usage.prompt_tokens, usage.completion_tokens, usage.calls) == (1.0, 900, 80, 3)
    assert usage.seconds == 4.5
    assert (score.right, score.recall) == (True, 1.0)
    folder = RunFolder.open(tmp_path / "run")
    assert set(folder.passages()) == {"salt", "ana", "bettina", "tarn"}
    assert folder.header["imported"] == {"file": "preds.jsonl", "layout": "jsonl", "rows": 1}
    assert str(tmp_path) not in json.dumps(folder.settings)


def test_what_is_not_known_is_left_out_of_the_settings_and_a_price_is_unknown(imported, tmp_path, small_index):
    record, _ = imported([{"id": "q2", "answer": "Tarn Hollow"}])["q2"]
    assert record.usage.cost is None
    settings = RunFolder.open(tmp_path / "run").settings
    assert settings["mapped_index_digest"] == small_index.digest
    for name in ("k", "index_digest", "encoder", "temperature", "max_loops", "max_context_tokens", "deduplicate"):
        assert name not in settings


def test_who_searched_this_index_says_its_k(imported, tmp_path, small_index):
    imported([{"id": "q2", "answer": "Tarn Hollow"}], "--k", "5", "--lm", "openai/x", "--system", "theirs")
    settings = RunFolder.open(tmp_path / "run").settings
    assert (settings["k"], settings["index_digest"], settings["lm"]) == (5, small_index.digest, "openai/x")
    assert settings["system"] == "theirs"


def test_a_question_is_known_by_its_text_too_and_rows_take_the_benchmarks_order(imported):
    rows = [{"question": "who composed THE QUIET MILL", "answer": "x"}, {"id": "q1", "answer": "y"}]
    assert list(imported(rows)) == ["q1", "q3"]


def test_texts_are_found_as_gold_is_and_those_that_fit_nothing_are_counted(bring, tmp_path):
    texts = [
        "Ana Kell was a composer.  Her mother was the glassblower Bettina Moore.",
        "Tarn Hollow\nTarn Hollow is a harbour town on the Vessel Sea, known for its blue lighthouse.",
        {"title": "Joren Pask", "text": "Joren Pask was a composer of comic operas and a keen beekeeper."},
        "A text of another corpus.",
    ]
    code, out, err = bring([{"id": "q1", "answer": "x", "retrieved": texts}], "--retrieved-are", "texts")
    assert code == 0
    (record,) = RunFolder.open(tmp_path / "run").records()
    assert record.retrieved_ids == ("ana", "tarn", "joren")
    assert "3 of 4 passages are in the index" in " ".join(out.split())
    assert "warning: 1 retrieved passage not in the index and left out (the first: 'A text of another corpus.')" in err


def test_a_blank_answer_gives_up_and_so_do_words_that_do(imported):
    rows = [
        {"id": "q1", "answer": "  "},
        {"id": "q2", "answer": None},
        {"id": "q3", "answer": "I could not find the composer."},
        {"id": "q4", "answer": "the Vessel Sea, perhaps", "abstained": True},
    ]
    made = imported(rows)
    assert {score.category for _, score in made.values()} == {"Gave Up"}
    assert [record.abstained for record, _ in made.values()] == [True, True, False, True]
    assert (made["q4"][0].answer, made["q4"][0].explanation) == ("", "the Vessel Sea, perhaps")


def test_errors_are_failed_rows_that_keep_what_was_retrieved(bring, tmp_path):
    rows = [
        {"id": "q1", "answer": "Error: Maximum loops exceeded and failed", "retrieved": ["salt"], "cost": 0},
        {"id": "q2", "answer": "", "error": "boom"},
        {"id": "q3", "answer": "", "stop_reason": "lm_error"},
        {"id": "q4", "answer": "Vessel Sea"},
    ]
    code, out, _ = bring(rows)
    run = ScoredRun.open(tmp_path / "run")
    assert code == 0
    assert [score.category for score in run.scores] == ["Not scored"] * 3 + [None]
    first = run.records[0]
    assert first.failure == Failure(error="DisguisedError", step="answer", message=rows[0]["answer"])
    assert (first.answer, first.retrieved_ids, first.usage.cost) == ("", ("salt",), None)
    assert "1 answered, 0 without an answer, 3 failed" in out
    assert "1 of the failed are errors in disguise (the first: q1, “Error: …”)" in " ".join(out.split())


def test_missing_questions_and_unread_fields_are_said_and_the_denominator_is_the_file(bring, tmp_path):
    code, _, err = bring([{"id": "q1", "answer": "x", "retreived": ["ana"]}])
    assert code == 0
    assert "3 questions of 2WikiMultiHopQA not in the file; the denominator is what is in it" in err
    assert "fields that are not read: retreived" in err
    assert RunFolder.open(tmp_path / "run").question_ids == ["q1"]


BAD = {
    "torn": ('{"id": "q1", "answer": "x"}\n{"id": "q2", "ans', "preds.jsonl:2: no valid JSON"),
    "empty": ("", "preds.jsonl: the file has no"),
    "no object": ("[1]\n", "no JSON object"),
    "no answer": ([{"id": "q1"}], "preds.jsonl:1: field `answer`: is missing"),
    "answer no text": ([{"id": "q1", "answer": 7}], "preds.jsonl:1: field `answer`:"),
    "retrieved no list": ([{"id": "q1", "answer": "x", "retrieved": "ana"}], "preds.jsonl:1: field `retrieved`"),
    "negative cost": ([{"id": "q1", "answer": "x", "cost": -1}], "preds.jsonl:1: field `cost`"),
    "search without query": ([{"id": "q1", "answer": "x", "searches": [{"tool": "t"}]}], "field `searches.0.query`"),
    "unknown stop": ([{"id": "q1", "answer": "x", "stop_reason": "tired"}], "'tired' is none of answered, resolved"),
    "titles as ids": ([{"id": "q1", "answer": "x", "retrieved": [{"text": "t"}]}], "--retrieved-are texts"),
    "nameless": ([{"answer": "x"}], "preds.jsonl:1: neither an id nor the question's text"),
    "foreign": ([{"id": "q1", "answer": "x"}, {"id": "z", "answer": "x"}], "preds.jsonl:2: id 'z' is of no question"),
    "foreign text": ([{"question": "Who?", "answer": "x"}], "question 'Who?' is of no question"),
    "another question": ([{"id": "q1", "question": "Who?", "answer": "x"}], "'q1' is another one in the benchmark"),
    "twice": ([{"id": "q1", "answer": "x"}, {"id": "q1", "answer": "y"}], "preds.jsonl:2: question 'q1' has a predict"),
    "twice by text": (
        [{"id": "q3", "answer": "x"}, {"question": QUESTIONS[2][1], "answer": "y"}],
        "has a prediction already, at",
    ),
    "foreign passages": ([{"id": "q1", "answer": "x", "retrieved": ["7"]}], "none of the 1 retrieved passage ids"),
}


@pytest.mark.parametrize(("rows", "said"), BAD.values(), ids=BAD)
def test_a_bad_file_is_one_line_that_names_the_place_and_leaves_nothing(bring, tmp_path, rows, said):
    code, _, err = bring(rows)
    assert code == 1
    (line,) = [one for one in err.splitlines() if one.startswith("error:")]
    assert said in line
    assert sorted(one.name for one in tmp_path.iterdir()) == ["preds.jsonl", "q.jsonl"]


def test_a_search_beyond_the_k_that_is_named_is_refused(bring, tmp_path, small_index):
    found = [passage.id for passage in small_index.passages][:4]
    rows = [{"id": "q1", "answer": "x", "searches": [{"tool": "keyword_search", "query": "salt", "found": found}]}]
    code, _, err = bring(rows, "--k", "3")
    assert code == 1
    assert "--k 3: a search of question q1 found 4 passages" in err
    assert not (tmp_path / "run").exists()
    assert bring(rows, "--k", "4")[0] == 0


def test_a_number_beyond_all_measure_is_one_line_with_its_field(bring, tmp_path):
    code, _, err = bring('{"id": "q1", "answer": "x", "cost": 1' + "0" * 400 + "}\n")
    assert code == 1
    assert "preds.jsonl:1" in err
    assert "cost" in err
    assert not (tmp_path / "run").exists()


def test_two_questions_of_one_text_need_ids(bring, tmp_path):
    twin = {"_id": "q9", "question": QUESTIONS[0][1], "answer": "a", "type": "b", "supporting_titles": ["Ana Kell"]}
    with (tmp_path / "q.jsonl").open("a") as file:
        file.write(json.dumps(twin) + "\n")
    code, _, err = bring([{"question": QUESTIONS[0][1], "answer": "x"}])
    assert code == 1
    assert "2 questions have this text (q1, q9); give their ids" in err


def test_a_place_that_exists_is_left_alone(bring, tmp_path):
    (tmp_path / "run").mkdir()
    code, _, err = bring([{"id": "q1", "answer": "x"}])
    assert code == 1
    assert "exists and is left alone" in err
    assert list((tmp_path / "run").iterdir()) == []


def test_a_full_disk_leaves_nothing(bring, tmp_path, monkeypatch):
    real = RunFolder.append

    def append(self, record, passages):
        if record.id == "q2":
            raise OSError(28, "No space left on device")
        real(self, record, passages)

    monkeypatch.setattr(RunFolder, "append", append)
    code, _, err = bring([{"id": "q1", "answer": "x"}, {"id": "q2", "answer": "x"}])
    assert code == 1
    assert "run: cannot be written (No space left on device)" in err
    assert sorted(one.name for one in tmp_path.iterdir()) == ["preds.jsonl", "q.jsonl"]


def test_a_name_of_our_own_systems_is_refused(bring):
    code, _, err = bring([{"id": "q1", "answer": "x"}], "--system", "a-rag")
    assert code == 2
    assert "a system of this program has that name" in err


def test_the_other_commands_take_the_run(bring, tmp_path, capsys):
    rows = [{"id": "q1", "answer": "nobody", "retrieved": ["salt"]}, {"id": "q2", "answer": "Tarn Hollow"}]
    run = str(tmp_path / "run")
    assert bring(rows)[0] == 0
    assert main(["failures", run, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["categories"]["Missing Evidence"] == 1
    assert made["failures"][0]["not_retrieved"][0]["passage_id"] == "ana"
    assert main(["report", run]) == 0
    assert (tmp_path / "run" / "report.html").is_file()
    other = tmp_path / "other"
    (tmp_path / "run").rename(other)
    assert bring(rows)[0] == 0
    capsys.readouterr()
    assert main(["compare", run, str(other)]) == 1
    assert "k unknown in both" in capsys.readouterr().err
    assert main(["compare", run, str(other), "--force"]) == 0
    assert "index unknown in a run" in capsys.readouterr().out


def test_an_imported_run_is_judged_and_what_gave_none_is_wrong_unasked(bring, tmp_path, lm_stub, command_line, capsys):
    lm_stub.reply = "[[ ## reasoning ## ]]\nSo.\n\n[[ ## verdict ## ]]\nwrong\n\n[[ ## completed ## ]]"
    assert bring([{"id": "q1", "answer": "Bettina Moore"}, {"id": "q2", "answer": ""}])[0] == 0
    line = ["judge", str(tmp_path / "run"), "--judge-lm", "openai/local-model", "--judge-api-base", lm_stub.root]
    assert main(line) == 0
    assert len(lm_stub.completions) == 1
    categories = [score.category for score in ScoredRun.open(tmp_path / "run").scores]
    assert categories == ["Judge Error", "Gave Up"]


def test_without_a_judge_named_an_imported_run_asks_for_one(bring, tmp_path, command_line, capsys):
    assert bring([{"id": "q1", "answer": "Bettina Moore"}])[0] == 0
    assert main(["judge", str(tmp_path / "run")]) in (1, 2)
    assert "--judge-lm" in capsys.readouterr().err


def test_a_real_run_brought_out_and_in_again_has_the_same_scores(imported, tmp_path, small_index):
    """What a run says of itself survives; the register does not, so the categories are those without its clause."""
    original = {
        "q1": ("nobody", "resolved", ["salt", "ana2"]),
        "q2": ("Tarn Hollow", "resolved", ["bettina"]),
        "q3": ("nobody", "resolved", ["quiet"]),
        "q4": ("nobody", "budget_loops", []),
    }
    rows = [
        {
            "id": key,
            "answer": answer,
            "stop_reason": stop,
            "searches": [{"tool": "semantic_search", "query": "q", "loop": 0, "found": found}],
        }
        for key, (answer, stop, found) in original.items()
    ]
    made = imported(rows)
    categories = {key: score.category_without_false_resolution for key, (_, score) in made.items()}
    assert categories == {"q1": "Missing Evidence", "q2": None, "q3": "Reasoning Error", "q4": "Gave Up"}
    assert made["q1"][1].premature
    assert all(isinstance(step, SearchStep) and not step.note for step in made["q1"][0].searches)
