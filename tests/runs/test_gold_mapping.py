import dspy
import pytest

from executionrag.errors import UserError
from executionrag.metrics.evidence_recall import evidence_recall_metric
from executionrag.metrics.record import GoldPassage
from executionrag.retrievers.passage import Passage
from executionrag.runs.benchmarks.gold import GoldDoubt, map_gold
from executionrag.runs.benchmarks.record import BenchmarkQuestion, Paragraph


def ask(*gold, key="q1"):
    return BenchmarkQuestion(key, "Who?", "Ada", (), len(gold), "", tuple(gold), (), ())


def passage(key, title, text, document=None):
    return Passage(key, title, text, document or key, 0)


LONG = "Ada Brill was a playwright of the Orrim school, and her mother was the glassblower Una Brill."


def test_gold_is_found_by_title_and_text_where_titles_repeat():
    question = ask(Paragraph("Quill", "A town."), Paragraph("Quill", "A play."))
    gold = map_gold([question], [passage("a", "Quill", "A play."), passage("b", "Quill", "A town.")])
    assert gold.passages_of(question) == (
        GoldPassage(title="Quill", passage_id="b"),
        GoldPassage(title="Quill", passage_id="a"),
    )
    assert (gold.mapped, gold.total, gold.coverage) == (2, 2, 1.0)
    assert gold.gold_ids("q1") == ("b", "a")


def test_how_white_space_joins_sentences_makes_no_difference():
    corpus = [passage("a", "Quill", "A play. By Ada.")]
    assert map_gold([ask(Paragraph("Quill", "A play.By Ada."))], corpus).coverage == 1
    assert map_gold([ask(Paragraph("Quill", " A play.\n By Ada. "))], corpus).coverage == 1


def test_equal_text_under_another_title_and_equal_title_over_another_text_are_not_it():
    question = ask(Paragraph("Quill", "A play."))
    gold = map_gold([question], [passage("a", "Reed", "A play."), passage("b", "Quill", "A play!")])
    assert gold.passages_of(question) == (GoldPassage(title="Quill", passage_id=None),)
    assert gold.unmapped == (GoldDoubt("q1", "Quill"),)
    assert (gold.coverage, gold.mapped) == (0.0, 0)


def test_a_gold_text_without_a_title_is_found_under_any():
    gold = map_gold([ask(Paragraph("", "A play."))], [passage("a", "Quill", "A play."), passage("b", "", "A town.")])
    assert gold.gold_ids("q1") == ("a",)


def test_gold_known_by_title_is_found_by_title():
    question = ask(Paragraph("Quill", ""), Paragraph("Reed", ""))
    gold = map_gold(
        [question], [passage("a", "Quill", "A play."), passage("b", "Other", "x"), passage("c", "Other", "y")]
    )
    assert [one.passage_id for one in gold.passages_of(question)] == ["a", None]
    assert gold.coverage == 0.5


def test_gold_known_by_title_is_refused_where_that_title_repeats():
    corpus = [passage("a", "Quill", "A play."), passage("b", "Quill", "A town.")]
    with pytest.raises(UserError, match=r"^corpus\.jsonl: 2 passages are titled 'Quill'.* by title alone"):
        map_gold([ask(Paragraph("Quill", ""))], corpus, "corpus.jsonl")


class TestChunks:
    def test_a_paragraph_is_found_by_its_first_forty_characters(self):
        question = ask(Paragraph("Ada Brill", LONG))
        chunks = [passage("d#1", "Ada Brill", LONG[:60], "d"), passage("d#2", "Ada Brill", LONG[60:], "d")]
        assert map_gold([question], chunks).gold_ids("q1") == ("d#1",)

    def test_thirty_nine_equal_characters_are_not_enough(self):
        text = LONG[:39] + "#" + LONG[40:]
        assert map_gold([ask(Paragraph("Ada Brill", LONG))], [passage("0", "", text)]).coverage == 0

    def test_a_text_shorter_than_that_counts_whole(self):
        assert (
            map_gold([ask(Paragraph("Quill", "A play."))], [passage("0", "", "Quill\n A\n play. More.")]).coverage == 1
        )
        assert map_gold([ask(Paragraph("Quill", "A play."))], [passage("0", "", "A playground.")]).coverage == 0

    def test_white_space_is_folded(self):
        assert map_gold([ask(Paragraph("", LONG))], [passage("0", "", LONG.replace(" ", " \n "))]).coverage == 1

    def test_of_several_hits_the_one_whose_title_agrees_is_it(self):
        question = ask(Paragraph("Ada Brill", LONG))
        chunks = [
            passage("d#1", "Somebody", LONG, "d"),
            passage("e#1", "Ada Brill", LONG[:50], "e"),
        ]
        gold = map_gold([question], chunks)
        assert gold.gold_ids("q1") == ("e#1",)
        assert gold.ambiguous == ()

    def test_in_chunks_without_titles_the_words_before_the_text_are_its_title(self):
        question = ask(Paragraph("Ada Brill", LONG))
        chunks = [passage("0", "", f"Somebody\n{LONG}"), passage("1", "", f"Reed. Ada Brill\n{LONG[:50]}")]
        assert map_gold([question], chunks).gold_ids("q1") == ("1",)

    def test_else_the_greatest_overlap_is_it(self):
        chunks = [passage("0", "", LONG[:45]), passage("1", "", f"x {LONG[:70]}"), passage("2", "", LONG[:60])]
        gold = map_gold([ask(Paragraph("Ada Brill", LONG))], chunks)
        assert gold.gold_ids("q1") == ("1",)
        assert gold.ambiguous == ()

    def test_equal_overlaps_are_listed_as_ambiguous_and_the_first_id_is_taken(self):
        question = ask(Paragraph("Ada Brill", LONG))
        gold = map_gold([question], [passage("1", "", LONG), passage("0", "", LONG)])
        assert gold.gold_ids("q1") == ("0",)
        assert gold.ambiguous == (GoldDoubt("q1", "Ada Brill", ("0", "1")),)
        assert gold.coverage == 1

    def test_whole_passages_are_never_matched_by_fingerprint(self):
        corpus = [passage("a", "Ada Brill", LONG + " And more.")]
        assert map_gold([ask(Paragraph("Ada Brill", LONG))], corpus).coverage == 0

    def test_a_whole_passage_beside_chunks_is_matched_whole(self):
        corpus = [passage("a", "Ada Brill", LONG), passage("d#1", "Ada Brill", LONG[:60], "d")]
        assert map_gold([ask(Paragraph("Ada Brill", LONG))], corpus).gold_ids("q1") == ("a",)


def test_a_repeated_passage_is_ambiguous():
    gold = map_gold(
        [ask(Paragraph("Quill", "A play."))], [passage("b", "Quill", "A play."), passage("a", "Quill", "A play.")]
    )
    assert gold.ambiguous == (GoldDoubt("q1", "Quill", ("a", "b")),)


def test_a_benchmark_without_gold_is_covered_and_says_so():
    gold = map_gold([ask()], [passage("a", "Quill", "A play.")])
    assert (gold.total, gold.coverage, gold.without_gold) == (0, 1.0, 1)


def test_examples_get_the_gold_ids_that_the_plain_metric_reads(small_index):
    question = ask(Paragraph("Ana Kell", small_index.passage("ana").text), Paragraph("Gone", "Nowhere."))
    gold = map_gold([question], small_index)
    [example] = gold.with_gold_ids([question.example("musique")])
    assert example.gold_ids == ["ana"]
    assert set(example.inputs().keys()) == {"question"}
    assert evidence_recall_metric(example, dspy.Prediction(retrieved_ids=["ana"])) == 1.0
