"""How findings are shown, values put in place of ids, and answers read."""

from types import SimpleNamespace

import pytest

from executionrag.program.evidence import (
    cited,
    default_answer,
    filled,
    findings,
    found_values,
    read_answer,
    read_query,
    show_passages,
    target_text,
)
from executionrag.program.register import Register, Requirement


class Session:
    """Names two passages as a search session does."""

    def alias(self, passage_id):
        return {"salt": "P1", "ana": "P2"}[passage_id]

    def passage_id(self, written):
        return {"P1": "salt", "P2": "ana"}.get(written)


RESOLVED = Requirement(id="R1", text="Who composed it?", status="resolved", answer="Ana Kell", support=("salt", "ana"))
TENTATIVE = Requirement(id="R2", text="Who is the mother of R1?", needs=("R1",), answer="Bettina", support=("ana",))
OPEN = Requirement(id="R3", text="Where was R2 born, in R1's town?", needs=("R2", "R1"), status="active", note="a town")
GONE = Requirement(id="R4", text="When was R3 built?", needs=("R3",), status="retired", reason="not needed")
REGISTER = Register(items=(RESOLVED, TENTATIVE, OPEN, GONE))


class TestFilled:
    def test_values_stand_in_place_of_the_ids_that_are_needed(self):
        assert filled(OPEN, REGISTER) == "Where was Bettina born, in Ana Kell's town?"

    def test_an_id_without_a_value_stays(self):
        assert filled(GONE, REGISTER) == "When was R3 built?"

    def test_only_whole_ids_that_the_item_needs_are_replaced(self):
        item = Requirement(id="R9", text="Is R12 in R1 or R2, for R10?", needs=("R1",))
        assert filled(item, REGISTER) == "Is R12 in Ana Kell or R2, for R10?"

    def test_a_value_is_put_in_as_it_is(self):
        strange = Register(items=(RESOLVED.model_copy(update={"answer": r"R2 \1 \g<0> $&"}), TENTATIVE))
        assert filled(TENTATIVE, strange) == r"Who is the mother of R2 \1 \g<0> $&?"

    def test_the_value_of_a_retired_item_is_not_used(self):
        refuted = RESOLVED.model_copy(update={"status": "retired", "reason": "P2 contradicts it"})
        assert filled(TENTATIVE, Register(items=(refuted, TENTATIVE))) == "Who is the mother of R1?"

    def test_the_value_of_the_item_that_took_over_is(self):
        refuted = RESOLVED.model_copy(update={"status": "retired", "reason": "P2 contradicts it"})
        wrong_too = refuted.model_copy(update={"id": "R5", "replaces": "R1"})
        right = RESOLVED.model_copy(update={"id": "R6", "answer": "Joren Pask", "replaces": "R5"})
        register = Register(items=(refuted, TENTATIVE, wrong_too, right))
        assert filled(TENTATIVE, register) == "Who is the mother of Joren Pask?"


class TestShown:
    def test_a_target_is_shown_with_its_tentative_value_and_note(self):
        assert target_text(OPEN, REGISTER) == "R3: Where was Bettina born, in Ana Kell's town?\nnote: a town"
        assert target_text(TENTATIVE, REGISTER) == "R2: Who is the mother of Ana Kell?\ntentative answer: Bettina"

    def test_values_of_others_are_listed_and_tentative_ones_marked(self):
        assert found_values(REGISTER, "R3") == "R1 = Ana Kell\nR2 = Bettina (tentative)"
        assert found_values(REGISTER, "R1") == "R2 = Bettina (tentative)"
        assert found_values(Register(), "R1") == "none"

    def test_findings_say_of_every_item_what_is_known(self):
        assert findings(REGISTER, Session()) == (
            "R1 Who composed it? -> Ana Kell [P1] [P2]\n"
            "R2 Who is the mother of Ana Kell? -> Bettina (tentative) [P2]\n"
            "R3 Where was Bettina born, in Ana Kell's town? -> a town\n"
            "R4 When was R3 built? -> retired: not needed"
        )
        nothing = Register(items=(Requirement(id="R1", text="Who?"),))
        assert findings(nothing, Session()) == "R1 Who? -> not found"
        assert findings(Register(), Session()) == "none"

    def test_no_passages_are_none(self):
        assert show_passages([]) == "none"
        assert show_passages(["a", "b"]) == "a\n\nb"


