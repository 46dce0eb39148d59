"""One question's search session: the tools, session aliases, repeats and provenance.

The LM sees passages as P1, P2, … in the order of their arrival, never ids or positions of the corpus, and can read only
what this session has returned, with neighbours in the same source document. A repeated query is not searched again: it
gives the earlier hits and says so. Nothing that an LM writes raises: what cannot be used is refused in the result's
note. A session belongs to one question and is not shared by threads; the index behind it is. An agent chooses among
three tools (`Tool`); the graph search is a system's own way to gather evidence, which no LM can call.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..errors import UserError
from .aliases import parse_reads, read_alias
from .index import Index, Match
from .passage import Passage
from .text import replace_surrogates, squeeze

Tool = Literal["semantic_search", "keyword_search", "read_passages"]
"""What an agent may call."""
AnyTool = Tool | Literal["graph_search"]
"""What may have brought a passage."""

#: A read gives at most this many neighbours on each side, whatever is asked for.
MAX_NEIGHBOURS = 5
# As much of an id that an LM wrote is repeated to it.
_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Hit:
    """One passage in a result.

    Attributes:
        alias: Its name in this session ("P3").
        passage_id: Its id in the corpus, never shown to the LM.
        title: Its title; may be blank.
        text: The whole text, or the matching sentences at sentence granularity.
        score: Cosine, BM25 or share of the best PageRank; None for a read.
        rank: Place in the result, from 1.
        new: This session returned it for the first time here.
        full: `text` is the whole passage.
    """

    alias: str
    passage_id: str
    title: str
    text: str
    score: float | None
    rank: int
    new: bool
    full: bool


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What one tool call gave.

    Attributes:
        tool: The tool.
        query: What was asked, as written (for a read, the aliases).
        hits: The passages, best first.
        repeated: An earlier call asked the same; nothing was searched.
        note: What the model should be told; blank when the hits say all.
    """

    tool: AnyTool
    query: str
    hits: tuple[Hit, ...]
    repeated: bool
    note: str


@dataclass(frozen=True, slots=True)
class Provenance:
    """How a passage first came into the session.

    Attributes:
        passage_id: Its id in the corpus.
        alias: Its name in the session.
        loop: The retrieval loop that brought it (0 is the seed).
        tool: The tool that brought it.
        query: The query that brought it.
        rank: Its rank in that result, from 1.
        full: Its whole text has been shown in this session, then or later.
    """

    passage_id: str
    alias: str
    loop: int
    tool: AnyTool
    query: str
    rank: int
    full: bool


