# SPDX-License-Identifier: Apache-2.0
"""Checks the tree for what must not be in it: open ends, paths of one machine, missing licences."""

import re
import sys
from pathlib import Path

from sizes import ROOT, tracked

FORBIDDEN = [
    (re.compile(r"\b(TODO|FIXME|XXX|HACK)\b"), "an open end: finish it or file it"),
    (re.compile(r"(?<![\w.])/(home|root|work|farm)/\w"), "a path of one machine"),
]
SOURCES = {".cpp", ".h", ".py", ".cmake", ".sh", ".toml", ".def"}
LICENSED = {".cpp", ".h", ".py", ".sh", ".def"}
SPDX = "SPDX-License-Identifier: Apache-2.0"


def problems_of(name: str, text: str) -> list[str]:
    """One line for each forbidden thing in the file `name` with content `text`."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, reason in FORBIDDEN:
            if pattern.search(line):
                found.append(f"{name}:{number}: {reason}")
    if Path(name).suffix in LICENSED and SPDX not in text[:300]:
        found.append(f"{name}:1: no licence line ({SPDX})")
    return found


def main() -> int:
    """Print what was found; the exit status says whether there was anything."""
    problems = []
    for name in tracked(ROOT):
        path = ROOT / name
        if path.suffix in SOURCES and path.is_file() and path != Path(__file__).resolve():
            problems += problems_of(name, path.read_text(encoding="utf-8"))
    print("\n".join(problems) if problems else "words: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
