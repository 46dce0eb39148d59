import json

import pytest

from executionrag.runs.cli import main


@pytest.fixture
def called(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        code = main([*arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return call


def question(**changes):
    row = {
        "_id": "x1",
        "question": "Where was the mother of the composer of The Salt Choir born?",
        "answer": "Tarn Hollow",
        "type": "bridge",
        "supporting_titles": ["Ana Kell", "The Salt Choir"],
    }
    return json.dumps({**row, **changes}) + "\n"


def test_minihop_is_counted_by_hops_and_type_and_wholly_covered(called):
    code, out, err = called("benchmark", "minihop")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("MiniHop 28 questions · digest ")
    assert lines[1:] == [
        "  hops: 2 hops 14 · 3 hops 8 · 4 hops 6",
        "  types: bridge 22 · comparison 3 · yes_no 3",
        "  corpus: 165 passages (its own passages)",
        "  gold: 76 of 76 gold passages found in it (100 %)",
    ]


def test_an_index_is_searched_with_the_question_alone(called, small_index, tmp_path):
    (tmp_path / "q.jsonl").write_text(question() + question(_id="x2", supporting_titles=["Lost", "Tarn Hollow"]))
    code, out, err = called("benchmark", "2wiki:q.jsonl", "--index", str(small_index.path), "--k", "10")
    assert code == 1
    assert "gold: 3 of 4 gold passages found in it (75.0 %)" in out
    assert "    not found: x2 · Lost" in out
    assert "question alone, k = 10" in out
    assert "    2 hops 1.000 (95 % interval 1.000 to 1.000), n = 2, too few to conclude" in out
    assert err.splitlines()[-1].startswith("error: 1 gold passage of 2wiki:q.jsonl not found in index")


@pytest.mark.parametrize("tool", ["semantic", "keyword", "graph"])
def test_the_tool_that_searches_can_be_chosen(called, small_index, tmp_path, tool):
    (tmp_path / "q.jsonl").write_text(question())
    line = ["benchmark", "2wiki:q.jsonl", "--index", str(small_index.path), "--tool", tool]
    code, out, _ = called(*line)
    assert code == 0
    assert f"evidence recall of {tool} search with the question alone, k = 5" in out
    made = json.loads(called(*line, "--k", "2", "--json")[1])["question_recall"]
    found = getattr(small_index, f"{tool}_search")(json.loads(question())["question"], 2)
    gold = {"ana", "salt"}
    assert made["tool"] == tool
    assert made["all"]["value"] == len(gold & {match.passage_id for match in found}) / 2


def test_a_tool_without_an_index_is_refused(called):
    code, _, err = called("benchmark", "minihop", "--tool", "graph")
    assert code == 2
    assert "--tool graph searches an index: give one with --index DIR" in err


def test_index_makes_the_entity_graph_at_once_where_asked(called, tmp_path):
    rows = [{"title": "Ana Kell", "text": "A composer of Orrim."}, {"title": "Orrim", "text": "A town."}]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, err = called("index", "--corpus", "c.jsonl", "--out", "idx", "--graph")
    assert code == 0, err
    assert "Entity graph: 3 links of passages to 2 entities in " in out
    assert (tmp_path / "idx/graph/graph.json").is_file()


def test_json_is_alone_on_stdout_and_lists_everything(called, small_index, tmp_path):
    (tmp_path / "q.jsonl").write_text(question(supporting_titles=["Lost", "Ana Kell"]))
    code, out, _ = called("benchmark", "2wiki:q.jsonl", "--index", str(small_index.path), "--json")
    made = json.loads(out)
    assert code == 1
    assert (made["kind"], made["questions"], made["by_hops"], made["by_type"]) == ("2wiki", 1, {"2": 1}, {"bridge": 1})
    assert made["gold"]["unmapped"] == [{"question": "x1", "title": "Lost"}]
    assert made["gold"]["coverage"] == 0.5
    assert made["question_recall"]["k"] == 5
    assert made["question_recall"]["all"]["n"] == 1


def test_questions_without_passages_say_what_is_needed(called, tmp_path):
    (tmp_path / "q.jsonl").write_text(question())
    code, out, err = called("benchmark", "2wiki:q.jsonl")
    assert code == 0
    assert "gold:" not in out
    assert "give --corpus or --index" in err
    code, _, err = called("index", "--benchmark", "2wiki:q.jsonl", "--out", "idx")
    assert code == 1
    assert err.splitlines()[-1] == (
        "error: 2wiki:q.jsonl: its questions come without passages; give the corpus with --corpus FILE"
    )


def test_many_missing_passages_are_cut_short_and_the_rest_counted(called, tmp_path):
    (tmp_path / "q.jsonl").write_text(question(supporting_titles=[f"Lost {number}" for number in range(25)]))
    (tmp_path / "c.jsonl").write_text(json.dumps({"title": "Quill", "text": "A play."}) + "\n")
    code, out, _ = called("benchmark", "2wiki:q.jsonl", "--corpus", "c.jsonl")
    assert code == 1
    assert out.count("not found:") == 21
    assert "5 more; --json lists all" in out


def test_a_train_file_is_warned_of(called, tmp_path):
    (tmp_path / "train.jsonl").write_text(question())
    _, out, err = called("benchmark", "2wiki:train.jsonl")
    assert "(train) 1 question" in out
    assert err.splitlines()[0].startswith("warning: 2wiki:train.jsonl: the name says train")


def test_an_index_of_a_benchmark_over_a_corpus_file_tells_what_gold_it_holds(called, tmp_path):
    (tmp_path / "q.jsonl").write_text(question())
    (tmp_path / "c.jsonl").write_text(
        json.dumps({"title": "Ana Kell", "text": "A composer."})
        + "\n"
        + json.dumps({"title": "X", "text": "Y."})
        + "\n"
    )
    command = ["index", "--benchmark", "2wiki:q.jsonl", "--corpus", "c.jsonl", "--out", "idx"]
    code, _, err = called(*command)
    assert code == 1
    assert "error: 1 of 2 gold passages of 2wiki:q.jsonl are in the corpus; give" in err
    code, out, err = called(*command, "--allow-missing-gold")
    assert code == 0
    assert out.startswith("Indexed 2 passages")
    assert "warning: 1 of 2 gold passages of 2wiki:q.jsonl are in the corpus" in err
