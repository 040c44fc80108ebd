# SPDX-License-Identifier: Apache-2.0
"""Checks that no layer of src/ includes a header of a layer it may not use.

The allowed direction is read from CMakeLists.txt (`pyptx_layer(name DEPS ...)`), so the link
structure and this lint cannot disagree.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]pyptx/(\w+)/')


def read_layers(cmake: str) -> dict[str, list[str]]:
    """Return the direct dependencies of every layer named in `cmake`."""
    found = re.findall(r"^pyptx_layer\((\w+)(?:\s+DEPS\s+([\w\s]+))?\)", cmake, re.M)
    return {name: deps.split() for name, deps in found}


def closure(layers: dict[str, list[str]], name: str) -> set[str]:
    """`name` and everything it may use, directly or not."""
    seen: set[str] = set()
    pending = [name]
    while pending:
        layer = pending.pop()
        if layer not in seen:
            seen.add(layer)
            pending += layers[layer]
    return seen


def violations(root: Path) -> list[str]:
    """One line for each forbidden include below `root`."""
    layers = read_layers((root / "CMakeLists.txt").read_text(encoding="utf-8"))
    problems = []
    for layer in layers:
        allowed = closure(layers, layer)
        files = [*(root / "src" / layer).rglob("*"), *(root / "include/pyptx" / layer).rglob("*")]
        for path in sorted(p for p in files if p.suffix in {".h", ".cpp"}):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                if match and match[1] not in allowed:
                    where = path.relative_to(root)
                    problems.append(f"{where}:{number}: {layer} may not use {match[1]}")
    return problems


def main() -> int:
    """Print the violations; the exit status says whether there were any."""
    problems = violations(ROOT)
    print("\n".join(problems) if problems else "layers: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
