"""What computes an index's vectors: torch or ONNX, in float32 or bfloat16.

float32 gives the same vectors on every machine within 1e-5, whichever library computes them. bfloat16 is for CPUs that
have its instructions: faster, with vectors that are near those of float32 and not equal to them. Queries are always
encoded in float32.
"""

import io
import logging
import warnings
from pathlib import Path
from typing import Any, Literal

from ..errors import UserError

logger = logging.getLogger(__name__)

Backend = Literal["torch", "onnx"]
DType = Literal["float32", "bfloat16"]

# The most by which the exported model's vectors may differ from the original's.
_TOLERANCE = 1e-5
_PROBES = [
    "A short text.",
    "Mereth is a harbour town on the river Quill; its cathedral was built of red brick in 1871.",
]


def require_possible(backend: Backend, dtype: DType) -> None:
    """Refuse what cannot be computed, before any work is done.

    Raises:
        UserError: Unknown names, ONNX in bfloat16, or the packages of ONNX are not installed.
    """
    if backend not in ("torch", "onnx") or dtype not in ("float32", "bfloat16"):
        raise UserError(f"encoder backend {backend!r} in {dtype!r}: give torch or onnx, float32 or bfloat16")
    if backend == "onnx":
        if dtype != "float32":
            raise UserError("the onnx backend computes in float32 only; give --backend torch for bfloat16")
        try:
            import onnx  # noqa: F401
            import onnxruntime  # noqa: F401
        except ImportError as error:
            raise UserError(
                f"the onnx backend needs a package that is missing ({error.name}); install executionrag[onnx], or give "
                "--backend torch"
            ) from error


def load_model(folder: Path, name: str, backend: Backend = "torch", dtype: DType = "float32") -> Any:
    """The sentence-transformers model of a folder, computing as asked.

    Raises:
        UserError: It cannot be loaded, or not be exported with the same vectors.
    """
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging as transformers_logging

    chatter: Any = transformers_logging  # untyped
    shown = chatter.is_progress_bar_enabled()
    chatter.disable_progress_bar()
    options: dict[str, Any] = {"use_safetensors": True}
    if dtype == "bfloat16":
        options["torch_dtype"] = "bfloat16"
    # On the CPU in every case but the plain one: ONNX runs there, and bfloat16 is meant for it.
    device = None if (backend, dtype) == ("torch", "float32") else "cpu"
    try:
        model = SentenceTransformer(str(folder), local_files_only=True, model_kwargs=options, device=device)
    except Exception as error:  # whatever the libraries make of files that are no model of theirs
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"encoder {name!r} cannot be loaded from {folder} ({reason})") from error
    finally:
        if shown:
            chatter.enable_progress_bar()
    if backend == "onnx":
        _run_by_onnx(model, name)
    return model


def _run_by_onnx(model: Any, name: str) -> None:
    """Put an ONNX session in the place of the model's transformer, once it is seen to give the same vectors.

    Raises:
        UserError: The transformer cannot be exported, or the export gives other vectors.
    """
    import numpy as np
    import torch

    expected = model.encode_document(_PROBES, show_progress_bar=False, normalize_embeddings=True)
    transformer: Any = model[0]
    prepare = getattr(transformer, "preprocess", None) or transformer.tokenize  # newer and older name
    try:
        example = {key: value for key, value in prepare(_PROBES).items() if isinstance(value, torch.Tensor)}
        transformer.auto_model = _session_module(transformer.auto_model, example, list(example), torch)
        found = model.encode_document(_PROBES, show_progress_bar=False, normalize_embeddings=True)
    except Exception as error:  # a model that the exporter or the runtime does not know
        reason = " ".join(str(error).split())[:120]
        raise UserError(f"encoder {name!r} cannot be run by onnx ({reason}); give --backend torch") from error
    difference = float(np.abs(found - expected).max())
    if not difference <= _TOLERANCE:
        raise UserError(f"encoder {name!r} gives other vectors by onnx (by {difference:.1e}); give --backend torch")


def _session_module(original: Any, example: dict[str, Any], names: list[str], torch: Any) -> Any:
    """A torch module that answers with the last hidden state, computed by onnxruntime."""
    import onnxruntime
    from transformers.modeling_outputs import BaseModelOutput

    class Bare(torch.nn.Module):  # type: ignore[misc]
        """The transformer with plain tensors in and out."""

        def __init__(self) -> None:
            super().__init__()
            self.inner = original

        def forward(self, *tensors: Any) -> Any:
            return self.inner(**dict(zip(names, tensors, strict=True)))[0]

    exported = io.BytesIO()
    axes = {name: {0: "texts", 1: "tokens"} for name in [*names, "states"]}
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # of the tracer, about what the probes then check
        torch.onnx.export(
            Bare().eval(),
            tuple(example[name] for name in names),
            exported,
            input_names=names,
            output_names=["states"],
            dynamic_axes=axes,
            opset_version=17,
            dynamo=False,
        )
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(exported.getvalue(), settings, providers=["CPUExecutionProvider"])
    wanted = {one.name for one in session.get_inputs()}

    class ByOnnx(torch.nn.Module):  # type: ignore[misc]
        """In the transformer's place."""

        config = original.config

        def forward(self, **inputs: Any) -> Any:
            given = {name: inputs[name].numpy() for name in wanted}
            return BaseModelOutput(last_hidden_state=torch.from_numpy(session.run(["states"], given)[0]))

    return ByOnnx()
