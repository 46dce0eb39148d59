"""The report: figures from the summary alone, nothing of others as markup, small at a thousand questions."""

import json
import re
from html.parser import HTMLParser

import pytest

from executionrag.metrics.record import Failure, GoldHop, GoldPassage, QuestionRecord, Retrieved, Verdict
from executionrag.program.register import Requirement
from executionrag.program.trajectory import AnswerStep, ErrorStep, Found, RegisterStep, SearchStep
from executionrag.program.usage import StepUsage, Usage
from executionrag.runs.cli import main
from executionrag.runs.report.build import build_report
from executionrag.runs.report.page import render_html, render_markdown, script_json
from executionrag.runs.report.summaries import summarized
from executionrag.runs.run_folder import RunFolder
from executionrag.runs.scored_run import ScoredRun

EVIL = "<script>alert(1)</script></script><!--<img src=x onerror=alert(1)>"
TEXTS = {
    "salt": ("The Salt Choir", "An opera composed by Ana Kell in the year of the flood."),
    "ana": ("Ana Kell", "Her mother was the glassblower Bettina Moore."),
}
SETTINGS = {"system": "executionrag", "lm": "test/lm", "benchmark": "minihop", "k": 5, "max_loops": 6, "seed": 3}


def found(*ids, new=True):
    return tuple(
        Found(alias=f"P{rank}", passage_id=one, title=TEXTS.get(one, (one,))[0], rank=rank, new=new)
        for rank, one in enumerate(ids, start=1)
    )


def record(name, **changes):
    ids = changes.pop("ids", ("salt", "ana"))
    item = Requirement(id="R1", text="Who composed The Salt Choir?", status="active")
    done = item.model_copy(update={"status": "resolved", "answer": "Ana Kell", "support": ("salt",)})
    fields = {
        "id": name,
        "question": f"Who is the mother of the composer of {name}?",
        "benchmark": "minihop",
        "type": "bridge",
        "hops": 2,
        "answers": ("Bettina Moore",),
        "gold": (
            GoldPassage(title="The Salt Choir", passage_id="salt"),
            GoldPassage(title="Ana Kell", passage_id="ana"),
        ),
        "chain": (
            GoldHop(question="Who composed it?", answer="Ana Kell", gold=0),
            GoldHop(question="Who is the mother of #1?", answer="Bettina Moore", gold=1),
        ),
        "answer": "Bettina Moore",
        "stop_reason": "resolved",
        "requirements": (done,),
        "retrieved": tuple(
            Retrieved(passage_id=one, loop=0, tool="semantic_search", query="q", rank=rank, full=True)
            for rank, one in enumerate(ids, start=1)
        ),
        "citations": ("ana",),
        "trajectory": (
            SearchStep(loop=0, target=None, tool="semantic_search", query="the mother", found=found(*ids)),
            RegisterStep(
                loop=0, cause="initialize", changed=(item,), refused=("support of R1: P9 was never returned",)
            ),
            SearchStep(loop=1, target="R1", tool="keyword_search", query="Ana Kell", found=found("ana", new=False)),
            RegisterStep(loop=1, cause="update", changed=(done,)),
            ErrorStep(loop=1, step="update", error="AdapterParseError", message="no list"),
            AnswerStep(loop=1, forced=False, answer="x", explanation="y", abstained=False, shown=("salt", "ana")),
        ),
        "usage": Usage(
            calls=4,
            prompt_tokens=1234,
            completion_tokens=56,
            cost=None,
            loops=1,
            seconds=2.5,
            retrieved_tokens=321,
            tokenizer="test-tokenizer",
            steps={"update": StepUsage(calls=1, prompt_tokens=77, completion_tokens=5)},
        ),
    }
    return QuestionRecord(**fields | changes)


def small_run():
    return [
        *(record(f"right-{n}") for n in range(20)),
        *(record(f"wrong-{n}", answer="Somebody", hops=3, ids=("salt",), type="comparison") for n in range(15)),
        record(
            "evil", question=EVIL, answer=EVIL, explanation=EVIL, type=EVIL, ids=("salt", "bad"), answers=(EVIL, "b")
        ),
        record(
            "failed",
            answer="",
            stop_reason="lm_error",
            failure=Failure(error="LMTimeoutError", step="update", message=EVIL),
        ),
    ]


def make_run(path, records, *, verdicts=(), texts=TEXTS, **settings):
    folder = RunFolder.create(
        path, SETTINGS | settings, "digest-1", [one.id for one in records], versions={"dspy": "3.4"}
    )
    with folder.appending():
        for one in records:
            folder.append(one, texts)
    if verdicts:
        (path / "verdicts.jsonl").write_text("".join(f"{verdict.model_dump_json()}\n" for verdict in verdicts))
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    texts = TEXTS | {"bad": (EVIL, f"Before. {EVIL} After.")}
    return make_run(tmp_path_factory.mktemp("runs") / "small", small_run(), texts=texts)


@pytest.fixture(scope="module")
def report(run):
    return build_report([run])


@pytest.fixture(scope="module")
def page(report):
    return render_html(report)


