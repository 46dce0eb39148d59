"""A report of a thousand long questions stays small."""

from executionrag.metrics.record import GoldPassage, QuestionRecord, Retrieved
from executionrag.program.register import Requirement
from executionrag.program.trajectory import Found, RegisterStep, SearchStep
from executionrag.runs.report.build import build_report
from executionrag.runs.report.page import render_html
from executionrag.runs.run_folder import RunFolder


def record(name, ids, steps):
    return QuestionRecord(
        id=name,
        question="Who is the mother of the composer of the opera that opened the house in the capital?",
        benchmark="musique",
        type="3hop1",
        hops=3,
        answers=("Bettina Moore",),
        gold=(GoldPassage(title="Title number 1", passage_id=ids[0]),),
        answer="Bettina Moore",
        stop_reason="budget_loops",
        retrieved=tuple(
            Retrieved(passage_id=one, loop=0, tool="semantic_search", query="q", rank=1, full=True) for one in ids
        ),
        trajectory=tuple(steps),
    )


def test_a_thousand_long_questions_stay_under_30_megabytes(tmp_path):
    """Fifteen loops each, five new passages a loop out of a corpus of 12,000 of MuSiQue's length."""
    texts = {
        f"p{n}": (f"Title number {n}", f"Passage {n} " + "of ordinary length, as encyclopaedias have it. " * 12)
        for n in range(12_000)
    }
    records = []
    for n in range(1_000):
        steps, ids = [], []
        for loop in range(16):
            new = [f"p{(n * 80 + loop * 5 + rank) % 12_000}" for rank in range(5)]
            ids += new
            query = f"a query of loop {loop} that is about as long as queries of language models are"
            hits = tuple(
                Found(alias=f"P{len(ids) - 5 + rank}", passage_id=one, title=texts[one][0], rank=rank, score=0.5)
                for rank, one in enumerate(new, start=1)
            )
            item = Requirement(
                id=f"R{loop % 4 + 1}",
                text=f"Who founded the institution that the requirement of loop {loop} speaks of?",
                status="active",
                note="The passages name two candidates, and the one that the question means is not told apart yet.",
                support=tuple(new[:2]),
            )
            steps += [
                SearchStep(loop=loop, target=f"R{loop % 4 + 1}", tool="semantic_search", query=query, found=hits),
                RegisterStep(loop=loop, cause="update", changed=(item,), shown="shown " * 60),
            ]
        records.append(record(f"3hop__{n}_{n * 7}", ids, steps))
    folder = RunFolder.create(tmp_path / "long", {"benchmark": "musique"}, "d", [one.id for one in records])
    with folder.appending():
        for one in records:
            folder.append(one, {key: texts[key] for key in one.retrieved_ids})
    page = render_html(build_report([folder.path]))
    assert len(page.encode("utf-8")) < 30_000_000
    assert page.count("Passage 77 of ordinary length") == 1
