"""A question's story, on the screen and as a page."""

import io
import re
from html.parser import HTMLParser

import dspy
import pytest

from executionrag.errors import UserError
from executionrag.program.register import Requirement
from executionrag.program.trajectory import AnswerStep, ErrorStep, Found, LMStep, RegisterStep, SearchStep
from executionrag.program.usage import Usage
from executionrag.retrievers.passage import Passage
from executionrag.runs.answered import Answered, Gold, GoldHop
from executionrag.runs.live_story import LiveStory
from executionrag.runs.output import Screen
from executionrag.runs.prediction_json import prediction_json
from executionrag.runs.story import render_story, write_story

QUESTION = "Where was the mother of the composer of The Salt Choir born?"
PASSAGES = {
    "salt": Passage("salt", "The Salt Choir", "The Salt Choir is an opera composed by Ana Kell.", "salt", 0),
    "quiet": Passage("quiet", "The <b>Quiet</b> Mill", "An opera. <script>alert(1)</script>\x1b[31m", "quiet", 0),
    "ana": Passage("ana", "Ana Kell", "Her mother was the glassblower Bettina Moore.", "ana", 0),
}
R1 = Requirement(id="R1", text="Who composed The Salt Choir?", status="active", answer="Ana Kell", support=("salt",))
R2 = Requirement(id="R2", text="Who is the mother of R1?", needs=("R1",))
STEPS = [
    SearchStep(
        loop=0,
        target=None,
        tool="semantic_search",
        query=QUESTION,
        found=(
            Found(alias="P1", passage_id="salt", title="The Salt Choir", rank=1),
            Found(alias="P2", passage_id="quiet", title="The <b>Quiet</b> Mill", rank=2),
        ),
    ),
    LMStep(loop=0, step="initialize", outputs={}),
    RegisterStep(loop=0, cause="initialize", changed=(R1, R2), refused=("support of R1: P9 was never returned",)),
    LMStep(loop=1, step="write_query", outputs={}),
    SearchStep(
        loop=1,
        target="R1",
        tool="keyword_search",
        query="composer Salt Choir",
        found=(
            Found(alias="P1", passage_id="salt", title="The Salt Choir", rank=1, new=False),
            Found(alias="P3", passage_id="ana", title="Ana Kell", rank=2),
        ),
    ),
    RegisterStep(
        loop=1,
        cause="update",
        changed=(
            R1.model_copy(update={"status": "resolved", "note": "Named as its composer."}),
            R2.model_copy(update={"answer": "Bettina Moore", "support": ("ana",)}),
        ),
    ),
    RegisterStep(
        loop=2,
        cause="select",
        changed=(R2.model_copy(update={"status": "active", "answer": "Bettina Moore", "support": ("ana",)}),),
    ),
    ErrorStep(loop=2, step="write_query", error="AdapterParseError", message="no query"),
    SearchStep(
        loop=2,
        target="R2",
        tool="semantic_search",
        query="mother of Ana Kell",
        found=(),
        repeated=True,
        note="repeat of an earlier query: again no passage matches",
    ),
    RegisterStep(loop=2, cause="update", changed=()),
    AnswerStep(loop=2, forced=True, answer="Tarn Hollow", explanation="As [P3] says.", abstained=False, shown=("ana",)),
]


def prediction(**changes):
    fields = {
        "answer": "Tarn Hollow",
        "explanation": "As [P3] says.",
        "abstained": False,
        "requirements": (R1, R2),
        "trajectory": STEPS,
        "retrieved_ids": ["salt", "quiet", "ana"],
        "citations": ["ana"],
        "stop_reason": "budget_loops",
        "usage": Usage(calls=7, prompt_tokens=12_345, completion_tokens=678, loops=2, seconds=9.5),
    }
    return dspy.Prediction(**fields | changes)


