# SPDX-License-Identifier: Apache-2.0
"""The condition code: chains of extended-precision instructions, each result of them kept.

Every instruction that sets the carry is followed by every one that reads it, and that by every one
again; a link without .cc in the middle shows that it leaves the carry alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from record.cases import Case, Use, grouped
from record.launch import Launch

_STARTS = ("add", "sub", "mad.lo", "mad.hi")
_READERS = ("addc", "subc", "madc.lo", "madc.hi")
_TYPES = {"u32": "u", "s32": "s", "u64": "ud", "s64": "sd"}
# The carry of one width read by the other.
_CHANGES = (("u32", "u64"), ("u64", "u32"), ("s64", "u32"))


def _chains() -> Iterator[tuple[str, ...]]:
    """Make the chains by the instructions of their links."""
    for start, middle in itertools.product(_STARTS, _READERS):
        yield f"{start}.cc", middle
        for last in _READERS:
            yield f"{start}.cc", f"{middle}.cc", last
        yield f"{start}.cc", middle, "subc"
        # Four links: a carry that has gone through every kind of instruction.
        yield f"{start}.cc", f"{middle}.cc", "subc.cc", "addc"
        yield f"{start}.cc", f"{middle}.cc", "addc.cc", "subc"


def _case(links: tuple[str, ...], kinds: tuple[str, ...]) -> Case:
    """Make a chain; the last link has the last type, all others the first."""
    lines, inputs, outputs = [], [], []
    for number, link in enumerate(links):
        kind = kinds[-1] if number == len(links) - 1 else kinds[0]
        prefix = _TYPES[kind]
        count = 3 if link.startswith("mad") else 2
        sources = [
            Use(f"%{prefix}{10 * number + 20 + k}", kind, kind, number + k) for k in range(count)
        ]
        result = Use(f"%{prefix}{number}", kind, kind, 0)
        names = ", ".join(use.name for use in [result, *sources])
        lines.append(f"{link}.{kind} {names}")
        inputs += sources
        outputs.append(result)
    return Case("; ".join(lines), tuple(inputs), tuple(outputs))


class CarrySet:
    """Extended precision."""

    name = "carry"
    about = "chains of instructions that pass the condition code on"
    targets: tuple[str, ...] = ("sm_80",)

    def launches(self, target: str) -> Iterator[Launch]:
        """Every chain in every type."""
        cases = [_case(links, (kind,)) for kind in _TYPES for links in _chains()]
        cases += [
            _case((f"{start}.cc", reader), kinds)
            for kinds in _CHANGES
            for start, reader in itertools.product(_STARTS, _READERS)
        ]
        yield from grouped("carry", cases, target)
