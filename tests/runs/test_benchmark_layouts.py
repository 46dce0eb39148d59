import json
import sys
import types

import pytest

from executionrag.errors import UsageError, UserError
from executionrag.runs.benchmarks.corpus_file import read_corpus
from executionrag.runs.benchmarks.load import corpus_passages, load_benchmark
from executionrag.runs.benchmarks.record import Paragraph, SubQuestion

HOTPOT = {
    "_id": "5a1",
    "question": "Who was the mother of the author of Quill?",
    "answer": "Una Brill",
    "type": "bridge",
    "level": "hard",
    "supporting_facts": [["Quill", 0], ["Ada Brill", 1], ["Ada Brill", 0]],
    "context": [
        ["Reed", ["Reed is a plant."]],
        ["Ada Brill", ["Ada Brill wrote plays.", " Her mother was Una Brill."]],
        ["Quill", ["Quill is a play by Ada Brill."]],
    ],
}
WIKI = {
    "_id": "w1",
    "type": "compositional",
    "question": "Who is the mother of the performer of Get Low?",
    "answer": "Una Brill",
    "context": [
        ["Ada Brill", ["Ada Brill is a singer.", "Her mother is Una Brill."]],
        ["Reed", ["Reed is a plant."]],
        ["Get Low (song)", ["Get Low is a song by Ada Brill."]],
    ],
    "supporting_facts": [["Ada Brill", 7], ["Get Low (song)", 0]],
    "evidences": [["Get Low", "performer", "Ada Brill"], ["Ada Brill", "mother", "Una Brill"]],
}
TITLES = {
    "_id": "t1",
    "question": "When did Lothair II's mother die?",
    "answer": "20 March 851",
    "answer_aliases": ["851"],
    "type": "compositional",
    "supporting_titles": ["Ermengarde", "Lothair II"],
    "evidences": [["Lothair II", "mother", "Ermengarde"], ["Ermengarde", "date of death", "20 March 851"]],
}
HIPPO = {
    "id": "h1",
    "question": "Who wrote Quill?",
    "answer": ["Ada Brill", "A. Brill"],
    "paragraphs": [
        {"title": "Quill", "text": "Quill is a play by Ada Brill.", "is_supporting": True, "idx": 0},
        {"title": "Reed", "text": "Reed is a plant.", "is_supporting": False, "idx": 1},
    ],
}
ARAG = {"id": "a1", "source": "musique", "question": "Who wrote Quill?", "answer": "Ada Brill", "question_type": "2hop"}


