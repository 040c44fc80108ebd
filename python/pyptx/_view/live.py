# SPDX-License-Identifier: Apache-2.0
"""How many registers of the PTX hold a value that may still be read, at each instruction.

The numbers are of the text's own registers, before anybody assigns those of the machine. They come
from the control-flow graph of `src/analysis`, one walk back through each block.
"""

from __future__ import annotations

from typing import Any


def live_counts(module: Any) -> dict[int, int]:
    """Return by line of the text how many registers are live before its instruction."""
    counts: dict[int, int] = {}
    for function in module.functions:
        if function.is_declaration or not function.has_all_edges:
            continue
        blocks = {block.number: block for block in function.blocks}
        for block in blocks.values():
            live = {name for one in block.successors for name in blocks[one].live}
            for instruction in reversed(block.instructions):
                reads, writes = instruction.reads, instruction.writes
                if reads is None or writes is None:
                    break  # not understood: nothing is known before it
                if instruction.guard is None:
                    live.difference_update(writes)
                live.update(reads)
                counts[instruction.location.line] = len(live)
    return counts