class Page(HTMLParser):
    """The tags of a page, and what each script element holds."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.scripts, self.ids = [], [], []
        self._inside = None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.ids += [value for name, value in attributes if name == "id"]
        if tag == "script":
            self.scripts.append([dict(attributes), ""])
            self._inside = self.scripts[-1]

    def handle_endtag(self, tag):
        if tag == "script":
            self._inside = None

    def handle_data(self, data):
        if self._inside is not None:
            self._inside[1] += data

    def data(self, name):
        return next(text for attributes, text in self.scripts if attributes.get("id") == name)

    def lines(self, name):
        return [json.loads(line) for line in self.data(name).strip().split("\n")]


def test_nothing_from_a_corpus_or_an_lm_becomes_markup(page):
    parsed = Page(page)
    assert [attributes.get("id") for attributes, _ in parsed.scripts] == [
        "data-list",
        "data-questions",
        "data-passages",
        None,
    ]
    assert "img" not in {tag for tag, _ in parsed.tags}
    assert not [name for _, attributes in parsed.tags for name in attributes if name.startswith("on")]
    assert "alert(1)</script>" not in page
    assert "innerHTML" not in page
    assert "insertAdjacentHTML" not in page


def test_evil_texts_arrive_whole(page):
    parsed = Page(page)
    evil = next(question for question in parsed.lines("data-questions") if question["id"] == "evil")
    assert evil["question"] == evil["answer"] == evil["answers"][0] == EVIL
    assert [text for _, title, text in parsed.lines("data-passages") if title == EVIL] == [f"Before. {EVIL} After."]


def test_script_json_cannot_end_its_element():
    written = script_json({"<!--": "</script> & <script>\n\u2028"})
    assert not set("<>&\n") & set(written)
    assert json.loads(written) == {"<!--": "</script> & <script>\n\u2028"}


def test_the_page_runs_no_script_but_its_own_and_loads_nothing(page):
    policy = next(attributes["content"] for tag, attributes in Page(page).tags if "http-equiv" in attributes)
    assert "default-src 'none'" in policy
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/=]+'$", policy)
    assert not re.findall(r"""(?:src|href)=["']?(?:https?:)?//""", page)


def test_the_policy_names_the_digest_of_the_script(page):
    import base64
    import hashlib

    script = next(text for attributes, text in Page(page).scripts if not attributes)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in page


def test_a_passage_is_stored_once(page):
    assert page.count("An opera composed by Ana Kell in the year of the flood.") == 1
    assert page.count("Her mother was the glassblower Bettina Moore.") == 1


def test_ids_on_the_page_are_unique(page):
    ids = Page(page).ids
    assert len(ids) == len(set(ids))


def test_charts_are_svg_with_title_and_values_in_words(page):
    assert page.count('role="img"') == page.count("<desc ") == 3
    assert (
        "mean evidence recall by hops of the question. small: 2: 0.98 (n 22, too few to conclude); 3: 0.50 (n 15"
        in page
    )
    assert "share retrieved by position in the gold chain. small: 1: 1.00 (n 37); 2: 0.57 (n 37)." in page


def test_replay_tells_the_register_step_by_step(report):
    question = report.questions[0]
    seed, loop = question["loops"]
    assert [row[:3] for row in seed["rows"]] == [["R1", "Who composed The Salt Choir?", "active"]]
    assert seed["refused"] == ["support of R1: P9 was never returned"]
    assert loop["searches"][0]["query"] == "Ana Kell"
    assert loop["searches"][0]["target"] == ["R1", "Who composed The Salt Choir?"]
    place = [one[0] for one in report.passages].index("salt")
    assert loop["rows"] == [["R1", "Who composed The Salt Choir?", "resolved", "Ana Kell", 0, "", [["P1", place]]]]
    assert loop["errors"] == ["update could not be used, its default was taken: AdapterParseError: no list"]
    assert loop["answer"]["forced"] is False
    assert question["marks"] == {str(place): "gold, hop 1", str(loop["searches"][0]["hits"][0][0]): "gold, hop 2"}
    assert [found for _, _, found in question["chain"]] == [True, True]


def test_markdown_prints_the_summary(run, report):
    markdown = render_markdown(report)
    overall = summarized(ScoredRun.open(run)).summary.overall

    def row(name):
        return next(line for line in markdown.splitlines() if line.startswith(f"| {name} |"))

    for name, share in (
        ("contain-match", overall.contain),
        ("EM", overall.exact_match),
        ("abstained", overall.abstained),
    ):
        one = share.estimate
        assert f"{one.value:.2f} \\[{one.low:.2f}, {one.high:.2f}\\] {share.count} of n {share.n}" in row(name)
    assert f"{overall.recall.value:.2f} \\[" in row("evidence recall")
    assert f"{overall.f1.value:.2f} \\[" in row("F1")
    for one in overall.categories:
        assert row(one.category).startswith(f"| {one.category} | {one.of_questions.count} ")


