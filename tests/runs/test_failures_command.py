"""`executionrag failures`: each wrong answer with its category and what shows it."""

import json

import pytest

from executionrag.metrics.record import Failure, GoldHop, GoldPassage, QuestionRecord, Retrieved, Verdict
from executionrag.program.register import Requirement
from executionrag.program.trajectory import Found, SearchStep
from executionrag.runs.cli import main
from executionrag.runs.run_folder import RunFolder

TEXTS = {
    "salt": ("The Salt Choir", "An opera composed by Ana Kell."),
    "ana": ("Ana Kell", "Her mother was Bettina Moore."),
    "mill": ("The Quiet Mill", "Another opera."),
}


def record(name, **changes):
    fields = {
        "id": name,
        "question": f"Who is the mother of the composer of {name}?",
        "benchmark": "minihop",
        "type": "bridge",
        "hops": 2,
        "answers": ("Bettina Moore", "Moore"),
        "gold": (
            GoldPassage(title="The Salt Choir", passage_id="salt"),
            GoldPassage(title="Ana Kell", passage_id="ana"),
        ),
        "chain": (
            GoldHop(question="Who composed it?", answer="Ana Kell", gold=0),
            GoldHop(question="Who is the mother of #1?", answer="Bettina Moore", gold=1),
        ),
        "answer": "Somebody",
        "stop_reason": "resolved",
        "retrieved": retrieved("salt", "ana"),
        "trajectory": (
            SearchStep(
                loop=0,
                target=None,
                tool="semantic_search",
                query="mother of the composer",
                found=(Found(alias="P1", passage_id="salt", title="The Salt Choir", rank=1),),
            ),
            SearchStep(loop=1, target="R1", tool="keyword_search", query="Ana Kell mother", found=(), repeated=True),
        ),
    }
    return QuestionRecord(**fields | changes)


def retrieved(*ids):
    return tuple(
        Retrieved(passage_id=one, loop=0, tool="semantic_search", query="q", rank=rank, full=True)
        for rank, one in enumerate(ids, start=1)
    )


FALSE = Requirement(id="R1", text="Who composed it?", status="resolved", answer="Olive Tarr", support=("mill",))
RECORDS = [
    record("right", answer="Bettina Moore"),
    record("judge-error", answer="Bettina Moore"),
    record("gave-up", answer="", abstained=True),
    record("over-budget", stop_reason="budget_loops"),
    record("reasoning"),
    record("false-resolution", retrieved=retrieved("salt", "mill"), requirements=(FALSE,)),
    record("missing", retrieved=retrieved("salt")),
    record(
        "unmapped",
        gold=(GoldPassage(title="Nowhere", passage_id=None),),
        chain=(),
    ),
    record(
        "failed",
        answer="",
        stop_reason="lm_error",
        failure=Failure(error="LMTimeoutError", step="update", message="no answer within 60 s"),
    ),
    record("unjudged"),
]
CATEGORY = {
    "judge-error": "Judge Error",
    "gave-up": "Gave Up",
    "over-budget": "Gave Up",
    "reasoning": "Reasoning Error",
    "false-resolution": "Reasoning Error",
    "missing": "Missing Evidence",
    "unmapped": "Unmapped",
    "failed": "Not scored",
}


def make_run(path, records, verdicts=()):
    folder = RunFolder.create(
        path, {"system": "executionrag", "benchmark": "minihop"}, "d1", [one.id for one in records]
    )
    with folder.appending():
        for one in records:
            folder.append(one, TEXTS)
    if verdicts:
        (path / "verdicts.jsonl").write_text("".join(f"{verdict.model_dump_json()}\n" for verdict in verdicts))
    return path


@pytest.fixture
def judged(tmp_path):
    said = {"right": "right", "unjudged": None}
    return make_run(
        tmp_path / "run",
        RECORDS,
        [
            Verdict(
                id=one.id,
                judge="judge/lm",
                answer=one.answer,
                abstained=one.abstained,
                verdict=said.get(one.id, "wrong"),
                reasoning=f"said of {one.id}",
            )
            for one in RECORDS
            if one.failure is None
        ],
    )