def answered(**changes):
    gold = Gold(
        ("Tarn Hollow",),
        (
            GoldHop("Who composed The Salt Choir?", "Ana Kell", "salt"),
            GoldHop("Where was Bettina Moore born?", "Tarn Hollow", "bettina"),
        ),
    )
    fields = {"question": QUESTION, "prediction": prediction(), "passages": PASSAGES, "gold": gold}
    return Answered(**fields | changes)


class TestOnTheScreen:
    @pytest.fixture
    def lines(self, monkeypatch):
        monkeypatch.setenv("COLUMNS", "80")
        stream = io.StringIO()
        screen = Screen(stream)
        screen.unicode = True
        done = []
        story = LiveStory(screen, lambda passage_id: PASSAGES[passage_id].text, done.append)
        story.begin(QUESTION)
        for step in STEPS:
            story(step)
        story.end(prediction())
        return stream.getvalue().splitlines()

    def test_the_whole_story_reads_as_it_happened(self, lines):
        assert [line for line in lines if line and not line.startswith("──")] == [
            "Question Where was the mother of the composer of The Salt Choir born?",
            "    + P1   The Salt Choir — The Salt Choir is an opera composed by Ana Kell.",
            "    + P2   The <b>Quiet</b> Mill — An opera. <script>alert(1)</script>",
            "The register",
            "  R1  ● active   Who composed The Salt Choir? → Ana Kell, tentatively [P1]",
            "  R2  ○ open     Who is the mother of R1? (needs R1)",
            "  refused: support of R1: P9 was never returned",
            "● R1 Who composed The Salt Choir?",
            "  keyword search: composer Salt Choir",
            "    + P3   Ana Kell — Her mother was the glassblower Bettina Moore.",
            "      again: P1 The Salt Choir",
            "  → R1  ✓ resolved Ana Kell [P1] · Named as its composer.",
            "  → R2  ○ noted    Bettina Moore (tentative) [P3]",
            "  write_query used its default: AdapterParseError: no query",
            "● R2 Who is the mother of Ana Kell?",
            "  semantic search: mother of Ana Kell",
            "  repeat of an earlier query: again no passage matches",
            "  nothing new for the register",
            "Answer  Tarn Hollow",
            "Because As [P3] says.",
            "        [P3] Ana Kell",
            "Stopped budget_loops: the loops were used up, so the answer was forced",
            "Cost    2 loops · 7 LM calls · 12,345 prompt + 678 completion tokens · 9.5 s",
        ]

    def test_each_loop_has_its_heading(self, lines):
        assert [line.strip("─ ") for line in lines if line.startswith("──")] == [
            "Loop 0: a first search with the question itself",
            "Loop 1",
            "Loop 2",
            "Answer",
        ]

    def test_no_line_is_wider_than_the_screen(self, lines):
        assert max(map(len, lines)) <= 80


