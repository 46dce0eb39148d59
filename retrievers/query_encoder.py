"""A light encoder for queries: plain BERT with mean pooling, in numpy, from the model's own files.

A question needs a handful of vectors, and importing sentence-transformers for them takes longer than the rest of a
start. This gives the same vectors (within 1e-5) without it and without torch. It takes only models whose shape it
knows for certain; `open_light` says None for every other, and sentence-transformers then encodes the queries too.
"""

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

logger = logging.getLogger(__name__)


def open_light(folder: Path) -> "LightEncoder | None":
    """The light encoder of the model in a folder; None where its shape, weights or tokenizer are not the plain ones."""
    try:
        return LightEncoder(folder)
    except (
        Exception
    ) as error:  # whatever is odd about the files, sentence-transformers takes them or says what is wrong
        logger.debug("queries are encoded by sentence-transformers, not lightly: %s", error)
        return None


class LightEncoder:
    """Encodes queries as sentence-transformers does for a BERT model with mean pooling and normalisation."""

    def __init__(self, folder: Path) -> None:
        """Read weights and tokenizer.

        Raises:
            ValueError: The model is of another shape.
            Exception: Its files cannot be read.
        """
        from safetensors.numpy import load_file

        self._prompt = _require_plain_modules(folder)
        config = _require_plain_bert(folder)
        self._heads = int(config["num_attention_heads"])
        self._epsilon = float(config["layer_norm_eps"])
        self._tokenizer = _tokenizer(folder, int(config["max_position_embeddings"]))
        weights = {name.removeprefix("bert."): array for name, array in load_file(folder / "model.safetensors").items()}
        if any(array.dtype != "float32" for name, array in weights.items() if name.endswith("weight")):
            raise ValueError("weights are not float32")
        self._embeddings = [weights[f"embeddings.{kind}_embeddings.weight"] for kind in ("word", "position")]
        self._embeddings[1] = self._embeddings[1] + weights["embeddings.token_type_embeddings.weight"][0]
        self._first_norm = _pair(weights, "embeddings.LayerNorm")
        self._layers = [
            {part: _pair(weights, f"encoder.layer.{number}.{part}") for part in _PARTS}
            for number in range(int(config["num_hidden_layers"]))
        ]

    def encode_queries(self, texts: Sequence[str]) -> "np.ndarray":
        """Encode queries, with the model's query prompt where it defines one.

        Returns:
            float32 unit vectors, one row a text.
        """
        import numpy as np

        return np.stack([self._encode(text) for text in texts])

    def _encode(self, text: str) -> "np.ndarray":
        """One text, whatever others are asked for with it: a batch would pad it, and its last bits with it."""
        import numpy as np

        ids = self._tokenizer.encode((self._prompt + text).strip()).ids
        states = _normalised(
            self._embeddings[0][ids] + self._embeddings[1][: len(ids)], self._first_norm, self._epsilon
        )
        for layer in self._layers:
            states = self._layer(states, layer)
        vector = states.mean(axis=0)
        unit: np.ndarray = vector / np.maximum(np.linalg.norm(vector), np.float32(1e-12))
        return unit

    def _layer(self, states: "np.ndarray", layer: dict[str, Any]) -> "np.ndarray":
        """One transformer layer: states of shape (tokens, width) to the same."""
        import numpy as np
        from scipy.special import erf

        tokens, width = states.shape
        size = width // self._heads

        def heads(part: str) -> "np.ndarray":
            split = _linear(states, layer[part]).reshape(tokens, self._heads, size)
            return np.ascontiguousarray(split.transpose(1, 0, 2))

        query, key, value = (heads(f"attention.self.{part}") for part in ("query", "key", "value"))
        scores = query @ key.transpose(0, 2, 1) / np.float32(size**0.5)
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        seen = (scores @ value).transpose(1, 0, 2).reshape(tokens, width)
        attended = _linear(seen, layer["attention.output.dense"]) + states
        attended = _normalised(attended, layer["attention.output.LayerNorm"], self._epsilon)
        inner = _linear(attended, layer["intermediate.dense"])
        inner = inner * np.float32(0.5) * (1 + erf(inner * np.float32(0.5**0.5)))
        return _normalised(_linear(inner, layer["output.dense"]) + attended, layer["output.LayerNorm"], self._epsilon)


