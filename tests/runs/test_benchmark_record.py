"""MuSiQue's layout read into records, and what is said of a row that does not fit."""

import json

import pytest

from executionrag.errors import UserError
from executionrag.runs.benchmarks.benchmark import Benchmark
from executionrag.runs.benchmarks.musique import load_musique
from executionrag.runs.benchmarks.record import Paragraph, SubQuestion


def row(**changes):
    """A row in MuSiQue's official layout, whose chain runs from paragraph 2 to paragraph 0."""
    return {
        "id": "2hop__10_20",
        "paragraphs": [
            {"idx": 0, "title": "Ada Brill", "paragraph_text": "Her mother was Una Brill.", "is_supporting": True},
            {"idx": 1, "title": "Quill", "paragraph_text": "A town by the sea.", "is_supporting": False},
            {"idx": 2, "title": "Quill", "paragraph_text": "A play by Ada Brill.", "is_supporting": True},
        ],
        "question": "Who is the mother of the author of the play Quill?",
        "question_decomposition": [
            {"id": 10, "question": "Quill >> author", "answer": "Ada Brill", "paragraph_support_idx": 2},
            {"id": 20, "question": "Who is the mother of #1 ?", "answer": "Una Brill", "paragraph_support_idx": 0},
        ],
        "answer": "Una Brill",
        "answer_aliases": ["Una"],
        "answerable": True,
        **changes,
    }


def write(path, *rows):
    path.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    return path


def test_an_official_row_becomes_a_record_with_its_evidence_in_chain_order(tmp_path):
    [question] = load_musique(write(tmp_path / "dev.jsonl", row()))
    author, mother = Paragraph("Quill", "A play by Ada Brill."), Paragraph("Ada Brill", "Her mother was Una Brill.")
    assert (question.id, question.hops, question.type) == ("2hop__10_20", 2, "2hop")
    assert question.answers == ["Una Brill", "Una"]
    assert question.supporting == (author, mother)
    assert question.context == (mother, Paragraph("Quill", "A town by the sea."), author)
    assert question.decomposition == (
        SubQuestion("Quill >> author", "Ada Brill", 0),
        SubQuestion("Who is the mother of #1 ?", "Una Brill", 1),
    )


def test_type_is_the_rows_own_or_the_prefix_of_its_id(tmp_path):
    path = write(tmp_path / "dev.jsonl", row(id="4hop3__1_2"), row(id="2hop__x", type="comparison"))
    assert [question.type for question in load_musique(path)] == ["4hop3", "comparison"]


def test_a_paragraph_used_by_two_hops_is_one_gold_paragraph(tmp_path):
    hops = [{"question": "q", "answer": "a", "paragraph_support_idx": 0}] * 2
    [question] = load_musique(write(tmp_path / "dev.jsonl", row(question_decomposition=hops)))
    assert [hop.support for hop in question.decomposition] == [0, 0]
    # The other paragraph is marked as supporting, though no hop points to it.
    assert [paragraph.title for paragraph in question.supporting] == ["Ada Brill", "Quill"]


def test_a_hop_without_annotated_support_and_a_row_without_aliases_load(tmp_path):
    hops = [{"question": "q", "answer": "a", "paragraph_support_idx": None}]
    bare = row(question_decomposition=hops)
    del bare["answer_aliases"]
    [question] = load_musique(write(tmp_path / "dev.jsonl", bare))
    assert question.decomposition[0].support is None
    assert question.aliases == ()


def test_blank_lines_a_byte_order_mark_and_line_separators_in_texts_do_no_harm(tmp_path):
    path = tmp_path / "dev.jsonl"
    text = json.dumps(row(question="Who\u2028is she?"), ensure_ascii=False)
    path.write_bytes(b"\xef\xbb\xbf\n" + text.encode() + b"\r\n\n")
    assert [question.question for question in load_musique(path)] == ["Who\u2028is she?"]


def test_lone_surrogates_are_replaced_as_in_a_corpus(tmp_path):
    [question] = load_musique(write(tmp_path / "dev.jsonl", row(question="Who \ud800?")))
    assert question.question == "Who \ufffd?"


def broken_paragraph(**changes):
    paragraphs = row()["paragraphs"]
    paragraphs[1] = {**paragraphs[1], **changes}
    return row(paragraphs=paragraphs)


def broken_hop(**changes):
    hops = row()["question_decomposition"]
    hops[1] = {**hops[1], **changes}
    return row(question_decomposition=hops)


def without(field):
    bare = row()
    del bare[field]
    return bare


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (without("id"), "id"),
        (row(id="2hop__first"), "id"),
        (row(question=" "), "question"),
        (row(answer=""), "answer"),
        (row(answer=1931), "answer"),
        (row(answer_aliases="Una"), "answer_aliases"),
        (row(answer_aliases=["Una", ""]), "answer_aliases.1"),
        (without("paragraphs"), "paragraphs"),
        (row(paragraphs=[]), "paragraphs"),
        (broken_paragraph(paragraph_text=""), "paragraphs.1.paragraph_text"),
        (broken_paragraph(is_supporting="no"), "paragraphs.1.is_supporting"),
        (broken_paragraph(idx=0), "paragraphs.1.idx"),
        (broken_paragraph(title=None), "paragraphs.1.title"),
        (row(question_decomposition=[]), "question_decomposition"),
        (broken_hop(paragraph_support_idx=9), "question_decomposition.1.paragraph_support_idx"),
        (broken_hop(answer=None), "question_decomposition.1.answer"),
    ],
)
def test_a_bad_row_is_named_by_file_line_and_field(tmp_path, bad, field):
    path = write(tmp_path / "dev.jsonl", row(id="2hop__first"), bad)
    with pytest.raises(UserError) as error:
        load_musique(path)
    assert str(error.value).startswith(f"{path}:2: field `{field}`: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("line", [b"{", b"[1]", b"\xff\xfe{}", b'"text"'])
def test_a_line_that_is_no_json_object_is_named_by_file_and_line(tmp_path, line):
    path = tmp_path / "dev.jsonl"
    path.write_bytes(json.dumps(row()).encode() + b"\n" + line + b"\n")
    with pytest.raises(UserError) as error:
        load_musique(path)
    assert str(error.value).startswith(f"{path}:2: ")
    assert "\n" not in str(error.value)


def test_a_missing_or_empty_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"none\.jsonl: cannot be read"):
        load_musique(tmp_path / "none.jsonl")
    with pytest.raises(UserError, match=r"dev\.jsonl: the file has no questions"):
        load_musique(write(tmp_path / "dev.jsonl"))


def test_a_benchmark_lists_a_repeated_passage_once_and_tells_equal_titles_apart(tmp_path):
    questions = tuple(load_musique(write(tmp_path / "dev.jsonl", row())))
    pooled = questions[0].context * 2
    benchmark = Benchmark(name="small", train=(), dev=questions, passages=pooled, prefix="s")
    assert [(title, text) for _, title, text in benchmark.corpus] == [(p.title, p.text) for p in pooled[:3]]
    assert len({passage_id for passage_id, _, _ in benchmark.corpus}) == 3
    assert benchmark.trainset == []
