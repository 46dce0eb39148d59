import json
import logging

import pytest

from executionrag.errors import UserError
from executionrag.retrievers.corpus import load_corpus, passages_from_rows
from executionrag.retrievers.passage import Passage


def lines(tmp_path, *rows):
    file = tmp_path / "docs.jsonl"
    file.write_bytes(b"".join((row if isinstance(row, bytes) else json.dumps(row).encode()) + b"\n" for row in rows))
    return file


def test_a_row_is_a_passage_and_one_without_id_gets_its_number(tmp_path):
    file = lines(
        tmp_path,
        {"title": "T", "text": "One."},
        b"",
        {"id": "b", "text": "Two."},
        {"id": 7, "text": "3", "title": None},
    )
    assert load_corpus(file) == [
        Passage("1", "T", "One.", "1", 0),
        Passage("b", "", "Two.", "b", 0),
        Passage("7", "", "3", "7", 0),
    ]


def test_a_byte_order_mark_is_no_part_of_the_first_row(tmp_path):
    assert load_corpus(lines(tmp_path, b'\xef\xbb\xbf{"text": "One."}'))[0].text == "One."


def test_unusual_line_separators_inside_a_text_do_not_end_the_row(tmp_path):
    assert load_corpus(lines(tmp_path, '{"text": "a\u2028b\u0085c"}'.encode()))[0].text == "a\u2028b\u0085c"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (b"{not json", r"docs\.jsonl:2: not valid JSON"),
        (b"[" * 100_000, r"docs\.jsonl:2: not valid JSON"),
        ([1], r"docs\.jsonl:2: a JSON array, not an object"),
        ("text", r"docs\.jsonl:2: a JSON string, not an object"),
        ({"title": "T"}, r"docs\.jsonl:2: field `text` is missing"),
        ({"text": None}, r"docs\.jsonl:2: field `text` is missing"),
        ({"text": " \n"}, r"docs\.jsonl:2: field `text` is blank"),
        ({"text": 5}, r"docs\.jsonl:2: field `text` is a JSON number"),
        ({"text": "x", "title": ["T"]}, r"docs\.jsonl:2: field `title` is a JSON array"),
        ({"text": "x", "id": 1.5}, r"docs\.jsonl:2: field `id` is a JSON number"),
        ({"text": "x", "id": True}, r"docs\.jsonl:2: field `id` is a JSON boolean"),
        ({"text": "x", "id": " "}, r"docs\.jsonl:2: field `id` is blank"),
        ({"text": "x", "id": "first"}, r"docs\.jsonl:2: field `id`: 'first' is used before, in .*docs\.jsonl:1"),
        (b'{"text": "\xff"}', r"docs\.jsonl:2: not UTF-8 \(byte 11\)"),
    ],
)
def test_a_row_that_cannot_be_used_is_named_by_file_line_and_field(tmp_path, row, said):
    with pytest.raises(UserError, match=said) as error:
        load_corpus(lines(tmp_path, {"id": "first", "text": "Fine."}, row))
    assert "\n" not in str(error.value)


def test_a_row_number_that_another_row_has_as_id_is_a_repeated_id(tmp_path):
    with pytest.raises(UserError, match="'2' is used before"):
        load_corpus(lines(tmp_path, {"id": "2", "text": "One."}, {"text": "Two."}))


@pytest.mark.parametrize("rows", [(), (b"", b"  ")])
def test_an_empty_corpus_is_refused(tmp_path, rows):
    with pytest.raises(UserError, match="the corpus is empty"):
        load_corpus(lines(tmp_path, *rows))


def test_a_missing_path_is_refused(tmp_path):
    with pytest.raises(UserError, match="no such file or folder"):
        load_corpus(tmp_path / "none.jsonl")


def test_lone_surrogates_are_replaced_counted_and_logged_once(tmp_path, caplog):
    file = lines(
        tmp_path, rb'{"text": "a \ud800 b \udfff", "title": "\udc00"}', rb'{"text": "\ud83d\ude00 fine \ud800"}'
    )
    with caplog.at_level(logging.WARNING):
        first, second = load_corpus(file)
    assert (first.text, first.title, second.text) == ("a � b �", "�", "😀 fine �")
    assert [record.getMessage() for record in caplog.records] == [
        f"{file}: 4 characters that are no valid Unicode were replaced by U+FFFD"
    ]


def test_a_one_megabyte_row_is_cut_and_remembers_its_document(tmp_path):
    text = "The lighthouse keeper wrote a line. " * 29_000
    passages = load_corpus(
        lines(tmp_path, {"id": "big", "title": "Log", "text": text}, {"id": "small", "text": "Short."})
    )
    chunks = passages[:-1]
    assert [chunk.id for chunk in chunks] == [f"big#{number}" for number in range(1, len(chunks) + 1)]
    assert [chunk.position for chunk in chunks] == list(range(len(chunks)))
    assert {(chunk.document, chunk.title) for chunk in chunks} == {("big", "Log")}
    assert "".join("".join(chunk.text for chunk in chunks).split()) == "".join(text.split())
    assert passages[-1] == Passage("small", "", "Short.", "small", 0)


def test_a_long_paragraph_of_a_benchmark_stays_whole():
    text = "A long encyclopaedia paragraph goes on and on. " * 170
    assert [passage.text for passage in passages_from_rows([("p", "T", text)])] == [text]


def test_a_chunk_id_that_another_row_has_is_a_repeated_id():
    rows = [("a", "", "One two three. Four five six. Seven eight."), ("a#2", "", "Taken.")]
    with pytest.raises(UserError, match=r"'a#2' is used before, in row 1"):
        passages_from_rows(rows, chunk_tokens=5, whole_tokens=5)


def test_a_folder_gives_a_document_a_file_in_the_order_of_paths(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "b" / "note.md").write_text("Intro.\n\n## The Title ##\n\nBody.")
    (tmp_path / "a.txt").write_text("# not a heading\nText.")
    (tmp_path / "c.MD").write_text("No heading here.")
    (tmp_path / "blank.txt").write_text(" \n")
    (tmp_path / ".git" / "hidden.txt").write_text("Hidden.")
    (tmp_path / "image.png").write_bytes(b"\xff\xd8")
    assert [(passage.id, passage.title) for passage in load_corpus(tmp_path)] == [
        ("a.txt", "a"),
        ("b/note.md", "The Title"),
        ("c.MD", "c"),
    ]


def test_a_long_file_is_cut_into_chunks_that_fit_a_small_encoder(tmp_path):
    (tmp_path / "long.txt").write_text("This sentence is one of many in the file. " * 200)
    passages = load_corpus(tmp_path)
    assert len(passages) > 5
    assert passages[1].id == "long.txt#2"
    assert all(len(passage.text) < 1500 for passage in passages)


def test_a_single_text_file_is_a_corpus(tmp_path):
    (tmp_path / "one.md").write_text("# Head\n\nText.")
    assert load_corpus(tmp_path / "one.md")[0].title == "Head"


def test_a_folder_without_texts_or_with_undecodable_bytes_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"no \.txt or \.md file with text"):
        load_corpus(tmp_path)
    (tmp_path / "bad.txt").write_bytes(b"caf\xe9")
    with pytest.raises(UserError, match=r"bad\.txt: not UTF-8"):
        load_corpus(tmp_path)
