"""Why a wrong answer is wrong: one category each, the first that fits, and the counts that stand beside them.

In order:

1. *Not scored*: the question failed for a technical reason; it is no wrong answer of the system.
2. *Judge Error*: judged wrong, yet exact match or token contain-match says right. Impossible without a judge, and for a
   blank answer, which no judge is asked about.
3. *Gave Up*: stopped by a budget, or abstained.
4. *Unmapped*: no gold paragraph could be mapped to the corpus, so nothing can be said of the evidence.
5. *Reasoning Error*: every mapped gold paragraph was retrieved, or some requirement is a false resolution.
6. *Missing Evidence*: the rest.

Unmapped stands before the two on evidence because both need a mapped paragraph; no record fits it and one of them.

A **false resolution** is a resolved requirement whose support holds no gold passage of the question. It is an upper
bound: gold annotation is not exhaustive. Only a register can show one, so the clause alone is unfair across systems;
the category without it, and the count of wrong answers with unretrieved gold, are blind to it.
"""

from ..program.register import Requirement
from .normalize import normalize
from .record import QuestionRecord
from .score import Category

# The LM's context window limits the effective token budget: where a prompt outgrows it, the search is cut short and an
# answer forced just as at the budget's own limits.
BUDGET_STOPS = frozenset({"budget_loops", "budget_tokens", "context_overflow"})

# Imported predictions carry no `abstained`: these are read as giving up, each as whole words in a row of the normalised
# answer (no punctuation, no articles, so "don't" is "dont").
GAVE_UP_PHRASES = (
    "cannot answer",
    "cannot be determined",
    "cannot determine",
    "cannot find",
    "cant answer",
    "cant determine",
    "cant find",
    "could not be determined",
    "could not be found",
    "could not determine",
    "could not find",
    "couldnt determine",
    "couldnt find",
    "i do not know",
    "i dont know",
    "impossible to determine",
    "insufficient evidence",
    "insufficient information",
    "is not available",
    "is not known",
    "is not specified",
    "no answer found",
    "no information",
    "not able to answer",
    "not able to determine",
    "not able to find",
    "not enough evidence",
    "not enough information",
    "not possible to determine",
    "unable to answer",
    "unable to determine",
    "unable to find",
)
# These are giving up only as the whole answer: inside a longer one they may name something.
GAVE_UP_ANSWERS = frozenset({"", "na", "no answer", "noanswer", "none", "not available", "not found", "unknown"})


def failure_category(
    record: QuestionRecord,
    *,
    judge_error: bool = False,
    imported: bool = False,
    count_false_resolution: bool = True,
) -> Category:
    """The category of a question whose answer is wrong, or that failed.

    Args:
        record: The question; that its answer is wrong is for the caller to know.
        judge_error: A judge says wrong, and exact match or token contain-match right.
        imported: The answer is another system's prediction; phrases that give up count as abstaining.
        count_false_resolution: Whether a false resolution is a reasoning error.
    """
    if record.failure is not None:
        return "Not scored"
    if judge_error:
        return "Judge Error"
    if gave_up(record, imported=imported):
        return "Gave Up"
    if not record.gold_ids:
        return "Unmapped"
    if not unretrieved_gold(record) or (count_false_resolution and false_resolutions(record)):
        return "Reasoning Error"
    return "Missing Evidence"


def gave_up(record: QuestionRecord, *, imported: bool = False) -> bool:
    """Whether a budget stopped the question, or it abstained (an imported one: says so in words, or says nothing)."""
    if record.abstained or record.stop_reason in BUDGET_STOPS:
        return True
    if not imported:
        return False
    said = normalize(record.answer.replace("’", "'"))
    return said in GAVE_UP_ANSWERS or any(f" {phrase} " in f" {said} " for phrase in GAVE_UP_PHRASES)


def false_resolutions(record: QuestionRecord) -> tuple[Requirement, ...]:
    """The resolved requirements whose support holds no gold passage; none where no gold paragraph is mapped."""
    gold = set(record.gold_ids)
    resolved = (item for item in record.requirements if item.status == "resolved")
    return tuple(item for item in resolved if gold and gold.isdisjoint(item.support))


def unretrieved_gold(record: QuestionRecord) -> tuple[str, ...]:
    """The mapped gold passages that no tool returned, in the order of the paragraphs."""
    retrieved = set(record.retrieved_ids)
    return tuple(passage for passage in record.gold_ids if passage not in retrieved)


def premature_resolution(record: QuestionRecord) -> bool:
    """Whether the search ended as resolved while a mapped gold passage was unretrieved; right answers count too."""
    return record.stop_reason == "resolved" and bool(unretrieved_gold(record))