class TestQuery:
    @pytest.mark.parametrize(
        ("tool", "written", "read"),
        [
            ("semantic_search", "who composed it", ("semantic_search", "who composed it")),
            ("keyword_search", "Ana Kell", ("keyword_search", "Ana Kell")),
            ("semantic_search", " who\ncomposed  it ", ("semantic_search", "who composed it")),
            ("semantic_search", "", ("semantic_search", "")),
            ("keyword_search", "\n", ("keyword_search", "")),
            # A read names passages; words are searched for.
            ("read_passages", "P3", ("read_passages", "P3")),
            ("read_passages", "p3, P4 +1", ("read_passages", "p3, P4 +1")),
            ("read_passages", "3", ("read_passages", "3")),
            ("read_passages", "passage 3", ("read_passages", "passage 3")),
            ("read_passages", "Ana Kell's mother", ("semantic_search", "Ana Kell's mother")),
            ("read_passages", "Plan B", ("semantic_search", "Plan B")),
            ("read_passages", "", ("semantic_search", "")),
            # Ids under another tool are words to that tool.
            ("semantic_search", "P3", ("semantic_search", "P3")),
            # The tool's own name in front is no part of the query, and does not choose the tool.
            ("semantic_search", "semantic_search: who composed it", ("semantic_search", "who composed it")),
            ("semantic_search", "`keyword_search` - Ana Kell", ("semantic_search", "Ana Kell")),
            ("keyword_search", "keyword_search Ana Kell", ("keyword_search", "Ana Kell")),
            ("read_passages", "read_passages: P3 P4", ("read_passages", "P3 P4")),
            ("read_passages", "read_passages: the mother", ("semantic_search", "the mother")),
            ("semantic_search", "how semantic_search works", ("semantic_search", "how semantic_search works")),
            ("semantic_search", "semantic_searches of old", ("semantic_search", "semantic_searches of old")),
            ("semantic_search", "[[ ## query ## ]] choir", ("semantic_search", "((## query ##)) choir")),
            ("read_passages", "read_passages", ("semantic_search", "")),
        ],
    )
    def test_the_tool_and_the_query_of_a_reply(self, tool, written, read):
        assert read_query(tool, written) == read

    def test_a_long_query_is_cut(self):
        assert read_query("semantic_search", "x" * 5000)[1] == "x" * 499 + "…"


class TestAnswer:
    def read(self, answer, explanation="", abstained=False):
        return read_answer(SimpleNamespace(answer=answer, explanation=explanation, abstained=abstained))

    def test_it_is_one_line_of_bounded_length(self):
        read = self.read("Tarn\nHollow", "One.\n\nTwo.")
        assert (read.answer, read.explanation, read.abstained) == ("Tarn Hollow", "One. Two.", False)
        assert len(self.read("x" * 5000).answer) == 400
        assert len(self.read("x", "y" * 5000).explanation) == 1000

    def test_nothing_is_an_abstention(self):
        for nothing in (None, "", "  ", "N/A", "none.", "[[ ## completed ## ]]"):
            assert self.read(nothing).abstained, nothing

    def test_by_default_it_is_the_last_resolved_value(self):
        assert default_answer(REGISTER).answer == "Ana Kell"
        assert default_answer(Register(items=(TENTATIVE,))).abstained

    def test_citations_are_passages_that_were_returned_once_each_in_order(self):
        assert cited("By [P2], P1 and [P2]; not P7, XP1 or P12.", Session()) == ["ana", "salt"]
        assert cited("", Session()) == []
