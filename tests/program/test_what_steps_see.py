"""The exact inputs of every step over the three loops of a chain, with two passages a search."""

import itertools

import pytest

QUESTION = "Where was the mother of the composer of The Salt Choir born?"
SALT = "[P1] The Salt Choir\nThe Salt Choir is an opera in three acts composed by Ana Kell for the Orrim festival."
ANA = "[P2] Ana Kell\nAna Kell was a composer. Her mother was the glassblower Bettina Moore."
BETTINA = "[P3] Bettina Moore\nBettina Moore was a glassblower who was born in the harbour town of Tarn Hollow."

REGISTER = (
    "Register\n"
    "R1 [open] Who composed The Salt Choir?\n"
    "R2 [open] Who is the mother of R1? | needs R1\n"
    "R3 [open] Where was R2 born? | needs R2\n"
    f'Loop 0: semantic_search "{QUESTION}" -> P1, P2'
)
LOOP_1 = (
    '\nLoop 1 for R1: keyword_search "choir festival" -> P1'
    "\nR1 [resolved] answer: Ana Kell | note: composed it | support: P1"
)
LOOP_2 = (
    '\nLoop 2 for R2: keyword_search "mother Bettina" -> P2, P3'
    "\nR2 [open] tentative answer: Bettina Moore | support: P2"
    "\nR3 [open] note: a glassblower"
)


@pytest.fixture
def played(play, chain, replies, read):
    queries = {"R1": "choir festival", "R2": "mother Bettina", "R3": "glassblower Bettina"}
    updates = {
        "R1": [replies.change("R1", "resolved", answer="Ana Kell", support=["P1"], note="composed it")],
        "R2": [
            replies.change("R2", answer="Bettina Moore", support=["P2"]),
            replies.change("R3", note="a glassblower"),
        ],
        "R3": [replies.change("R3", "resolved", answer="Tarn Hollow", support=["P3"])],
    }
    script = {
        **chain,
        "select": lambda _: replies.select("R3"),
        "write_query": lambda inputs: replies.write_query(queries[read.target_id(inputs)], "keyword_search"),
        "update": lambda inputs: replies.update(*updates[read.target_id(inputs)]),
    }
    return play(script, k=2, max_loops=3)


def test_the_steps_asked(played):
    assert played.asked == [
        "initialize",
        "write_query",
        "update",
        "write_query",
        "update",
        "select",  # R2 is tentative, so R3 is ready beside it: the one choice of this chain
        "write_query",
        "update",
        "force_answer",
    ]


def test_initialise_sees_question_and_seed_passages(played):
    assert played.inputs("initialize") == [{"question": QUESTION, "passages": f"{SALT}\n\n{ANA}"}]


def test_select_sees_the_progress_and_the_ids_to_choose_from(played):
    assert played.inputs("select") == [
        {"question": QUESTION, "progress": REGISTER + LOOP_1 + LOOP_2, "open_ids": "R2, R3"}
    ]


def test_write_query_sees_the_progress_its_target_and_the_values_found(played):
    assert played.inputs("write_query") == [
        {
            "question": QUESTION,
            "progress": REGISTER,
            "target": "R1: Who composed The Salt Choir?",
            "found_values": "none",
            "tried_queries": "none",
            "advice": "none",
        },
        {
            "question": QUESTION,
            "progress": REGISTER + LOOP_1,
            "target": "R2: Who is the mother of Ana Kell?",
            "found_values": "R1 = Ana Kell",
            "tried_queries": "none",
            "advice": "none",
        },
        {
            "question": QUESTION,
            "progress": REGISTER + LOOP_1 + LOOP_2,
            "target": "R3: Where was Bettina Moore born?\nnote: a glassblower",
            "found_values": "R1 = Ana Kell\nR2 = Bettina Moore (tentative)",
            "tried_queries": "none",
            "advice": "none",
        },
    ]


def test_update_sees_the_progress_its_target_and_only_the_new_passages(played):
    assert played.inputs("update") == [
        {
            "question": QUESTION,
            "progress": REGISTER,
            "target": "R1: Who composed The Salt Choir?",
            "new_passages": SALT,
            "advice": "none",
        },
        {
            "question": QUESTION,
            "progress": REGISTER + LOOP_1,
            "target": "R2: Who is the mother of Ana Kell?",
            "new_passages": f"{ANA}\n\n{BETTINA}",
            "advice": "none",
        },
        {
            "question": QUESTION,
            "progress": REGISTER + LOOP_1 + LOOP_2,
            "target": "R3: Where was Bettina Moore born?\nnote: a glassblower",
            "new_passages": f"{BETTINA}\n\n{ANA}",
            "advice": "none",
        },
    ]


def test_the_forced_answer_sees_the_findings_and_the_supporting_passages_first(played):
    assert played.inputs("force_answer") == [
        {
            "question": QUESTION,
            "findings": (
                "R1 Who composed The Salt Choir? -> Ana Kell [P1]\n"
                "R2 Who is the mother of Ana Kell? -> Bettina Moore (tentative) [P2]\n"
                "R3 Where was Bettina Moore born? -> Tarn Hollow [P3]"
            ),
            "passages": f"{SALT}\n\n{ANA}\n\n{BETTINA}",
        }
    ]


def test_the_answer_sees_the_same_with_other_passages_newest_first(play, chain):
    answer = play(chain).inputs("answer")[0]
    assert answer["findings"] == (
        "R1 Who composed The Salt Choir? -> Ana Kell [P1]\n"
        "R2 Who is the mother of Ana Kell? -> Bettina Moore [P2]\n"
        "R3 Where was Bettina Moore born? -> Tarn Hollow [P6]"
    )
    aliases = [line.split("]")[0] for line in answer["passages"].splitlines() if line.startswith("[P")]
    assert aliases == ["[P1", "[P2", "[P6", "[P8", "[P7", "[P3", "[P4", "[P5"]


def test_each_progress_text_begins_with_the_one_before_it(played):
    seen = [inputs["progress"] for _, inputs, _ in played.engine.prompts if "progress" in inputs]
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(seen))


def test_the_full_replay_differs_from_the_delta_in_the_register_lines_alone(play, chain):
    delta, replay = play(chain), play(chain, replay=True)
    assert delta.asked == replay.asked
    for (step, one, _), (_, other, _) in zip(delta.engine.prompts, replay.engine.prompts, strict=True):
        assert {**one, "progress": ""} == {**other, "progress": ""}, step
    assert replay.inputs("update")[1]["progress"].splitlines()[-3:] == [
        "R1 [resolved] Who composed The Salt Choir? | answer: Ana Kell | support: P1",
        "R2 [open] Who is the mother of R1? | needs R1",
        "R3 [open] Where was R2 born? | needs R2",
    ]
    assert replay.prediction.usage.context_tokens > delta.prediction.usage.context_tokens


def test_a_query_sees_what_was_tried_for_its_target_and_not_for_others(play, endless, replies, read):
    asked = iter(range(100))
    script = {
        **endless,
        "initialize": lambda _: replies.initialize("Who composed The Salt Choir?", "Who composed The Quiet Mill?"),
        "write_query": lambda inputs: replies.write_query(
            f"opera {read.target_id(inputs)} {next(asked)}", "keyword_search"
        ),
        "select": lambda inputs: replies.select("R2" if "Loop 2" not in inputs["progress"] else "R1"),
    }
    tried = [inputs["tried_queries"] for inputs in play(script, max_loops=3).inputs("write_query")]
    assert tried == ["none", "none", '"opera R1 0" (keyword_search)']
