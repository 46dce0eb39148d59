"""Entities of a text without a model: capitalised phrases, and the titles of passages.

No model for named entities can be had as a package with its licence and digest stated, so names are told by how they
are written. A phrase is a run of capitalised words, with what joins names inside it ("Bank of the West", "Ludwig van
Beethoven", "Apollo 11", "J. R. R. Tolkien"); a comma, a full stop or a possessive ends it. The first word of a sentence
is capitalised whatever it is: a word in the list of common words never begins a name there, another does where the
corpus writes it with a capital inside of sentences more often than small. A title is an entity of its passage, whole
and without what stands in brackets after it. Scripts without capitals have their titles only.

Entities are compared by `entity_key`. Nothing depends on the order of the corpus.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field

from .text import fold, squeeze

_COMMON = """
a about above according after again against all almost along already also although always am among an and another any
are as at away back be because been before began being below beside besides between both but by came can could despite
did do does during each early either even every few first following for formerly from had has have he her here his how
however i if in initially instead into is it its just last later like located many may meanwhile more moreover most
much my near neither never no nor not now of off often on once one only or originally other our out over people
perhaps published released she since so some sometimes soon still such than that the their them then there therefore
these they this those though three through throughout thus to today together too two under unlike until up upon
usually very was we were what when where whether which while who whom whose why will with within without would yet you
your january february march april june july august september october november december monday tuesday wednesday
thursday friday saturday sunday
"""
#: Capitalised at the start of a sentence or of a heading, they are no part of a name; alone they never are one.
COMMON = frozenset(_COMMON.split())
_JOINING = (
    "of the de la le les du des del della di da do dos das van von der den ten ter zu zur y el al bin ibn af av &"
)
_JOINS = frozenset(_JOINING.split())
_ARTICLES = ("the", "a", "an")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)$")
_TOKEN = re.compile(
    r"(?P<short>(?<!\w)(?:Capt|Col|Dr|Fr|Ft|Gen|Gov|Hon|Lt|Mr|Mrs|Ms|Mt|Prof|Rep|Rev|Sen|Sgt|St|Ste)\.(?=\s+\w))"
    r"|(?P<initials>(?<!\w)(?:(?:[^\W\d_]\.){2,}|[^\W\d_]\.(?=\s*[^\W\d_])))"
    r"|(?P<word>[^\W_]+(?:(?:['’‘ʼ`]|[-‐‑–&./](?=[^\W_]))[^\W_]+)*)"
    r"|(?P<and>&)"
    r"|(?P<end>[.!?…。！？]+[\"'’”»)\]]*(?=\s|$)|\n+)"
    r"|(?P<stop>[^\s\w]+)"
)
_POSSESSIVE = re.compile(r"['’‘ʼ`]s?$", re.IGNORECASE)
_BRACKETS = re.compile(r"\s*[(\[（][^()\[\]（）]*[)\]）]\s*$")
_LONGEST = 10


def entity_key(name: str) -> str:
    """The form by which entities are compared: folded, punctuation and space squeezed, no article before it."""
    key = _plain(squeeze(_POSSESSIVE.sub("", name.strip())))
    for article in _ARTICLES:
        if key.startswith(article + " "):
            return key[len(article) + 1 :]
    return key


def _plain(key: str) -> str:
    """Without accents where plain letters remain, as in keyword search: questions often leave them out."""
    if key.isascii():
        return key
    bare = "".join(char for char in unicodedata.normalize("NFKD", key) if not unicodedata.combining(char))
    return bare if bare.isascii() else key


def title_keys(title: str) -> list[str]:
    """The keys of a title: whole, and without a last pair of brackets ("Ana Kell (cyclist)")."""
    keys = [entity_key(title), entity_key(_BRACKETS.sub("", title))]
    return [key for key in dict.fromkeys(keys) if key]


@dataclass(frozen=True, slots=True)
class Mention:
    """A run of words written as a name.

    Attributes:
        words: As written, without possessive.
        initial: The first of them begins a sentence, so that its capital says nothing.
    """

    words: tuple[str, ...]
    initial: bool


@dataclass
class Casing:
    """How often a corpus writes each folded word with a capital inside of sentences, and how often small."""

    capital: Counter[str] = field(default_factory=Counter)
    small: Counter[str] = field(default_factory=Counter)

    def add(self, text: str) -> None:
        """Count the words of a text."""
        for word, initial in _words(text):
            if word[0].islower():
                self.small[fold(word)] += 1
            elif word[0].isupper() and not initial:
                self.capital[fold(word)] += 1

    def is_name(self, word: str) -> bool:
        """Whether a word that begins a sentence is a name wherever it stands."""
        key = fold(word)
        return key not in COMMON and self.capital[key] > self.small[key]

    def is_word(self, word: str) -> bool:
        """Whether a word that begins a sentence is an ordinary one: common, or written small more often."""
        key = fold(word)
        return key in COMMON or self.small[key] > self.capital[key]


def mentions(text: str) -> list[Mention]:
    """The runs of capitalised words of a text, in order, repeats included."""
    return list(_mentions(text))


def entity_keys(text: str, casing: Casing) -> list[str]:
    """The keys of the entities that a text names, in order, repeats included."""
    return [key for mention in _mentions(text) for key in mention_keys(mention, casing)]


def mention_keys(mention: Mention, casing: Casing) -> list[str]:
    """The keys of a mention: the whole name, and of "President of the United States" also the name after "of".

    Empty where it is no name after all.
    """
    words, doubtful = list(mention.words), mention.initial
    while words and _begins_no_name(words, casing if doubtful else None):
        # "In 1904 Anna Smith" is no year's Anna Smith, but "The 1914 FA Cup Final" is that year's.
        place = 2 if fold(words[0]) not in _ARTICLES and len(words) > 1 and words[1].isdigit() else 1
        words, doubtful = words[place:], False
    if not words or (len(words) == 1 and _ORDINAL.match(words[0])):
        return []
    if len(words) == 1 and (fold(words[0]) in COMMON or (doubtful and not casing.is_name(words[0]))):
        return []
    keys = [entity_key(" ".join(words))]
    joints = [place for place, word in enumerate(words) if word == "of"]
    keys += [entity_key(" ".join(words[place + 1 :])) for place in joints]
    return [key for key in dict.fromkeys(keys) if len(key) > 1 and not key.isdigit() and key not in COMMON]


def _begins_no_name(words: Sequence[str], casing: Casing | None) -> bool:
    """Whether the first word is none of the name; with the casing where it begins a sentence."""
    if fold(words[0]) in COMMON or words[0] in _JOINS:
        return True
    return casing is not None and len(words) > 1 and casing.is_word(words[0])


def named_in(text: str, known: Container[str]) -> list[str]:
    """Which known keys a question names, in its order: the longest runs of its words, none within another.

    A run of several words counts however it is written; a single word only with a capital (not that of a common word),
    or where the whole question is written small.
    """
    words = [word for word, _ in _words(text)]
    small = not any(word[0].isupper() for word in words)
    found, place = [], 0
    while place < len(words):
        for end in range(min(len(words), place + _LONGEST), place, -1):
            key = entity_key(" ".join(words[place:end]))
            alone = end - place == 1 or " " not in key
            capital = words[place][0].isupper() or words[end - 1][0].isupper() or small
            if key in known and not (alone and (key in COMMON or not capital)):
                found.append(key)
                place = end - 1
                break
        place += 1
    return list(dict.fromkeys(found))


def _words(text: str) -> Iterator[tuple[str, bool]]:
    """Each word without its possessive, and whether it begins a sentence."""
    initial = True
    for match in _TOKEN.finditer(text):
        if match["end"]:
            initial = True
        elif match["word"] or match["initials"] or match["short"]:
            yield _POSSESSIVE.sub("", match[0]) or match[0], initial
            initial = False


def _mentions(text: str) -> Iterator[Mention]:
    run: list[str] = []  # ends with a capitalised word or a number, perhaps with joining words after it
    pending: list[str] = []
    starts = initial = True
    for match in _TOKEN.finditer(text):
        word = match["word"] or match["initials"] or match["short"] or match["and"]
        if word is None:
            if run:
                yield Mention(tuple(run), starts)
            run, pending = [], []
            initial = initial or bool(match["end"])
            continue
        bare = _POSSESSIVE.sub("", word) or word
        if _is_capital(bare) or (_ORDINAL.match(bare) and not run) or (run and not pending and bare[0].isdigit()):
            if not run:
                starts = initial
            run += [*pending, bare]
            pending = []
            if bare != word:
                yield Mention(tuple(run), starts)
                run = []
        elif run and bare in _JOINS and len(pending) < 2:
            pending.append(bare)
        else:
            if run:
                yield Mention(tuple(run), starts)
            run, pending = [], []
        initial = False
    if run:
        yield Mention(tuple(run), starts)


def _is_capital(word: str) -> bool:
    """Whether a word is written as names are: "Kell", "NASA", "iPhone", "al-Hakam" (by a capital after the hyphen)."""
    return word[0].isupper() or (len(word) > 2 and word[0].isalpha() and any(char.isupper() for char in word[1:]))
