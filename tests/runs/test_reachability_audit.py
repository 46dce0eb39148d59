"""The audit: probes from a benchmark's gold and from peers' runs, the command, and the figures on real data."""

import json
from pathlib import Path

import pytest

from executionrag import Index
from executionrag.errors import UserError
from executionrag.metrics.reachability import Probe, share, share_by_hops
from executionrag.metrics.record import QuestionRecord
from executionrag.program.trajectory import SearchStep
from executionrag.retrievers.corpus import load_corpus
from executionrag.runs.benchmarks.evidences import from_evidences
from executionrag.runs.benchmarks.gold import map_gold
from executionrag.runs.benchmarks.load import load_benchmark
from executionrag.runs.benchmarks.record import BenchmarkQuestion, Paragraph, SubQuestion
from executionrag.runs.cli import main
from executionrag.runs.reachability import audit, load_peer, make_probes, sub_questions
from executionrag.runs.run_folder import RunFolder

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
ASKED = "Where was the mother of the composer of The Salt Choir born?"


def question(*hops, supporting=()):
    chain = tuple(SubQuestion(text, answer, None) for text, answer in hops)
    return BenchmarkQuestion("x1", ASKED, "Tarn Hollow", (), 3, "bridge", tuple(supporting), chain, ())


def peer(path, *searches, asked=ASKED):
    record = QuestionRecord(
        id="x1",
        question=asked,
        benchmark="2wiki",
        type="bridge",
        hops=3,
        answers=("Tarn Hollow",),
        gold=(),
        trajectory=tuple(
            SearchStep(loop=loop, target=None, tool=tool, query=query, found=())
            for loop, (tool, query) in enumerate(searches)
        ),
    )
    folder = RunFolder.create(path, {"system": "a-rag"}, "d1", ["x1"])
    with folder.appending():
        folder.append(record, {})
    return path


SEARCHES = (
    ("semantic_search", ASKED),
    ("keyword_search", "Ana Kell mother"),
    ("semantic_search", "Ana Kell mother"),
    ("read_passages", "P1, P2"),
)


def test_earlier_gold_answers_stand_in_for_their_numbers():
    made = sub_questions(
        question(
            ("The Salt Choir >> composer", "Ana Kell"),
            ("#1 >> mother", "Bettina Moore"),
            ("Where was #2, mother of #1, born?", "Tarn Hollow"),
        )
    )
    assert made == [
        "The Salt Choir >> composer",
        "Ana Kell >> mother",
        "Where was Bettina Moore, mother of Ana Kell, born?",
    ]


def test_a_number_of_no_earlier_hop_stands_and_ten_is_not_one():
    hops = [(f"hop {number}", f"answer {number}") for number in range(1, 11)]
    assert sub_questions(question(("the #1 hit of #2", "x"), ("#10 and #1", r"\1")))[0] == "the #1 hit of #2"
    assert sub_questions(question(("a", r"\1"), ("#10, #2 and #1", "y")))[1] == r"#10, #2 and \1"
    assert sub_questions(question(*hops, ("#10 of #1", "z")))[-1] == "answer 10 of answer 1"


def test_2wiki_asks_subject_and_relation():
    gold, hops = from_evidences([["The Salt Choir", "composer", "Ana Kell"]], [Paragraph("The Salt Choir", "An opera")])
    made = BenchmarkQuestion("x", "Who?", "Ana Kell", (), 1, "", gold, hops, ())
    assert sub_questions(made) == ["The Salt Choir >> composer"]


def test_probes_come_by_grade_and_without_a_decomposition_there_is_no_grade_2(small_index, tmp_path):
    asked = question()
    other = load_peer(peer(tmp_path / "run", *SEARCHES), [asked])
    assert make_probes(asked, ["ana"], small_index, [other]) == [
        Probe(0, ASKED),
        Probe(1, "Ana Kell mother", source=f"a-rag ({tmp_path / 'run'})"),
        Probe(3, "Ana Kell", "ana"),
        Probe(4, "Ana Kell was a composer.", "ana"),
    ]


def test_a_peer_of_another_benchmark_is_refused(tmp_path):
    run = peer(tmp_path / "run", asked="Something else?")
    with pytest.raises(UserError, match="none of its finished questions is in the benchmark"):
        load_peer(run, [question()])


