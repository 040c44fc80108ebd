# SPDX-License-Identifier: Apache-2.0
"""Command line: ``python -m layouts --out docs/guide/pictures`` or ``--check docs/guide/pictures``.

Every picture is what `pyptx layout` draws of its words. The package must be on the path and built.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from isagen import committed
from pyptx import layout

PICTURES = {
    "mma_a": "fragment mma m16n8k16 f16 --operand a",
    "ldmatrix_x4": "fragment ldmatrix m8n8.x4",
    "accumulator_ws": "accumulator 64x128 --ws",
    "swizzle_128B": "swizzle 128B",
    "banks_column": "banks 'lane * 128'",
    "banks_padded": "banks 'lane * 132'",
    "box_edge": "box bf16 60x64 8x32 --swizzle 64B --at 44,56",
    "instruction_f16": "instruction f16 0x8200490",
}


def pictures() -> dict[str, str]:
    """Return every picture by its file name."""
    return {
        f"{name}.svg": layout.show(*shlex.split(words)).svg() for name, words in PICTURES.items()
    }


def main() -> int:
    """Write the pictures, or say which are out of date."""
    parser = argparse.ArgumentParser(prog="layouts", description=__doc__)
    parser.add_argument("--out", type=Path, help="the folder to write them to")
    parser.add_argument("--check", type=Path, help="fail when pictures there are out of date")
    arguments = parser.parse_args()
    wanted = pictures()
    if arguments.out:
        committed.write(arguments.out, wanted, "*.svg")
    if arguments.check and (old := committed.stale(arguments.check, wanted, "*.svg")):
        print(f"layouts: out of date: {', '.join(old)}; run make layouts", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