def jsonl(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def one(spec, **options):
    [question] = load_benchmark(spec, **options).dev
    return question


class TestHotpotQA:
    def test_an_official_row_becomes_a_question_with_its_distinct_supporting_paragraphs(self, tmp_path):
        question = one(f"hotpotqa:{jsonl(tmp_path / 'dev.jsonl', HOTPOT)}")
        assert (question.id, question.answer, question.type, question.hops) == ("5a1", "Una Brill", "bridge", 2)
        # Sentences bring their own space and are joined as they are.
        assert question.supporting == (
            Paragraph("Quill", "Quill is a play by Ada Brill."),
            Paragraph("Ada Brill", "Ada Brill wrote plays. Her mother was Una Brill."),
        )
        assert [paragraph.title for paragraph in question.context] == ["Reed", "Ada Brill", "Quill"]
        assert question.decomposition == ()

    def test_a_json_array_gives_the_same_as_json_lines(self, tmp_path):
        array = tmp_path / "dev.json"
        array.write_text(json.dumps([HOTPOT], indent=2))
        assert one(f"hotpotqa:{array}") == one(f"hotpotqa:{jsonl(tmp_path / 'dev.jsonl', HOTPOT)}")

    def test_the_hubs_parquet_gives_the_same_as_json_lines(self, tmp_path):
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        facts, context = HOTPOT["supporting_facts"], HOTPOT["context"]
        row = {key: HOTPOT[key] for key in ("question", "answer", "type", "level")} | {
            "id": "5a1",
            "supporting_facts": {"title": [t for t, _ in facts], "sent_id": [n for _, n in facts]},
            "context": {"title": [t for t, _ in context], "sentences": [s for _, s in context]},
        }
        parquet.write_table(pyarrow.Table.from_pylist([row]), tmp_path / "validation.parquet")
        assert one(f"hotpotqa:{tmp_path / 'validation.parquet'}") == one(
            f"hotpotqa:{jsonl(tmp_path / 'dev.jsonl', HOTPOT)}"
        )

    def test_a_file_that_is_no_parquet_is_named(self, tmp_path):
        pytest.importorskip("pyarrow")
        (tmp_path / "x.parquet").write_bytes(b"no parquet")
        with pytest.raises(UserError, match=r"x\.parquet: no readable Parquet"):
            load_benchmark(f"hotpotqa:{tmp_path / 'x.parquet'}")

    def test_the_hub_is_read_through_datasets_with_config_and_split(self, monkeypatch, tmp_path):
        asked = []

        def load_dataset(name, config, split):
            asked.append((name, config, split))
            return [HOTPOT]

        monkeypatch.setitem(sys.modules, "datasets", types.SimpleNamespace(load_dataset=load_dataset))
        question = one("hotpotqa:hub:hotpotqa/hotpot_qa:distractor")
        assert asked == [("hotpotqa/hotpot_qa", "distractor", "validation")]
        assert question == one(f"hotpotqa:{jsonl(tmp_path / 'dev.jsonl', HOTPOT)}")

    def test_a_supporting_title_that_the_context_lacks_is_known_by_title_only(self, tmp_path):
        row = {**HOTPOT, "supporting_facts": [["Elsewhere", 0], ["Quill", 0]]}
        question = one(f"hotpotqa:{jsonl(tmp_path / 'dev.jsonl', row)}")
        assert question.supporting[0] == Paragraph("Elsewhere", "")
        assert question.hops == 2

    def test_of_paragraphs_with_one_title_the_one_that_has_the_sentence_is_gold(self, tmp_path):
        context = [["Quill", ["Quill is a town."]], *HOTPOT["context"][1:2], ["Quill", ["One.", " Two."]]]
        row = {**HOTPOT, "context": context, "supporting_facts": [["Quill", 1]]}
        assert one(f"hotpotqa:{jsonl(tmp_path / 'dev.jsonl', row)}").supporting == (Paragraph("Quill", "One. Two."),)


class TestTwoWiki:
    def test_evidences_become_hops_and_order_the_paragraphs(self, tmp_path):
        question = one(f"2wiki:{jsonl(tmp_path / 'dev.jsonl', WIKI)}")
        # A sentence number past the paragraph's end does no harm; sentences are joined by a space.
        assert question.supporting == (
            Paragraph("Get Low (song)", "Get Low is a song by Ada Brill."),
            Paragraph("Ada Brill", "Ada Brill is a singer. Her mother is Una Brill."),
        )
        assert question.decomposition == (
            SubQuestion("Get Low >> performer", "Ada Brill", 0, "Get Low"),
            SubQuestion("Ada Brill >> mother", "Una Brill", 1, "Ada Brill"),
        )
        assert (question.hops, question.type) == (2, "compositional")

    def test_a_hop_whose_subject_names_no_supporting_paragraph_has_none(self, tmp_path):
        row = {**WIKI, "evidences": [["Somebody", "mother", "Una Brill"], ["Ada Brill", "", "x"]]}
        question = one(f"2wiki:{jsonl(tmp_path / 'dev.jsonl', row)}")
        assert [hop.support for hop in question.decomposition] == [None]
        assert question.hops == 2

    def test_supporting_titles_are_gold_known_by_title(self, tmp_path):
        benchmark = load_benchmark(f"2wiki:{jsonl(tmp_path / 'q.jsonl', TITLES)}")
        [question] = benchmark.dev
        assert question.supporting == (Paragraph("Lothair II", ""), Paragraph("Ermengarde", ""))
        assert question.answers == ["20 March 851", "851"]
        assert [hop.support for hop in question.decomposition] == [0, 1]
        with pytest.raises(UserError, match="come without passages; give the corpus with --corpus"):
            corpus_passages(benchmark, "2wiki:q.jsonl")


class TestHippoRAGAndARAG:
    def test_hipporags_paragraphs_and_list_of_answers(self, tmp_path):
        question = one(f"musique:{jsonl(tmp_path / 'sample.json', HIPPO)}")
        assert question.answers == ["Ada Brill", "A. Brill"]
        assert question.supporting == (Paragraph("Quill", "Quill is a play by Ada Brill."),)
        assert (question.hops, len(question.context)) == (1, 2)

    def test_an_arag_folder_brings_its_chunks_as_the_corpus(self, tmp_path):
        (tmp_path / "questions.json").write_text(json.dumps([ARAG]))
        (tmp_path / "chunks.json").write_text(json.dumps(["0:Quill is a play: by Ada.", "1:Reed is a plant."]))
        for spec in (f"arag:{tmp_path}", f"musique:{tmp_path}", f"arag:{tmp_path / 'questions.json'}"):
            benchmark = load_benchmark(spec)
            assert benchmark.corpus == [("0", "", "Quill is a play: by Ada."), ("1", "", "Reed is a plant.")]
            assert (benchmark.dev[0].hops, benchmark.dev[0].type) == (0, "2hop")
        assert load_benchmark(f"musique:{tmp_path}").kind == "musique"

    @pytest.mark.parametrize(
        ("evidence", "expected"),
        [
            (None, ()),
            ("", ()),
            ("One.", (Paragraph("", "One."),)),
            (["One.", "One.", "Two."], (Paragraph("", "One."), Paragraph("", "Two."))),
            ([["Quill", "One."]], (Paragraph("Quill", "One."),)),
            ([{"title": "Quill", "text": "One."}], (Paragraph("Quill", "One."),)),
        ],
    )
    def test_arag_evidence_in_its_forms(self, tmp_path, evidence, expected):
        (tmp_path / "questions.json").write_text(json.dumps([{**ARAG, "evidence": evidence}]))
        assert one(f"arag:{tmp_path}").supporting == expected

    @pytest.mark.parametrize(
        "content",
        [
            [{"title": "Quill", "text": "A play."}, {"title": "Reed", "text": "A plant."}],
            {"Quill": ["A ", "play."], "Reed": "A plant."},
        ],
    )
    def test_hipporags_corpus_files(self, tmp_path, content):
        (tmp_path / "x_corpus.json").write_text(json.dumps(content))
        passages = read_corpus(tmp_path / "x_corpus.json")
        assert [(p.id, p.title, p.text) for p in passages] == [("1", "Quill", "A play."), ("2", "Reed", "A plant.")]

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            ("[]", "the corpus is empty"),
            ("{", "no valid JSON"),
            ('["no id"]', 'entry 1: no "id:text"'),
            ('[{"title": "x"}]', "entry 1: an object with `title` and `text`"),
            ('["0:a", "0:b"]', "'0' is used before"),
        ],
    )
    def test_a_bad_corpus_file_is_named_with_its_entry(self, tmp_path, content, said):
        (tmp_path / "c.json").write_text(content)
        with pytest.raises(UserError) as error:
            read_corpus(tmp_path / "c.json")
        assert said in str(error.value)
        assert "\n" not in str(error.value)


