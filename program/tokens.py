"""One named tokenizer that counts context tokens without a network.

`o200k_base` (the tokenizer of GPT-4o) is read from the files that LiteLLM's package carries, so that counts agree on
every machine and for every LM. They price the budget; what a provider bills is told apart in `program.usage`.
"""

import functools
import importlib.util
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UserError

if TYPE_CHECKING:
    import tiktoken

TOKENIZER = "o200k_base"
# tiktoken names a cached file by the SHA-1 of the address it would download it from.
_CACHED_FILE = "fb374d419588a4632f3f557e76b4b70aebbca790"
_lock = threading.Lock()


@functools.cache
def _encoding() -> "tiktoken.Encoding":
    import tiktoken

    # find_spec locates the package without importing it, which would take seconds.
    spec = importlib.util.find_spec("litellm")
    roots = [Path(root) for root in (spec.submodule_search_locations or [])] if spec else []
    carried = [root / "litellm_core_utils" / "tokenizers" for root in roots]
    folder = next((path for path in carried if (path / _CACHED_FILE).is_file()), None)
    with _lock:
        before = os.environ.get("TIKTOKEN_CACHE_DIR")
        if folder:
            os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
        try:
            return tiktoken.get_encoding(TOKENIZER)
        except OSError as error:
            raise UserError(
                f"the tokenizer {TOKENIZER} is not in the installed litellm package and cannot be downloaded "
                f"({type(error).__name__}): set TIKTOKEN_CACHE_DIR to a folder that holds it"
            ) from error
        finally:
            if before is None:
                os.environ.pop("TIKTOKEN_CACHE_DIR", None)
            else:
                os.environ["TIKTOKEN_CACHE_DIR"] = before


def count_tokens(text: str) -> int:
    """Tokens of a text under `TOKENIZER`; text that looks like a special token is counted as plain text."""
    return len(_encoding().encode_ordinary(text)) if text else 0