@pytest.fixture
def as_json(judged, capsys):
    assert main(["failures", str(judged), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_wrong_answer_has_its_category_and_no_right_one_is_listed(as_json):
    assert {one["id"]: one["category"] for one in as_json["failures"]} == CATEGORY
    assert [one["id"] for one in as_json["failures"]] == list(CATEGORY)


def test_counts_add_up(as_json):
    assert as_json["asked"] == as_json["finished"] == 10
    assert (as_json["right"], as_json["wrong"], as_json["failed"], as_json["not_judged"]) == (1, 7, 1, 1)
    assert as_json["categories"] == {
        "Judge Error": 1,
        "Gave Up": 2,
        "Reasoning Error": 2,
        "Missing Evidence": 1,
        "Unmapped": 1,
        "Not scored": 1,
    }
    assert as_json["categories_without_false_resolution"]["Missing Evidence"] == 2
    assert as_json["categories_without_false_resolution"]["Reasoning Error"] == 1
    assert as_json["wrong_with_unretrieved_gold"] == 2
    assert as_json["wrong_with_false_resolution"] == 1


def test_the_evidence_of_each_kind_is_named(as_json):
    by_id = {one["id"]: one for one in as_json["failures"]}
    assert by_id["missing"]["not_retrieved"] == [
        {"passage_id": "ana", "title": "Ana Kell", "hops": [2], "reach": None, "probe": None}
    ]
    assert by_id["reasoning"]["not_retrieved"] == []
    assert by_id["false-resolution"]["false_resolutions"] == [
        {"id": "R1", "text": "Who composed it?", "answer": "Olive Tarr", "support": [["mill", "The Quiet Mill"]]}
    ]
    assert by_id["unmapped"]["unmapped"] == ["Nowhere"]
    assert by_id["failed"]["failure"] == "LMTimeoutError in update: no answer within 60 s"
    assert by_id["over-budget"]["stop_reason"] == "budget_loops"
    assert by_id["judge-error"]["judge"] == "said of judge-error"
    assert by_id["missing"]["gold"] == ["Bettina Moore", "Moore"]
    assert by_id["missing"]["queries"] == [
        {"loop": 0, "tool": "semantic_search", "query": "mother of the composer", "found": 1, "repeated": False},
        {"loop": 1, "tool": "keyword_search", "query": "Ana Kell mother", "found": 0, "repeated": True},
    ]


def test_the_screen_shows_the_same(judged, capsys):
    assert main(["failures", str(judged)]) == 0
    out = capsys.readouterr().out
    for name, category in CATEGORY.items():
        block = out[out.index(f"\n{name} ") :]
        assert block.splitlines()[2].strip().startswith(f"{category}:")
    for said in (
        "1 of 2 gold passages not retrieved",
        "Ana Kell (hop 2)",
        "supported by The Quiet Mill",
        "Ana Kell mother [keyword_search, 0 found, repeated]",
        "LMTimeoutError in update",
        "Nowhere (not mapped to a passage)",
        "Wrong: judged wrong by judge/lm.",
        "10 finished of 10 asked: 1 right, 7 wrong, 1 failed, 1 not judged.",
    ):
        assert said in " ".join(out.split()), said  # where lines break depends on the length of the folder's path


def test_without_a_judge_contain_match_decides_and_the_output_says_so(tmp_path, capsys):
    run = make_run(tmp_path / "run", RECORDS)
    assert main(["failures", str(run), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "contain-match" in found["wrong_is"]
    assert found["categories"]["Judge Error"] == 0
    assert "judge-error" not in {one["id"] for one in found["failures"]}
    assert found["not_judged"] == 0


@pytest.mark.parametrize("arguments", [["failures"], ["report"]])
def test_a_folder_without_a_run_is_one_line(tmp_path, capsys, arguments):
    assert main([*arguments, str(tmp_path)]) == 1
    assert capsys.readouterr().err.count("\n") == 1


HIT = {"grade": 3, "tool": "semantic_search", "query": "Ana Kell", "rank": 1, "source": ""}
PEER = {"grade": 1, "tool": "keyword_search", "query": "Kell mother", "rank": 4, "source": "a-rag (outputs/arag)"}
AUDIT = {
    "benchmark_digest": "b1",
    "index_digest": "i1",
    "k": 5,
    "peers": ["a-rag (outputs/arag)"],
    "tools": {"semantic_search": {}, "keyword_search": {}, "either": {}},
    "passages": [
        {"question_id": "missing", "passage_id": "ana", "hits": [HIT, PEER]},
        {"question_id": "false-resolution", "passage_id": "ana", "hits": [HIT]},
        {"question_id": "nothing", "passage_id": "salt", "hits": []},
        {"question_id": "nothing", "passage_id": "ana", "hits": [HIT]},
        {"question_id": "failed", "passage_id": "ana", "hits": [PEER]},
    ],
}
AUDITED = [
    *RECORDS,
    record("nothing", retrieved=()),
    record("unprobed", retrieved=retrieved("ana")),
    record("failed", retrieved=(), answer="", failure=Failure(error="E", step="update", message="")),
]


@pytest.fixture
def audited(tmp_path):
    def make(**changes):
        file = tmp_path / "audit.json"
        file.write_text(json.dumps(AUDIT | changes))
        return ["failures", str(make_run(tmp_path / "run", AUDITED)), "--audit", str(file)]

    return make


def test_an_audit_marks_each_missing_passage_with_the_probe_that_finds_it(audited, capsys):
    assert main([*audited(), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    by_id = {one["id"]: one["not_retrieved"] for one in made["failures"]}
    assert by_id["missing"][0]["reach"] == "unasked"
    assert by_id["missing"][0]["probe"] == PEER
    assert by_id["false-resolution"][0]["reach"] == "upper bound only"
    assert [(one["reach"], one["probe"]) for one in by_id["nothing"]] == [
        ("not certified", None),
        ("upper bound only", HIT),
    ]
    assert (by_id["unprobed"][0]["reach"], by_id["unprobed"][0]["probe"]) == ("not probed", None)
    assert by_id["reasoning"] == []


def test_its_counts_are_of_wrong_answers_and_leave_failed_questions_out(audited, capsys):
    assert main([*audited(), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)["audit"]
    assert made["missing"] == {"unasked": 1, "upper bound only": 2, "not certified": 1, "not probed": 1}
    assert made["peers"] == ["a-rag (outputs/arag)"]


def test_the_screen_names_probe_peers_and_what_an_audit_cannot_show(audited, capsys):
    assert main(audited()) == 0
    out = " ".join(capsys.readouterr().out.split())
    for said in (
        "Ana Kell (hop 2), unasked: Kell mother [keyword_search, grade 1 of a-rag (outputs/arag), rank 4]",
        "The Salt Choir (hop 1), not certified",
        "missing gold of wrong answers: 1 unasked, 2 upper bound only, 1 not certified, 1 not probed",
        "k = 5, semantic_search and keyword_search; peers: a-rag (outputs/arag)",
        "it is not shown to be unreachable",
    ):
        assert said in out, said


def test_an_audit_of_another_benchmark_is_refused(tmp_path, capsys):
    (tmp_path / "audit.json").write_text(json.dumps(AUDIT))
    settings = {"system": "executionrag", "benchmark_digest": "b2", "index_digest": "i1", "k": 5}
    folder = RunFolder.create(tmp_path / "run", settings, "d1", ["missing"])
    with folder.appending():
        folder.append(record("missing"), TEXTS)
    assert main(["failures", str(tmp_path / "run"), "--audit", str(tmp_path / "audit.json")]) == 1
    assert "an audit of another benchmark (b1; the run has b2)" in capsys.readouterr().err
