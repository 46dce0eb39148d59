"""The sentences of an index at sentence granularity: where each lies, and which of a passage hold a query's words."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .chunking import sentence_spans
from .files import write_array
from .passage import Passage, titled
from .tokens import tokens

if TYPE_CHECKING:
    import numpy as np

SENTENCES = "sentences.npy"
#: A keyword hit shows at most this many sentences of a passage.
MAX_SNIPPETS = 3


def all_spans(passages: Sequence[Passage]) -> "np.ndarray":
    """The place of every sentence as (row of its passage, start, end in characters), int64 of shape (sentences, 3)."""
    import numpy as np

    spans = [(row, *span) for row, passage in enumerate(passages) for span in sentence_spans(passage.text)]
    return np.array(spans, dtype=np.int64).reshape(-1, 3)


def embedded_texts(passages: Sequence[Passage], spans: "np.ndarray | None") -> Iterator[str]:
    """The texts that are embedded, row by row: passages, or where there are places of sentences, those, titled."""
    if spans is None:
        yield from (passage.embedding_text for passage in passages)
        return
    last, passage = -1, passages[0]
    for row, start, end in spans.tolist():
        if row != last:
            last, passage = row, passages[row]
        yield titled(passage.title, passage.text[start:end])


def write(spans: "np.ndarray", folder: Path) -> None:
    """Write the places of sentences."""
    write_array(folder / SENTENCES, spans)


class SentenceStore:
    """The stored sentence places, memory-mapped, in the order of passages and text."""

    def __init__(self, folder: Path) -> None:
        """Map the file.

        Raises:
            ValueError, OSError: It cannot be read as what it should be.
        """
        import numpy as np

        self._spans = np.load(folder / SENTENCES, mmap_mode="r", allow_pickle=False)
        if self._spans.ndim != 2 or self._spans.shape[1] != 3:
            raise ValueError("not a table of sentence places")
        self._rows = self._spans[:, 0]

    def __len__(self) -> int:
        return len(self._spans)

    def owners(self, sentences: "np.ndarray") -> "np.ndarray":
        """The passage rows of sentences."""
        owners: np.ndarray = self._rows[sentences]
        return owners

    def best_of_passages(self, scores: "np.ndarray", passages: int) -> "np.ndarray":
        """The best score of each passage's sentences, float32 of shape (passages,), from those of all sentences."""
        import numpy as np

        best = np.full(passages, -np.inf, dtype=np.float32)
        np.maximum.at(best, self._rows, scores)
        best[np.isneginf(best)] = scores.min()  # a passage without a sentence
        return best

    def span(self, sentence: int) -> tuple[int, int, int]:
        """(row of its passage, start, end) of a sentence."""
        row, start, end = self._spans[sentence].tolist()
        return row, start, end

    def with_words(self, row: int, passage: Passage, query: str) -> tuple[str, ...]:
        """The sentences of a passage that hold most of the query's words, in the order of the text.

        Where only the title holds any, the first sentence stands for the passage.
        """
        import numpy as np

        first, last = np.searchsorted(self._rows, [row, row + 1]).tolist()
        texts = [passage.text[start:end] for _, start, end in self._spans[first:last].tolist()]
        wanted = set(tokens(query))
        shared = [len(wanted.intersection(tokens(text))) for text in texts]
        best = sorted((place for place, count in enumerate(shared) if count), key=lambda place: (-shared[place], place))
        return tuple(texts[place] for place in sorted(best[:MAX_SNIPPETS])) or tuple(texts[:1])
