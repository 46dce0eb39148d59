"""The manifest of an index folder: what it was made of, how, and what its files must be."""

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from ..errors import UserError
from .files import damaged
from .passage_backend import DType

MANIFEST = "manifest.json"
FORMAT = "executionrag-index"
#: Raised whenever an older reader would misread the folder, or tokens and ranking change.
VERSION = 2
#: The versions whose passages, sentences and vectors are stored as in this one, so that an update may keep them.
KEPT_VERSIONS = (1, VERSION)

#: The library that computed the vectors; "mixed" where an update or a resumed build went on with the other one.
ComputedBy = Literal["torch", "onnx", "mixed"]
Granularity = Literal["passage", "sentence"]


@dataclasses.dataclass(frozen=True, slots=True)
class Manifest:
    """What an index folder says about itself.

    Attributes:
        corpus_digest: SHA-256 of the stored passages, which are in the order of their ids.
        encoder: Name of the encoder, or its folder.
        encoder_digest: Identity of its weights and pooling.
        granularity: What was embedded.
        passages: How many passages.
        vectors: How many vectors (sentences or passages).
        dimension: Length of a vector.
        files: Size and SHA-256 of each file, by relative path.
        backend: What computed the vectors.
        dtype: The numbers that it computed in.
        version: Of the format.
    """

    corpus_digest: str
    encoder: str
    encoder_digest: str
    granularity: Granularity
    passages: int
    vectors: int
    dimension: int
    files: dict[str, dict[str, Any]]
    backend: ComputedBy = "torch"
    dtype: DType = "float32"
    version: int = VERSION

    @property
    def digest(self) -> str:
        """Identity of what searches return: corpus, encoder, granularity, version, and a dtype other than float32.

        The backend is no part of it: in float32 both give the same vectors within 1e-5. Nor is a graph, which
        finds what exact search finds, but for what it misses.
        """
        identity = [FORMAT, VERSION, self.corpus_digest, self.encoder_digest, self.granularity]
        if self.dtype != "float32":
            identity.append(self.dtype)
        return hashlib.sha256(json.dumps(identity).encode()).hexdigest()

    def to_json(self) -> str:
        """The file's content."""
        content = {"format": FORMAT, "version": self.version, "digest": self.digest, **dataclasses.asdict(self)}
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def read_manifest(folder: Path, *, any_version: bool = False, versions: Sequence[int] = (VERSION,)) -> Manifest:
    """Read the manifest of an index folder.

    Args:
        folder: The index folder.
        any_version: Accept an older or newer version (to replace it, not to read it).
        versions: The versions that are accepted otherwise.

    Raises:
        UserError: There is no index, or one of another version, or its manifest is damaged.
    """
    file = folder / MANIFEST
    if not folder.is_dir():
        raise UserError(f"{folder}: no such index folder; build one first")
    try:
        content = json.loads(file.read_bytes().decode())
    except FileNotFoundError as error:
        raise UserError(f"{folder}: not an index (no {MANIFEST}); give the folder that indexing made") from error
    except (OSError, ValueError, RecursionError) as error:
        raise damaged(file, "it is not valid JSON") from error
    if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
        raise UserError(f"{folder}: not an index ({MANIFEST} is of something else); give the folder that indexing made")
    version = content.get("version")
    if version not in versions and not any_version:
        raise UserError(
            f"{folder}: index format {version!r}, but this version reads {VERSION}; make it again: "
            "executionrag index … --rebuild"
        )
    said = content.pop("digest", None)
    names = {field.name for field in dataclasses.fields(Manifest)}
    try:
        manifest = Manifest(**{name: value for name, value in content.items() if not any_version or name in names})
        intact = any_version or (
            (manifest.digest == said or version != VERSION)
            and manifest.granularity in get_args(Granularity)
            and manifest.backend in get_args(ComputedBy)
            and manifest.dtype in get_args(DType)
            and all({"bytes", "sha256"} <= set(expected) for expected in manifest.files.values())
            and not any(Path(name).is_absolute() or ".." in Path(name).parts for name in manifest.files)
        )
    except (TypeError, AttributeError) as error:
        raise damaged(file, "fields are missing or of another kind") from error
    if not intact:
        raise damaged(file, "its fields do not agree")
    return manifest