_PARTS = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "attention.output.LayerNorm",
    "intermediate.dense",
    "output.dense",
    "output.LayerNorm",
)


def _pair(weights: dict[str, Any], name: str) -> "tuple[np.ndarray, np.ndarray]":
    return weights[f"{name}.weight"], weights[f"{name}.bias"]


def _linear(states: "np.ndarray", pair: "tuple[np.ndarray, np.ndarray]") -> "np.ndarray":
    product: np.ndarray = states @ pair[0].T + pair[1]
    return product


def _normalised(states: "np.ndarray", pair: "tuple[np.ndarray, np.ndarray]", epsilon: float) -> "np.ndarray":
    import numpy as np

    centred = states - states.mean(axis=-1, keepdims=True)
    variance = np.square(centred).mean(axis=-1, keepdims=True)
    normal: np.ndarray = centred / np.sqrt(variance + np.float32(epsilon)) * pair[0] + pair[1]
    return normal


def _read(file: Path) -> dict[str, Any]:
    content = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    if not isinstance(content, dict):
        raise ValueError(f"{file.name} is no object")
    return content


def _require_plain_modules(folder: Path) -> str:
    """Refuse anything but transformer, mean pooling, normalisation; gives the query prompt."""
    modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
    kinds = [str(module["type"]).rsplit(".", 1)[-1] for module in modules]
    if kinds not in (["Transformer", "Pooling", "Normalize"], ["Transformer", "Pooling"]) or modules[0]["path"]:
        raise ValueError(f"modules are {kinds}")
    pooling = _read(folder / modules[1]["path"] / "config.json")
    modes = {key for key, value in pooling.items() if key.startswith("pooling_mode") and value}
    named = pooling.get("pooling_mode")  # the newer way of writing it
    mean = modes == {"pooling_mode_mean_tokens"} or (modes == {"pooling_mode"} and named == "mean")
    if not mean or pooling.get("include_prompt") is False:
        raise ValueError("pooling is not the plain mean")
    described = _read(folder / "config_sentence_transformers.json")
    if described.get("default_prompt_name") or described.get("truncate_dim"):
        raise ValueError("a default prompt or a cut dimension")
    return str((described.get("prompts") or {}).get("query") or "")


def _require_plain_bert(folder: Path) -> dict[str, Any]:
    config = _read(folder / "config.json")
    plain = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
    if any(config.get(key, value) != value for key, value in plain.items()) or config.get("is_decoder"):
        raise ValueError("the transformer is no plain BERT")
    return config


def _tokenizer(folder: Path, positions: int) -> Any:
    """The model's tokenizer, cutting at its length limit (the special tokens counted in)."""
    from tokenizers import Tokenizer

    limits, settings = _read(folder / "sentence_bert_config.json"), _read(folder / "tokenizer_config.json")
    content = _read(folder / "tokenizer.json")
    normalizer = content.get("normalizer") or {}
    if limits.get("do_lower_case") or normalizer.get("type") != "BertNormalizer":
        raise ValueError("the tokenizer is not BERT's own")
    written = {
        "lowercase": "do_lower_case",
        "strip_accents": "strip_accents",
        "handle_chinese_chars": "tokenize_chinese_chars",
    }
    if any(settings.get(other, normalizer.get(key)) != normalizer.get(key) for key, other in written.items()):
        raise ValueError("tokenizer.json and tokenizer_config.json disagree")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    limit = limits.get("max_seq_length")
    if not isinstance(limit, int) or not 2 < limit <= positions:
        raise ValueError("no length limit")
    tokenizer.enable_truncation(limit)
    tokenizer.no_padding()
    return tokenizer