class SearchSession:
    """The tools over one index for one question."""

    def __init__(self, index: Index, *, k: int = 5, deduplicate: bool = True) -> None:
        """Start with nothing returned.

        Args:
            index: What is searched.
            k: Passages a search, where a call does not say.
            deduplicate: Answer a repeated query from memory. Repeats are counted either way.
        """
        if k < 1:
            raise UserError(f"k is {k}; a search needs at least 1 passage")
        self.index = index
        self.k = k
        self.deduplicate = deduplicate
        self.repeats = 0
        self._aliases: dict[str, str] = {}
        self._ids: list[str] = []
        self._arrivals: list[Provenance] = []
        self._answered: dict[tuple[object, ...], SearchResult] = {}
        self._passages: dict[str, Passage] = {}

    def semantic_search(self, query: str, *, k: int | None = None, loop: int) -> SearchResult:
        """Search by meaning."""
        return self._search("semantic_search", self.index.semantic_search, query, k, loop)

    def keyword_search(self, query: str, *, k: int | None = None, loop: int) -> SearchResult:
        """Search by words (BM25)."""
        return self._search("keyword_search", self.index.keyword_search, query, k, loop)

    def graph_search(self, query: str, *, k: int | None = None, loop: int) -> SearchResult:
        """Search the entity graph; gives whole passages at either granularity."""
        return self._search("graph_search", self.index.graph_search, query, k, loop)

    def read_passages(self, aliases: Sequence[str], *, neighbours: int = 0, loop: int) -> SearchResult:
        """Give the whole text of passages that this session returned, each among its neighbours in its document.

        Args:
            aliases: Session aliases, leniently read; unknown ones are refused in the note.
            neighbours: Chunks of the same document to add on each side.
            loop: The retrieval loop.
        """
        distance = max(0, min(neighbours, MAX_NEIGHBOURS))
        aliases = [replace_surrogates(str(alias))[0].strip()[:_SHOWN] for alias in aliases]
        aliases = [alias for alias in aliases if alias]
        query = ", ".join(aliases) + (f" +{neighbours}" if neighbours > 0 else "")
        known = list(dict.fromkeys(found for alias in aliases if (found := self.passage_id(alias)) is not None))
        refused = list(dict.fromkeys(alias for alias in aliases if self.passage_id(alias) is None))
        note = f"unknown ids refused: {', '.join(refused)}" if refused else ""
        if not known:
            return SearchResult("read_passages", query, (), False, note or "nothing to read: no passage id was given")
        key = ("read_passages", tuple(sorted(known)), distance)
        if (earlier := self._earlier(key, query)) is not None:
            return replace(earlier, note="; ".join(filter(None, (earlier.note, note))))
        shown = {passage.id: passage for passage_id in known for passage in self._around(passage_id, distance)}
        result = self._record("read_passages", query, [(passage, None, ()) for passage in shown.values()], loop, note)
        self._answered[key] = replace(result, note="")
        return result

    def run(self, tool: AnyTool, query: str, *, k: int | None = None, loop: int) -> SearchResult:
        """Call a tool by name. For `read_passages` the query holds aliases: "P3, P4 +1" adds a neighbour a side."""
        if tool == "read_passages":
            aliases, neighbours = parse_reads(query)
            result = self.read_passages(aliases, neighbours=neighbours, loop=loop)
            return replace(result, query=replace_surrogates(query)[0])
        if tool == "keyword_search":
            return self.keyword_search(query, k=k, loop=loop)
        if tool == "graph_search":
            return self.graph_search(query, k=k, loop=loop)
        return self.semantic_search(query, k=k, loop=loop)

    def alias(self, passage_id: str) -> str:
        """The session's name of a passage that it returned.

        Raises:
            KeyError: It was never returned.
        """
        return self._aliases[passage_id]

    def passage_id(self, written: str) -> str | None:
        """The passage that an LM means by "P3", "p3", "[P3]", "3" or "passage 3"; None if it was never returned."""
        number = read_alias(written)
        return self._ids[number - 1] if number is not None and 1 <= number <= len(self._ids) else None

    def passage(self, passage_id: str) -> Passage:
        """A passage by its id.

        Raises:
            KeyError: The corpus has no such passage.
        """
        if passage_id not in self._passages:
            self._passages[passage_id] = self.index.passage(passage_id)
        return self._passages[passage_id]

    @property
    def retrieved(self) -> tuple[Provenance, ...]:
        """Every passage returned so far, in order of arrival."""
        return tuple(self._arrivals)

    def _search(
        self, tool: AnyTool, search: Callable[[str, int], list[Match]], query: str, k: int | None, loop: int
    ) -> SearchResult:
        count = self.k if k is None else k
        query = replace_surrogates(query)[0]
        if not query.strip():
            return SearchResult(tool, query, (), False, "a blank query: nothing was searched")
        key = (tool, squeeze(query), count)
        if (earlier := self._earlier(key, query)) is not None:
            return earlier
        matches = [(self.passage(match.passage_id), match.score, match.snippets) for match in search(query, count)]
        result = self._record(tool, query, matches, loop, "" if matches else "no passage matches")
        self._answered[key] = result
        return result

    def _earlier(self, key: tuple[object, ...], query: str) -> SearchResult | None:
        """The answer to a repeat, or None for what is to be searched."""
        earlier = self._answered.get(key)
        if earlier is None:
            return None
        self.repeats += 1
        if not self.deduplicate:
            return None
        note = "repeat of an earlier query: " + ("same passages" if earlier.hits else "again no passage matches")
        return replace(
            earlier, query=query, hits=tuple(replace(hit, new=False) for hit in earlier.hits), repeated=True, note=note
        )

    def _record(
        self,
        tool: AnyTool,
        query: str,
        found: Sequence[tuple[Passage, float | None, tuple[str, ...]]],
        loop: int,
        note: str,
    ) -> SearchResult:
        """Name the passages found, remember how they came, and make the result."""
        hits = []
        for rank, (passage, score, snippets) in enumerate(found, start=1):
            text = " ".join(snippets) or passage.text
            full = not snippets or text.strip() == passage.text.strip()
            new = passage.id not in self._aliases
            if new:
                self._ids.append(passage.id)
                alias = self._aliases[passage.id] = f"P{len(self._ids)}"
                self._arrivals.append(Provenance(passage.id, alias, loop, tool, query, rank, full))
            alias = self._aliases[passage.id]
            place = int(alias[1:]) - 1
            if full and not self._arrivals[place].full:
                self._arrivals[place] = replace(self._arrivals[place], full=True)
            hits.append(Hit(alias, passage.id, passage.title, text, score, rank, new, full))
        return SearchResult(tool, query, tuple(hits), False, note)

    def _around(self, passage_id: str, distance: int) -> list[Passage]:
        around = [self.passage(passage_id)]
        if distance:
            around += self.index.neighbours(passage_id, distance)
        return sorted(around, key=lambda passage: (passage.position, passage.id))