@pytest.fixture
def called(capsys, tmp_path, monkeypatch, small_index):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    row = {
        "_id": "x1",
        "question": ASKED,
        "answer": "Tarn Hollow",
        "type": "bridge",
        "supporting_titles": ["Ana Kell", "The Salt Choir", "Brask Circuit", "Lost"],
        "evidences": [["The Salt Choir", "composer", "Ana Kell"], ["Ana Kell", "mother", "Bettina Moore"]],
    }
    (tmp_path / "q.jsonl").write_text(json.dumps(row) + "\n")

    def call(*arguments):
        line = ["reachability", "--benchmark", "2wiki:q.jsonl", "--index", str(small_index.path), *arguments]
        code = main(line)
        return code, *capsys.readouterr()

    return call


def test_json_tells_grades_tools_and_each_passage(called, tmp_path):
    peer(tmp_path / "run", *SEARCHES)
    code, out, err = called("--k", "2", "--peers", "run", "--json")
    made = json.loads(out)
    assert code == 0
    assert "warning: 1 gold passage of 2wiki:q.jsonl not in the index and not probed" in err
    assert (made["gold"], made["probed"], made["k"], made["peers"]) == (4, 3, 2, ["a-rag (run)"])
    assert list(made["tools"]) == ["semantic_search", "keyword_search", "either"]
    semantic = made["tools"]["semantic_search"]
    assert semantic["grades"]["2"]["share"]["n"] == 3
    assert semantic["grades"]["2"]["share"]["value"] == pytest.approx(2 / 3)
    assert semantic["grades"]["3"]["share"]["value"] == 1
    assert semantic["reach"] == {"unasked": 2, "upper bound only": 1, "not certified": 0}
    reach = {one["passage_id"]: one["reach"] for one in made["passages"]}
    assert reach == {"ana": "unasked", "salt": "unasked", "brask": "upper bound only"}
    ana = next(one for one in made["passages"] if one["passage_id"] == "ana")
    assert {(hit["grade"], hit["source"]) for hit in ana["hits"]} >= {(1, "a-rag (run)"), (2, "")}


def test_the_screen_has_a_part_a_tool_and_names_what_is_empty(called):
    code, out, _ = called("--tool", "semantic", "--k", "2")
    assert code == 0
    assert "── semantic_search" in out
    assert "keyword_search" not in out
    assert "peers: none, so grade 1 is empty" in out
    assert "grade 1, queries of peers: no such probes" in out
    assert "retrieved: 2 by grades 0 to 2 · 1 by 3 or 4 only (upper bound)" in out
    assert "it is not shown to be unreachable" in out


def test_an_index_without_any_of_the_gold_is_refused(called, tmp_path):
    (tmp_path / "q.jsonl").write_text(
        json.dumps({"_id": "x1", "question": "Q?", "answer": "A", "type": "b", "supporting_titles": ["Lost"]}) + "\n"
    )
    code, _, err = called()
    assert code == 1
    assert err.splitlines()[-1].startswith("error: none of the 1 gold passage of 2wiki:q.jsonl is in index")


def test_a_hotpotqa_row_has_no_grade_2(small_index):
    asked = question(supporting=[Paragraph("Ana Kell", "")])
    (found,) = audit([asked], small_index, map_gold([asked], small_index), k=1)
    assert found.probed == (0, 3, 4)


@pytest.mark.slow
def test_musique_figures_are_the_independent_ones(tmp_path):
    for name in ("musique_dev.jsonl", "musique_dev_pooled_corpus.jsonl"):
        if not (DATA / name).is_file():
            pytest.skip(f"{name} is not beside the repository")
    index = Index.build(load_corpus(DATA / "musique_dev_pooled_corpus.jsonl"), tmp_path / "idx")
    dev = load_benchmark(f"musique:{DATA / 'musique_dev.jsonl'}").dev
    found = audit(dev, index, map_gold(dev, index), tools=("semantic_search",))
    assert len(found) == 363
    assert share(found, [2], ["semantic_search"]).value == pytest.approx(0.865, abs=0.01)
    assert share(found, [0, 2], ["semantic_search"]).value == pytest.approx(0.876, abs=0.01)
    by_hops = {hops: one.value for hops, one in share_by_hops(found, [2], ["semantic_search"]).items()}
    assert by_hops == pytest.approx({2: 0.848, 3: 0.968, 4: 0.793}, abs=0.01)
