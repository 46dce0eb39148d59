"""Which commit of the project's own checkout is running."""

import subprocess
from pathlib import Path


def git_commit() -> str | None:
    """The commit of the checkout that this code runs from; None where it is installed otherwise."""
    root = Path(__file__).resolve().parents[1]
    if not (root / ".git").exists():
        return None
    try:
        done = subprocess.run(
            ["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None
