import json
from pathlib import Path

import pytest

from executionrag.retrievers.corpus import passages_from_rows
from executionrag.retrievers.encoder_files import DEFAULT_ENCODER, locate
from executionrag.retrievers.index import Index
from executionrag.retrievers.passage import Passage

# Invented facts, two passages that share a title, a document long enough to be cut, and text that is hard to tokenise.
ROWS = [
    ("ada", "Ada Vell", "Ada Vell founded the Orlin Observatory in 1871. She was born in the harbour town of Mereth."),
    ("orlin", "Orlin Observatory", "The Orlin Observatory stands on Mount Sarn. Its director is Tomas Hale."),
    ("orlin-book", "Orlin Observatory", "Orlin Observatory is a novel by Pia Lund about two rival astronomers."),
    ("mereth", "Mereth", "Mereth is a harbour town on the river Quill. Its cathedral was built of red brick."),
    ("cpp", "C++", "C++ is a programming language with templates. It grew out of C with classes."),
    ("x", "X", "X is a letter. The unknown of an equation is often called X."),
    ("tokyo", "東京", "東京は日本の首都です。人口は約1400万人です。"),
    ("glenan", "Glénan Islands", "The Glénan islands lie off the coast of Finistère."),
    ("untitled", "", "A passage without any title tells of lighthouses and fog."),
]
LONG = " ".join(f"Chapter {number} tells how the whale number {number} crossed the sea." for number in range(60))


@pytest.fixture(scope="session")
def passages() -> list[Passage]:
    return passages_from_rows([*ROWS, ("whales", "The Whales", LONG)], chunk_tokens=120, whole_tokens=120)


@pytest.fixture(scope="session")
def passage_index(passages: list[Passage], tmp_path_factory: pytest.TempPathFactory) -> Index:
    return Index.build(passages, tmp_path_factory.mktemp("index") / "passage")


@pytest.fixture(scope="session")
def sentence_index(passages: list[Passage], tmp_path_factory: pytest.TempPathFactory) -> Index:
    return Index.build(passages, tmp_path_factory.mktemp("index") / "sentence", granularity="sentence")


@pytest.fixture
def copy_encoder(tmp_path: Path):
    """Makes a copy of the default encoder's folder, with its weights linked and other pooling options."""

    def copy(name: str, **pooling: object) -> Path:
        source, target = locate(DEFAULT_ENCODER), tmp_path / name
        for file in source.rglob("*"):
            place = target / file.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            if file.suffix == ".safetensors":
                place.symlink_to(file.resolve())
            elif file.is_file():
                place.write_bytes(file.read_bytes())
        config = target / "1_Pooling" / "config.json"
        config.write_text(json.dumps(json.loads(config.read_text()) | pooling))
        return target

    return copy