class TestBadInput:
    @pytest.mark.parametrize(
        ("spec", "row", "said"),
        [
            ("musique", {"title": "x", "text": "y"}, "fits no layout of musique (MuSiQue's official: paragraphs, "),
            ("arag", HOTPOT, "fits no layout of arag"),
            ("hotpotqa", WIKI, "these are questions of 2wiki, not of hotpotqa; give the file as 2wiki:FILE"),
            ("2wiki", HOTPOT, "these are questions of hotpotqa"),
            ("musique", HOTPOT, "these are questions of hotpotqa"),
            ("musique", WIKI, "these are questions of 2wiki"),
            ("hotpotqa", {**HOTPOT, "answer": " "}, "field `answer`: is blank"),
            ("hotpotqa", {**HOTPOT, "answer": None}, "test splits are published without gold"),
            ("hotpotqa", {"_id": "x", "question": "Who?", "context": []}, "test splits are published without gold"),
            ("hotpotqa", {**HOTPOT, "supporting_facts": []}, "field `supporting_facts`"),
            ("hotpotqa", {**HOTPOT, "supporting_facts": [["Quill", "0"]]}, "field `supporting_facts.0.sentence`"),
            ("hotpotqa", {**HOTPOT, "context": [["Quill"]]}, "field `context.0`"),
            ("2wiki", {**TITLES, "supporting_titles": [""]}, "field `supporting_titles.0`: is blank"),
            ("musique", {**HIPPO, "answer": []}, "field `answer`"),
        ],
    )
    def test_one_line_names_file_line_and_field(self, tmp_path, spec, row, said):
        path = jsonl(tmp_path / "dev.jsonl", row)
        with pytest.raises(UserError) as error:
            load_benchmark(f"{spec}:{path}")
        assert str(error.value).startswith(f"{path}:1: ")
        assert said in str(error.value)
        assert "\n" not in str(error.value)

    def test_a_later_row_of_another_layout_is_named(self, tmp_path):
        path = jsonl(tmp_path / "dev.jsonl", TITLES, {**WIKI, "_id": "w2"})
        with pytest.raises(UserError, match=r"dev\.jsonl:2: field `supporting_titles`"):
            load_benchmark(f"2wiki:{path}")

    def test_a_repeated_question_id_is_named_with_both_places(self, tmp_path):
        path = jsonl(tmp_path / "dev.jsonl", HOTPOT, HOTPOT)
        with pytest.raises(UserError) as error:
            load_benchmark(f"hotpotqa:{path}")
        assert f"{path}:2: field `id`: '5a1' is used before, in {path}:1" in str(error.value)

    def test_musique_full_is_told_from_musique_ans(self, tmp_path):
        paragraph = {"idx": 0, "title": "t", "paragraph_text": "x", "is_supporting": False}
        row = {"id": "2hop__1", "question": "q", "answer": "a", "answerable": False, "paragraphs": [paragraph]}
        row["question_decomposition"] = [{"question": "q", "answer": "a", "paragraph_support_idx": None}]
        with pytest.raises(UserError, match="give a MuSiQue-Ans file"):
            load_benchmark(f"musique:{jsonl(tmp_path / 'dev.jsonl', row)}")

    @pytest.mark.parametrize("spec", ["hotpotqa", "hotpotqa:", "squad:x", "minihop:dev", ""])
    def test_an_unknown_spec_is_a_wrong_call(self, spec):
        with pytest.raises(UsageError, match="it takes minihop"):
            load_benchmark(spec)

    def test_a_missing_file_is_named(self, tmp_path):
        with pytest.raises(UserError, match=r"none\.json: cannot be read"):
            load_benchmark(f"hotpotqa:{tmp_path / 'none.json'}")

    def test_the_library_that_a_hub_dataset_needs_is_named(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "datasets", None)
        with pytest.raises(UserError, match="pip install datasets"):
            load_benchmark("hotpotqa:hub:hotpotqa/hotpot_qa")


