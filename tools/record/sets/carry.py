# SPDX-License-Identifier: Apache-2.0
"""The condition code: chains of extended-precision instructions, each result of them kept."""

from __future__ import annotations

from collections.abc import Iterator

from record.cases import Case, Use, grouped
from record.launch import Launch

# Chains by the instructions of their links.
_CHAINS = (
    ("add.cc", "addc"),
    ("add.cc", "addc.cc", "addc"),
    ("sub.cc", "subc"),
    ("sub.cc", "subc.cc", "subc"),
    ("mad.lo.cc", "madc.hi"),
    ("mad.hi.cc", "madc.lo.cc", "madc.hi"),
    ("add.cc", "madc.lo.cc", "madc.hi.cc", "addc"),
    ("mad.lo.cc", "addc.cc", "madc.hi"),
)
_TYPES = {"u32": "u", "s32": "s", "u64": "ud", "s64": "sd"}


def _case(links: tuple[str, ...], kind: str) -> Case:
    prefix = _TYPES[kind]
    lines, inputs, outputs = [], [], []
    for number, link in enumerate(links):
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
        cases = [_case(links, kind) for kind in _TYPES for links in _CHAINS]
        yield from grouped("carry", cases, target)
