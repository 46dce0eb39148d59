"""A reachability audit on disk: written by the command, read back, and refused where it is none or of another run."""

import json

import pytest

from executionrag.errors import UserError
from executionrag.metrics.reachability import REACHES
from executionrag.runs.audit_file import load_audit
from executionrag.runs.cli import main

HIT = {"grade": 2, "tool": "semantic_search", "query": "who", "rank": 3, "source": ""}
FILE = {
    "benchmark": "MiniHop",
    "benchmark_digest": "b" * 64,
    "index_digest": "i" * 64,
    "k": 5,
    "peers": ["a-rag (outputs/arag)"],
    "tools": {"semantic_search": {}, "keyword_search": {}, "either": {}},
    "passages": [
        {"question_id": "q1", "passage_id": "p1", "hops": 2, "probed": [0, 2], "hits": [HIT], "reach": "unasked"},
        {"question_id": "q1", "passage_id": "p2", "hits": [HIT | {"grade": 3, "rank": 1}]},
        {"question_id": "q1", "passage_id": "p3", "hits": []},
        {
            "question_id": "q2",
            "passage_id": "p1",
            "hits": [HIT | {"grade": 4, "rank": 1}, HIT | {"rank": 4}, HIT | {"tool": "keyword_search"}],
        },
    ],
}
SETTINGS = {"index_digest": "i" * 64, "benchmark_digest": "b" * 64, "k": 5}


def written(path, content):
    file = path / "audit.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def test_what_was_probed_has_its_reach_and_what_was_not_has_none(tmp_path):
    audit = load_audit(written(tmp_path, FILE))
    assert [audit.reach("q1", one) for one in ("p1", "p2", "p3")] == list(REACHES)
    assert audit.reach("q1", "p4") is None
    assert audit.reach("q3", "p1") is None
    assert (audit.index_digest, audit.benchmark_digest, audit.k) == ("i" * 64, "b" * 64, 5)
    assert audit.peers == ("a-rag (outputs/arag)",)
    assert audit.tools == ("semantic_search", "keyword_search")


def test_the_probe_that_knew_least_is_named_and_of_these_the_best_ranked(tmp_path):
    audit = load_audit(written(tmp_path, FILE))
    probe = audit.probe("q2", "p1")
    assert (probe.grade, probe.tool, probe.rank) == (2, "keyword_search", 3)
    assert audit.probe("q1", "p3") is None
    assert audit.probe("q1", "p4") is None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("not json", "no JSON"),
        ("[1]", "no reachability audit"),
        ("{}", "field `index_digest`"),
        (FILE | {"k": "many"}, "field `k`"),
        (FILE | {"k": 0}, "field `k`"),
        (FILE | {"passages": [{"question_id": "q"}]}, "field `passages.0.passage_id`"),
        (FILE | {"passages": [{"question_id": "q", "passage_id": "p", "hits": [HIT | {"grade": 7}]}]}, "grade"),
    ],
)
def test_a_file_that_is_no_audit_is_refused_in_one_line(tmp_path, content, said):
    with pytest.raises(UserError, match=r"audit\.json: no reachability audit") as refused:
        load_audit(written(tmp_path, content))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"gone\.json: cannot be read"):
        load_audit(tmp_path / "gone.json")


@pytest.mark.parametrize(
    ("key", "value", "words"), [("index_digest", "x", "index"), ("benchmark_digest", "x", "benchmark"), ("k", 3, "k")]
)
def test_an_audit_of_another_index_benchmark_or_k_is_refused(tmp_path, key, value, words):
    audit = load_audit(written(tmp_path, FILE))
    audit.check(SETTINGS)
    with pytest.raises(UserError, match=f"an audit of another {words} "):
        audit.check(SETTINGS | {key: value})


def test_what_a_run_does_not_say_is_let_pass(tmp_path):
    load_audit(written(tmp_path, FILE)).check(SETTINGS | {"k": None})


def test_the_command_writes_what_it_prints_and_it_reads_back(tmp_path, small_index, capsys):
    row = {
        "_id": "x1",
        "question": "Where was the mother of the composer of The Salt Choir born?",
        "answer": "Tarn Hollow",
        "type": "bridge",
        "supporting_titles": ["Ana Kell", "Brask Circuit"],
        "evidences": [["The Salt Choir", "composer", "Ana Kell"], ["Ana Kell", "mother", "Bettina Moore"]],
    }
    (tmp_path / "q.jsonl").write_text(json.dumps(row) + "\n")
    out = tmp_path / "audit.json"
    command = ["reachability", "--benchmark", f"2wiki:{tmp_path / 'q.jsonl'}", "--index", str(small_index.path)]
    assert main([*command, "--k", "2", "--out", str(out)]) == 0
    assert "2 of 2 gold passages probed" in capsys.readouterr().out
    audit = load_audit(out)
    assert (audit.index_digest, audit.k, audit.peers) == (small_index.digest, 2, ())
    assert (audit.reach("x1", "ana"), audit.reach("x1", "brask")) == ("unasked", "upper bound only")
    assert audit.reach("x1", "bettina") is None, "no gold passage, so not probed"
    assert main([*command, "--k", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(out.read_text())
    assert main([*command, "--out", str(out)]) == 1
    assert "exists and is left alone" in capsys.readouterr().err
    assert main([*command, "--out", str(tmp_path / "no" / "audit.json")]) == 1
    assert "no such folder" in capsys.readouterr().err
    assert sorted(one.name for one in tmp_path.iterdir()) == ["audit.json", "q.jsonl"]
