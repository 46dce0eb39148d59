"""A passage: the unit that searches return and registers cite."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Passage:
    """One retrievable text.

    Attributes:
        id: Identifier, unique in its corpus.
        title: Title of the source document; may be blank.
        text: The passage itself, never blank.
        document: Id of the source document (equal to `id` where the document is one passage).
        position: Number of this chunk within its document, from 0.
    """

    id: str
    title: str
    text: str
    document: str
    position: int

    @property
    def embedding_text(self) -> str:
        """What is embedded and indexed by keyword: title, newline, text; the text alone without a title."""
        return titled(self.title, self.text)


def titled(title: str, text: str) -> str:
    """`text` under its title, as it is embedded."""
    return f"{title}\n{text}" if title.strip() else text
