# SPDX-License-Identifier: Apache-2.0
"""Layouts as pictures: where an instruction, a swizzle, a descriptor or a copy puts each element.

Every function gives a `Picture`: `print` shows it as text, a notebook draws it, `.svg()` and
`.save(path)` are for pages. `show` takes the words of the `pyptx layout` command. What is drawn
comes from the functions that the tracer and the emulator use.
"""

from __future__ import annotations

import shlex
from typing import Any

from pyptx._layout import command
from pyptx._layout.boxes import box, make_map, tensor_map
from pyptx._layout.descriptors import descriptor, instruction_descriptor
from pyptx._layout.fragments import fragment
from pyptx._layout.operand_bits import metadata, scales
from pyptx._layout.picture import Picture
from pyptx._layout.runs import bank_use, tensor_memory
from pyptx._layout.shared import banks, swizzle, tile
from pyptx._layout.tensor_memory import accumulator

__all__ = [
    "Picture",
    "accumulator",
    "bank_use",
    "banks",
    "box",
    "descriptor",
    "fragment",
    "instruction_descriptor",
    "make_map",
    "metadata",
    "scales",
    "show",
    "swizzle",
    "tensor_map",
    "tensor_memory",
    "tile",
]


def show(*words: str, **options: Any) -> Picture:
    """Return the picture that the words of the command `pyptx layout` stand for.

    `show("mma", "m16n8k16", "f16")`, `show("swizzle 128B")`, `show("tile bf16 64x64", major="MN")`:
    options are those of the command, `--cta-group 2` as `cta_group=2`.
    """
    split = shlex.split(words[0]) if len(words) == 1 else list(words)
    for name, value in options.items():
        if value is False or value is None:
            continue
        split.append("--" + name.replace("_", "-"))
        if value is not True:
            split.append(str(value))
    return command.parse(split)
