# SPDX-License-Identifier: Apache-2.0
"""Checks that hand-written source files stay short enough to hold in the head."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 500
SUFFIXES = {".cpp", ".h", ".py", ".cmake"}


def too_long(root: Path, names: list[str]) -> list[str]:
    """One line for each file of `names` that is longer than the limit."""
    problems = []
    for name in names:
        path = root / name
        if path.suffix not in SUFFIXES or not path.is_file():
            continue
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > LIMIT:
            problems.append(f"{name}: {lines} lines, the limit is {LIMIT}: split it by purpose")
    return problems


def tracked(root: Path) -> list[str]:
    """List the files git tracks or would track."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def main() -> int:
    """Print the files over the limit; the exit status says whether there were any."""
    problems = too_long(ROOT, tracked(ROOT))
    print("\n".join(problems) if problems else "sizes: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
