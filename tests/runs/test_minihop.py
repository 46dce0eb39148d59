"""What MiniHop promises: every fact findable in one place, every chain needed, the two splits apart."""

import hashlib
import re
import string
import subprocess
import sys
from collections import Counter

import pytest

from executionrag import MiniHop
from executionrag.errors import UserError
from executionrag.runs.benchmarks.minihop import DEMO_QUESTIONS
from executionrag.runs.benchmarks.record import BenchmarkQuestion

QUESTIONS = (*MiniHop.dev, *MiniHop.train)
BRIDGES = [question for question in QUESTIONS if question.type == "bridge"]
COMPARISONS = [question for question in QUESTIONS if question.type != "bridge"]

each_question = pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
each_bridge = pytest.mark.parametrize("question", BRIDGES, ids=lambda question: question.id)
each_comparison = pytest.mark.parametrize("question", COMPARISONS, ids=lambda question: question.id)


def tokens(text: str) -> list[str]:
    plain = "".join(" " if char in string.punctuation + "’–" else char for char in text.lower())
    return [token for token in plain.split() if token not in {"a", "an", "the"}]


def stands_in(phrase: str, text: str) -> bool:
    want, have = tokens(phrase), tokens(text)
    return bool(want) and any(have[at : at + len(want)] == want for at in range(len(have) - len(want) + 1))


def fill(text: str, question: BenchmarkQuestion) -> str:
    """The text with each "#n" replaced by the gold answer of hop n."""
    return re.sub(r"#(\d+)", lambda match: question.decomposition[int(match[1]) - 1].answer, text)


def references(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"#(\d+)", text)]


def whole(paragraph) -> str:
    return f"{paragraph.title}\n{paragraph.text}"


# --- the facts


@each_question
def test_each_hop_answer_stands_in_the_text_of_its_passage(question):
    for hop in question.decomposition:
        assert stands_in(hop.answer, question.supporting[hop.support].text), hop


@each_question
def test_each_hop_subject_stands_in_its_passage_and_in_its_question(question):
    for hop in question.decomposition:
        subject = fill(hop.subject, question)
        assert stands_in(subject, whole(question.supporting[hop.support])), hop
        assert stands_in(subject, fill(hop.question, question)), hop


@each_question
def test_no_other_passage_holds_both_subject_and_answer_of_a_hop(question):
    for hop in question.decomposition:
        subject = fill(hop.subject, question)
        holders = [p for p in MiniHop.passages if stands_in(subject, whole(p)) and stands_in(hop.answer, whole(p))]
        assert holders == [question.supporting[hop.support]], hop


@each_question
def test_each_hop_has_a_passage_of_its_own_and_they_come_in_chain_order(question):
    assert [hop.support for hop in question.decomposition] == list(range(question.hops))
    assert len(question.supporting) == question.hops


# --- the chains


@each_question
def test_placeholders_name_earlier_hops_only(question):
    for position, hop in enumerate(question.decomposition, start=1):
        for text in (hop.question, hop.subject):
            assert all(1 <= number < position for number in references(text)), hop


@each_bridge
def test_a_bridge_goes_through_every_hop_and_names_only_its_first_entity(question):
    first, *later = question.decomposition
    assert stands_in(first.subject, question.question)
    for position, hop in enumerate(later, start=2):
        assert references(hop.subject) == [position - 1]
    for hop in question.decomposition:
        assert not stands_in(hop.answer, question.question), hop
    assert question.answer == question.decomposition[-1].answer


@each_comparison
def test_a_comparison_answers_with_one_of_the_things_it_names_or_with_yes_or_no(question):
    named = [hop.subject for hop in question.decomposition if not references(hop.subject)]
    assert len(named) == 2
    assert all(stands_in(subject, question.question) for subject in named)
    if question.type == "yes_no":
        assert question.answer in {"yes", "no"}
    else:
        assert question.answer in named