def test_figures_follow_the_records(tmp_path):
    """No figure stands fixed in a template: with other records every one of these differs."""
    first = render_markdown(build_report([make_run(tmp_path / "a", small_run())]))
    other = [record(f"q{n}", answer="Nobody", hops=4, ids=(), stop_reason="budget_loops") for n in range(7)]
    second = render_markdown(build_report([make_run(tmp_path / "b", other)]))
    for name in ("contain-match", "EM", "F1", "evidence recall", "Gave Up", "failed", "wrong with unretrieved gold"):
        rows = [next(line for line in text.splitlines() if line.startswith(f"| {name} |")) for text in (first, second)]
        assert rows[0] != rows[1], name


def test_every_share_stands_with_its_n_and_few_are_marked(report):
    markdown = render_markdown(report)
    for line in markdown.splitlines():
        for cell in line.split(" | "):
            if re.search(r"\d\.\d\d \\\[", cell):
                assert re.search(r"\bn [\d,]+", cell), cell
                counts = [int(n.replace(",", "")) for n in re.findall(r"\bn ([\d,]+)", cell)]
                assert ("too few to conclude" in cell) == (min(counts) < 30), cell


def test_what_was_run_and_what_wrong_means_are_said(report):
    markdown = render_markdown(report)
    for said in ("| LM | test/lm |", "| settings digest | digest-1 |", "| judge | none |", "| dspy version | 3.4 |"):
        assert said in markdown
    assert "token contain-match finds no gold answer" in markdown
    assert "1 of 37 questions failed" in markdown
    assert "| cost of the system, USD | unknown" in markdown


def test_failed_questions_stand_beside_every_table_of_figures(report):
    noted = {"scores", "failures", "hops", "types", "tokens", "evidence", "efficiency"}
    for section in report.sections:
        if section.id in noted:
            assert any("1 of 37 questions failed" in note for table in section.tables for note in table.notes), (
                section.id
            )


def test_markdown_holds_no_markup_of_others(report, tmp_path):
    hostile = make_run(tmp_path / "x", [record("q", type="a | b <script>")], lm="<b>|lm|</b>")
    for text in (render_markdown(report), render_markdown(build_report([hostile]))):
        assert "<script>" not in text
        assert "<b>" not in text
        for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
            assert len(widths) == 1, table


def test_the_same_run_gives_the_same_report(run, report, page):
    again = build_report([run])
    assert render_html(again) == page
    assert render_markdown(again) == render_markdown(report)


def test_with_a_judge_llm_acc_leads_and_its_cost_stands_apart(tmp_path):
    records = small_run()
    verdicts = [
        Verdict(
            id=one.id,
            judge="judge/lm",
            answer=one.answer,
            verdict=None if one.id == "evil" else "right",
            error="no verdict" if one.id == "evil" else "",
            prompt_tokens=10,
            cost=0.001,
        )
        for one in records
        if one.failure is None
    ]
    markdown = render_markdown(build_report([make_run(tmp_path / "run", records, verdicts=verdicts)]))
    assert "Wrong means: judged wrong by judge/lm." in markdown
    assert re.search(r"^\| LLM-Acc \| 0\.97 ", markdown, re.MULTILINE)
    assert re.search(r"^\| LLM-Acc, all unjudged wrong \| 0\.95 ", markdown, re.MULTILINE)
    assert re.search(r"^\| LLM-Acc, all unjudged right \| 0\.97 ", markdown, re.MULTILINE)
    assert "1 answer could not be judged" in markdown
    assert re.search(r"^\| cost of the judge, USD \| 0\.0360 in all", markdown, re.MULTILINE)


def test_several_runs_stand_side_by_side_and_share_passages(run, tmp_path, capsys):
    other = make_run(tmp_path / "other", small_run(), system="a-rag")
    place = tmp_path / "both.html"
    assert main(["report", str(run), str(other), "--html", str(place)]) == 0
    assert capsys.readouterr().out.splitlines()[0].split() == ["small", "other"]
    page = Page(place.read_text(encoding="utf-8"))
    listed = json.loads(page.data("data-list"))
    assert listed["runs"] == ["small", "other"]
    assert len(listed["rows"]) == 74
    assert [one[1] for one in page.lines("data-passages")].count("Ana Kell") == 1
    report = build_report([run, other])
    assert ["system ≠", "executionrag", "a-rag"] in [
        [cell.text for cell in row] for row in report.sections[0].tables[0].rows
    ]


def test_the_command_prints_scores_and_writes_page_markdown_and_summary(tmp_path, capsys):
    folder = make_run(tmp_path / "run", small_run())
    assert main(["report", str(folder)]) == 0
    out = capsys.readouterr().out
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert re.search(rf"^contain-match +{summary['overall']['contain']['estimate']['value']:.2f} ", out, re.MULTILINE)
    assert f"page: {folder / 'report.html'}" in out
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert (folder / "report.md").read_text(encoding="utf-8").startswith("# executionrag on minihop")


def test_several_runs_without_a_place_are_refused_in_one_line(run, capsys):
    assert main(["report", str(run), str(run)]) == 2
    assert "--html FILE" in capsys.readouterr().err
