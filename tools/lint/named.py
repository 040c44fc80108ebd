# SPDX-License-Identifier: Apache-2.0
"""Checks that the files and functions which the documents name are there.

A word in backticks that begins with a folder of the tree is a path: `src/emu/machine/grid.cpp`, a
pattern (`bind_*.cpp`, `{a,b}.h`, `SET.xz` for any set). `path:name` also says that the file
defines, or at least uses, that name. A source without a folder (`grid.cpp`) is somewhere in the
tree, but for the guide's, which are the reader's. Generated pages are not read: what they name is
data.
"""

import itertools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from sizes import ROOT, tracked

GENERATED = ("docs/isa/", "docs/api/", "docs/results/")
# A path may be told as an #include or an import has it, or from the folder of its document.
BASES = ("", "include", "include/pyptx", "python", "python/pyptx", "tools", "tests")
_WORD = re.compile(r"`([\w.*{},/-]+/[\w.*{},/-]*)(?::(\w+))?`")
_SOURCE = re.compile(r"`(\w+\.(?:cpp|h|inc|def|py|pyi|toml))(?::(\w+))?`")
_BRACES = re.compile(r"\{([^{}]*)\}")


def spelled_out(pattern: str) -> Iterator[str]:
    """Every path that a pattern with braces stands for."""
    parts = _BRACES.split(pattern)
    yield from ("".join(words) for words in itertools.product(*(p.split(",") for p in parts)))


def found(root: Path, folder: Path, pattern: str) -> list[Path]:
    """Return the files and folders that a path without braces means, from any base."""
    pattern = re.sub(r"\b(?!README\b|CMake)[A-Z]{2,}\b", "*", pattern)
    pattern = re.sub(r"(?<!/)\*{2,}|\*{2,}(?=[^/])", "*", pattern).rstrip("/")
    for base in (*(root / name for name in BASES), folder):
        if matches := list(base.glob(pattern)):
            return matches
    return []


def problems_of(root: Path, names: list[str], name: str, text: str) -> list[str]:
    """One line for each path or name in the document `name` that is not there.

    `names` are the files of the tree.
    """
    problems = []
    folders = {path.split("/")[0] for path in names if "/" in path}
    is_guide = name.startswith("docs/guide/")
    for number, line in enumerate(text.splitlines(), 1):
        for match in _WORD.finditer(line):
            if match[1].split("/")[0] not in folders:
                continue
            for path in spelled_out(match[1]):
                files = found(root, (root / name).parent, path)
                problems += _missing(f"{name}:{number}", path, match[2], files)
        for match in () if is_guide else _SOURCE.finditer(line):
            files = [root / path for path in names if path.split("/")[-1] == match[1]]
            problems += _missing(f"{name}:{number}", match[1], match[2], files)
    return problems


def _missing(where: str, path: str, word: str | None, files: list[Path]) -> list[str]:
    if not files:
        return [f"{where}: there is no {path}"]
    if word and not any(_has(file, word) for file in files):
        return [f"{where}: {path} has no {word}"]
    return []


def _has(file: Path, name: str) -> bool:
    return re.search(rf"\b{name}\b", file.read_text(encoding="utf-8")) is not None


def main() -> int:
    """Print what is not there; the exit status says whether there was anything."""
    problems = []
    names = tracked(ROOT)
    for name in names:
        if name.endswith(".md") and not name.startswith(GENERATED) and (ROOT / name).is_file():
            text = (ROOT / name).read_text(encoding="utf-8")
            problems += problems_of(ROOT, names, name, text)
    print("\n".join(problems) if problems else "named: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