@each_bridge
def test_the_first_entity_alone_does_not_give_the_answer(question):
    subject = question.decomposition[0].subject
    assert not [
        p.title for p in MiniHop.passages if stands_in(subject, whole(p)) and stands_in(question.answer, p.text)
    ]


# Worked out by hand from the hop answers: the comparison itself is no hop, so nothing else checks it.
COMPARED = {
    "Which was lit first, the Ulmsey Point Lighthouse or the Cold Ness Light?": (["1809", "1826"], 0),
    "Which film has the director who was born earlier, The Winter Ferryman or A Coat for the Bishop?": (
        ["Halldis Aurevik", "Pirmin Castavole", "1921", "1908"],
        1,
    ),
    "Which is longer, the Corrie Gate Tunnel or the Hundred Steps Tunnel?": (["4,180 metres", "3,650 metres"], 0),
    "Which opened first, the Museum of Buttons or the Museum of Knots?": (["1912", "1949"], 0),
    "Which opera has the librettist who died earlier, The Glass Abbess or Midnight at the Tollhouse?": (
        ["Verity Osgarth", "Lucan Brandreth-Ash", "1933", "1919"],
        1,
    ),
    "Were the violinist Ferran Adoulle and the botanist Mirabel Stroudley born in the same town?": (
        ["Lethaven", "Lethaven"],
        "yes",
    ),
    "Are the makers of the Ostrich bicycle and the Nightjar typewriter based in the same country?": (
        ["Dunnock & Fiske", "Lindemar Instruments", "Oruwa", "Ilvermark"],
        "no",
    ),
    "Did the architect of the Meridian Baths die before the Sandrelle Opera House opened?": (
        ["Ottokar Lindhalm", "1926", "1931"],
        "yes",
    ),
    "Were the Ardlow Viaduct and the Corrowdale Viaduct built of the same stone?": (
        ["red sandstone", "grey granite"],
        "no",
    ),
}


def test_the_verdict_of_each_comparison_follows_from_its_hops():
    compared = {question.question: question for question in COMPARISONS}
    assert compared.keys() == COMPARED.keys()
    for text, (answers, verdict) in COMPARED.items():
        question = compared[text]
        assert [hop.answer for hop in question.decomposition] == answers
        named = [hop.subject for hop in question.decomposition if not references(hop.subject)]
        assert question.answer == (verdict if isinstance(verdict, str) else named[verdict])


# --- the splits and the corpus


def test_train_and_dev_share_no_passage_and_no_hop():
    passages = [{p for q in split for p in q.supporting} for split in (MiniHop.train, MiniHop.dev)]
    assert not passages[0] & passages[1]
    hops = [
        {(fill(h.subject, q), h.answer) for q in split for h in q.decomposition}
        for split in (MiniHop.train, MiniHop.dev)
    ]
    assert not hops[0] & hops[1]


def test_counts():
    assert (len(MiniHop.train), len(MiniHop.dev)) == (12, 28)
    assert 140 <= len(MiniHop.passages) <= 170
    assert {q.hops for q in MiniHop.train} == {q.hops for q in MiniHop.dev} == {2, 3, 4}
    assert Counter(q.type for q in QUESTIONS) == {"bridge": 31, "comparison": 5, "yes_no": 4}
    assert {q.answer for q in QUESTIONS if q.type == "yes_no"} == {"yes", "no"}


def test_question_ids_are_unique_and_begin_with_the_hop_count():
    assert len({q.id for q in QUESTIONS}) == 40
    assert len({q.question for q in QUESTIONS}) == 40
    assert all(re.fullmatch(rf"{q.hops}hop__mh_(dev|train)_\d\d", q.id) for q in QUESTIONS)


