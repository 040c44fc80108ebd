# SPDX-License-Identifier: Apache-2.0
"""Command line: ``python -m stubs --out python/pyptx`` or ``--check python/pyptx``.

The extension is imported, so the package must be on the path and built.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from isagen import committed

from .extension import raw_stubs
from .refine import RefineError, Types, refined

_FOLDER = "_core"
_STUBS = f"{_FOLDER}/**/*.pyi"


def stubs() -> dict[str, str]:
    """Every stub by its path under the package."""
    types = Types.load(Path(__file__).parent / "types.toml")
    texts = {
        f"{_FOLDER}/{path}": refined(text, path, types)
        for path, text in raw_stubs("pyptx._core").items()
    }
    types.finish()
    return {path: formatted(text) for path, text in texts.items()}


def formatted(text: str) -> str:
    """Return `text` as the formatter of this repository writes stubs."""
    words = ["ruff", "format", "--isolated", "--line-length", "100", "--stdin-filename", "_.pyi"]
    done = subprocess.run([*words, "-"], input=text, capture_output=True, text=True, check=True)
    return done.stdout


def main() -> int:
    """Write the stubs, or say which are out of date."""
    parser = argparse.ArgumentParser(prog="stubs", description=__doc__)
    parser.add_argument("--out", type=Path, help="the package's folder, to write the stubs to")
    parser.add_argument("--check", type=Path, help="fail when stubs there are out of date")
    arguments = parser.parse_args()
    try:
        wanted = stubs()
    except RefineError as error:
        print(f"stubs: {error}", file=sys.stderr)
        return 1
    if arguments.out:
        committed.write(arguments.out, wanted, _STUBS)
    if arguments.check and (old := committed.stale(arguments.check, wanted, _STUBS)):
        print(f"stubs: out of date: {', '.join(old)}; write them with make stubs", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
