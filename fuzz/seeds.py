#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Seeds for the fuzzers: seeds.py FOLDER fills it with PTX texts and a dictionary.

The texts are the PTX files and samples of the tests, and a module for every accepted example of
the instruction table. FOLDER_run has texts with a launch for the emulator (see run_text.h): the
same examples behind registers that hold something, and those of run_seeds/.
"""

import hashlib
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FRAME = """.version 9.4
.target sm_100a
.address_size 64
.global .u32 gmem[8];
.entry k(.param .u64 param0)
{
.reg .pred %p<8>; .reg .b16 %rs<8>; .reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .f32 %f<16>;
.reg .f64 %fd<8>; .shared .b8 smem[64];
LABEL:
EXAMPLE;
ret;
}
"""


def samples() -> Iterator[str]:
    """Give the texts of the tests."""
    for path in sorted((ROOT / "tests").rglob("*.ptx")):
        yield path.read_text()
    for path in sorted((ROOT / "tests/unit/syntax").glob("*sample*.h")):
        yield from re.findall(r'R"\((.*?)\)";', path.read_text(), re.DOTALL)


def examples() -> Iterator[str]:
    """Give the accepted examples of the instruction table."""

    def accepted(node: object) -> Iterator[str]:
        if isinstance(node, dict):
            for key, value in node.items():
                yield from value if key == "accept" else accepted(value)
        elif isinstance(node, list):
            for value in node:
                yield from accepted(value)

    for path in sorted((ROOT / "isa/instructions").glob("*.toml")):
        yield from accepted(tomllib.loads(path.read_text()))


def launches() -> Iterator[str]:
    """Give texts with a launch."""
    for path in sorted((ROOT / "fuzz/run_seeds").glob("*.ptx")):
        yield path.read_text()
    frame = (ROOT / "fuzz/run_seeds/frame.txt").read_text()
    for example in examples():
        target = "sm_90a" if example.startswith("wgmma") else "sm_100a"
        yield frame.replace("TARGET", target).replace("EXAMPLE", example)


def write(folder: Path, texts: list[str]) -> None:
    """Write each text under a name of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    for text in texts:
        name = hashlib.sha256(text.encode()).hexdigest()[:16]
        (folder / f"{name}.ptx").write_text(text)


def main() -> None:
    """Write the seeds and the dictionary."""
    folder = Path(sys.argv[1])
    words: set[str] = set()
    texts = list(samples())
    for example in examples():
        texts.append(FRAME.replace("EXAMPLE", example))
        words.update(re.findall(r"\.?[A-Za-z_][\w:]*", example))
    for text in texts:
        words.update(re.findall(r"\.[a-z_]\w*", text))
    write(folder, texts)
    write(folder.with_name(folder.name + "_run"), list(launches()))
    lines = [f'"{word}"' for word in sorted(words)]
    folder.with_suffix(".dict").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