class TestSplitsAndExamples:
    def test_a_train_file_is_warned_of_where_it_is_to_measure_with(self, tmp_path, caplog):
        path = jsonl(tmp_path / "hotpot_train_v1.1.jsonl", HOTPOT)
        benchmark = load_benchmark(f"hotpotqa:{path}")
        assert "the name says train" in caplog.text
        assert (benchmark.split, benchmark.name, benchmark.train) == ("train", "HotpotQA (train)", benchmark.dev)
        caplog.clear()
        load_benchmark(f"hotpotqa:{path}", to_measure=False)
        load_benchmark(f"hotpotqa:{jsonl(tmp_path / 'trains_dev.jsonl', HOTPOT)}")
        assert caplog.text == ""

    def test_examples_say_whose_rules_score_them(self, tmp_path):
        [example] = load_benchmark(f"hotpotqa:{jsonl(tmp_path / 'dev.jsonl', HOTPOT)}").devset
        assert (example.benchmark, example.id, example.answers) == ("hotpotqa", "5a1", ["Una Brill"])
        assert set(example.inputs().keys()) == {"question"}

    def test_the_digest_is_of_the_file(self, tmp_path):
        first = load_benchmark(f"hotpotqa:{jsonl(tmp_path / 'a.jsonl', HOTPOT)}")
        same = load_benchmark(f"hotpotqa:{jsonl(tmp_path / 'b.jsonl', HOTPOT)}")
        other = load_benchmark(f"hotpotqa:{jsonl(tmp_path / 'c.jsonl', {**HOTPOT, 'level': 'easy'})}")
        assert len(first.digest) == 64
        assert first.digest == same.digest != other.digest

    def test_minihop_and_its_train_split(self):
        dev, train = load_benchmark("minihop"), load_benchmark("minihop:train")
        assert (dev.kind, len(dev.dev), len(dev.train)) == ("minihop", 28, 12)
        assert (train.kind, train.split, train.dev) == ("minihop", "train", dev.train)
        assert dev.digest != train.digest

    def test_a_corpus_file_stands_in_for_the_pooled_contexts(self, tmp_path):
        questions = jsonl(tmp_path / "dev.jsonl", HOTPOT)
        corpus = jsonl(tmp_path / "corpus.jsonl", {"title": "Quill", "text": "Quill is a play by Ada Brill."})
        assert len(load_benchmark(f"hotpotqa:{questions}").corpus) == 3
        benchmark = load_benchmark(f"hotpotqa:{questions}", corpus)
        assert benchmark.corpus == [("1", "Quill", "Quill is a play by Ada Brill.")]