def test_supporting_passages_and_contexts_come_from_the_corpus():
    corpus = set(MiniHop.passages)
    gold = {"train": set(), "dev": set()}
    for split in gold:
        gold[split] = {p for q in getattr(MiniHop, split) for p in q.supporting}
    for question in QUESTIONS:
        assert set(question.supporting) <= set(question.context) <= corpus
        assert len(question.context) == len(set(question.context)) == 10
    for split, other in (("train", "dev"), ("dev", "train")):
        assert not {p for q in getattr(MiniHop, split) for p in q.context} & gold[other]


def test_at_least_three_titles_repeat_with_different_texts():
    assert len(set(MiniHop.passages)) == len(MiniHop.passages)
    repeated = [title for title, count in Counter(p.title for p in MiniHop.passages).items() if count > 1]
    assert sorted(repeated) == ["Jonas Ettrickson", "The Long Tide", "The Salt Widow", "Wendmoor"]


def test_the_corpus_is_in_hash_order_so_that_position_tells_nothing():
    def digest(passage):
        return hashlib.sha256(whole(passage).encode()).hexdigest()

    assert list(MiniHop.passages) == sorted(MiniHop.passages, key=digest)


def test_passages_are_short_paragraphs():
    for passage in MiniHop.passages:
        assert 40 <= len(passage.text.split()) <= 90, passage.title
        assert passage.text.endswith("."), passage.title
        assert 2 <= len(re.findall(r"\.(?= |$)", passage.text)) <= 6, passage.title


# --- the Benchmark object


def test_examples_carry_what_metrics_read_and_ask_only_the_question():
    example = MiniHop.question("2hop__mh_dev_17").example()
    assert example.inputs().toDict() == {"question": "Who was the mother of the composer of the opera The Salt Widow?"}
    assert (example.id, example.hops, example.type) == ("2hop__mh_dev_17", 2, "bridge")
    assert (example.answer, example.answers) == ("Delphine Arrowby", ["Delphine Arrowby"])
    assert [p["title"] for p in example.supporting] == ["The Salt Widow", "Anselm Torvick"]
    assert example.decomposition[1] == {
        "question": "Who was the mother of #1?",
        "answer": "Delphine Arrowby",
        "support": 1,
        "subject": "#1",
    }
    assert "context" not in example


def test_devset_and_trainset_are_new_examples_each_time():
    assert (len(MiniHop.devset), len(MiniHop.trainset)) == (28, 12)
    MiniHop.devset[0].answer = "changed"
    assert MiniHop.devset[0].answer != "changed"
    assert [example.id for example in MiniHop.devset] == [question.id for question in MiniHop.dev]


def test_corpus_rows_have_unique_opaque_ids_that_lead_back_to_the_gold_passages():
    rows = {passage_id: (title, text) for passage_id, title, text in MiniHop.corpus}
    assert len(rows) == len(MiniHop.passages)
    assert all(re.fullmatch(r"mh-[0-9a-f]{12}", passage_id) for passage_id in rows)
    for question in QUESTIONS:
        for paragraph in question.supporting:
            assert rows[MiniHop.passage_id(paragraph)] == (paragraph.title, paragraph.text)


def test_an_unknown_question_id_is_named():
    with pytest.raises(UserError, match="MiniHop has no question '5hop__x'"):
        MiniHop.question("5hop__x")


def test_demo_questions_are_a_two_hop_a_longer_chain_and_a_comparison_of_dev():
    dev = {question.id for question in MiniHop.dev}
    assert set(DEMO_QUESTIONS) <= dev
    two, longer, compared = map(MiniHop.question, DEMO_QUESTIONS)
    assert (two.hops, two.type) == (2, "bridge")
    assert longer.hops in {3, 4}
    assert longer.type == "bridge"
    assert compared.type == "comparison"


def test_reading_minihop_loads_nothing_heavy():
    code = (
        "import sys; from executionrag import MiniHop; MiniHop.corpus; "
        "print([m for m in ('dspy', 'torch', 'faiss', 'numpy', 'sentence_transformers') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