class TestThePage:
    def test_it_needs_nothing_but_itself(self):
        page = render_story([answered()])
        assert not re.search(r"https?://|\bsrc=|url\(|@import|<script|<link|<iframe", page)
        assert "default-src 'none'" in page
        assert "prefers-color-scheme: dark" in page
        assert 'name="viewport"' in page

    def test_texts_are_escaped_and_free_of_control_characters(self):
        page = render_story([answered(question="<img src=x onerror=1> \x1b[31m?")])
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
        assert "The &lt;b&gt;Quiet&lt;/b&gt; Mill" in page
        assert "&lt;img src=x onerror=1&gt; ?" in page
        assert "\x1b" not in page

    def test_every_tag_is_closed(self):
        class Tags(HTMLParser):
            void = frozenset({"meta", "br"})

            def __init__(self):
                super().__init__()
                self.open = []

            def handle_starttag(self, tag, attrs):
                if tag not in self.void:
                    self.open.append(tag)

            def handle_endtag(self, tag):
                assert self.open.pop() == tag

        tags = Tags()
        tags.feed(render_story([answered(), answered(prediction=None, error="it failed", passages={})]))
        assert tags.open == []

    def test_answer_gold_and_evidence_stand_side_by_side(self):
        page = " ".join(re.sub(r"<[^>]+>", " ", render_story([answered()]).split("</style>")[1]).split())
        assert "Answer Tarn Hollow Gold Tarn Hollow" in page
        assert "✓ right the loops were used up, so the answer was forced" in page
        assert "✓ Who composed The Salt Choir? → Ana Kell" in page
        assert "✗ Where was Bettina Moore born? → Tarn Hollow (its passage was not found)" in page
        assert "P1 The Salt Choir gold, hop 1" in page
        assert "2 loops 7 LM calls 12,345 prompt + 678 completion tokens 9.5 s" in page

    def test_the_register_is_shown_as_each_loop_leaves_it(self):
        page = " ".join(re.sub(r"<[^>]+>", " ", render_story([answered()]).split("</style>")[1]).split())
        assert "R1 ● active Who composed The Salt Choir? Ana Kell (tentative) P1 R2 ○ open Who is the mother of" in page
        assert "R1 ✓ resolved Who composed The Salt Choir? Ana Kell P1 Named as its composer." in page
        assert "refused: support of R1: P9 was never returned" in page
        assert "write_query could not be used, its default was taken: AdapterParseError: no query" in page

    def test_without_gold_nothing_is_judged(self):
        page = render_story([answered(gold=None)]).split("</style>")[1]
        assert "Gold" not in page
        assert "right" not in page

    def test_a_failed_question_says_why(self):
        page = render_story([answered(prediction=None, error="the server is gone", passages={})])
        assert "the server is gone" in page
        assert "✗ wrong" in page

    def test_it_is_written_whole_or_not_at_all(self, tmp_path):
        page = tmp_path / "new" / "folder" / "story.html"
        write_story(page, [answered()])
        assert page.read_text(encoding="utf-8").rstrip().endswith("</html>")
        (tmp_path / "taken").mkdir()
        with pytest.raises(UserError, match=r"taken: the page cannot be written"):
            write_story(tmp_path / "taken", [answered()])
        with pytest.raises(UserError, match="the page cannot be written"):
            write_story(page / "inside.html", [answered()])
        assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "taken"]


class TestVerdicts:
    @pytest.mark.parametrize(
        ("changes", "right"),
        [
            ({}, True),
            ({"prediction": prediction(answer="the town of Tarn Hollow")}, True),
            ({"prediction": prediction(answer="Orrim")}, False),
            ({"prediction": prediction(answer="Tarn Hollow", abstained=True)}, False),
            ({"prediction": None, "error": "failed"}, False),
            ({"error": "failed"}, False),
            ({"gold": None}, None),
        ],
    )
    def test_right_is_a_gold_answer_inside_the_answer(self, changes, right):
        assert answered(**changes).right is right

    def test_evidence_is_counted_by_hop(self):
        assert answered().found == (True, False)
        assert answered(prediction=None).found == (False, False)
        assert answered(gold=None).found == ()


def test_the_json_form_has_every_documented_field():
    made = prediction_json(QUESTION, prediction(), PASSAGES, {"lm": "scripted"})
    assert list(made) == [
        "format",
        "version",
        "question",
        "answer",
        "explanation",
        "abstained",
        "stop_reason",
        "error",
        "requirements",
        "citations",
        "retrieved_ids",
        "passages",
        "trajectory",
        "usage",
        "settings",
    ]
    assert made["citations"] == [{"id": "ana", "alias": "P3", "title": "Ana Kell"}]
    assert made["passages"]["ana"] == {"title": "Ana Kell", "text": "Her mother was the glassblower Bettina Moore."}
    assert [step["kind"] for step in made["trajectory"]][:3] == ["search", "lm", "register"]
    assert made["requirements"][0]["support"] == ["salt"]
