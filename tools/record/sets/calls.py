# SPDX-License-Identifier: Apache-2.0
"""Branches through a table of targets, and calls of what the run time answers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from record.launch import Launch
from record.worked import Sum, Words, Worked, works

_TEXT = ".global .align 1 .b8 text[4] = {37, 117, 10, 0};"
_PRINT = ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);"


def _jumped(words: Words) -> Words:
    """Return what the lane's target writes: a word per index, nine where none was taken."""
    return np.array([11, 22, 33, 9], np.uint32)[words & 3]


def _tables() -> Iterator[Sum]:
    for uni in ("", ".uni"):
        # A .uni branch is one that all lanes take to the same place.
        index = "and.b32 r1, r0, 3;" if not uni else "mov.u32 r1, 1;"
        lines = (
            f"ld.global.b32 r0, [src]; {index} mov.u32 r2, 9; setp.lt.u32 p0, r1, 3;"
            f"T: .branchtargets A, B, C; @p0 brx.idx{uni} r1, T; bra E;"
            "A: mov.u32 r2, 11; bra E; B: mov.u32 r2, 22; bra E; C: mov.u32 r2, 33;"
            "E: st.global.b32 [dst], r2;"
        )
        after = _jumped if not uni else (lambda words: words * 0 + 22)
        yield Sum(f"brx.idx{uni}", lines, after)


def _prints() -> Iterator[Sum]:
    lines = (
        "mov.u64 d1, text; cvta.global.u64 d1, d1; mov.u64 d2, values; cvta.local.u64 d3, d2;"
        "st.local.u32 [d2], tid; mov.u32 r1, 7; setp.ne.u32 p0, tid, 3; @p0 bra E; {"
        ".param .b64 a0; .param .b64 a1; .param .b32 a2;"
        "st.param.b64 [a0], d1; st.param.b64 [a1], d3;"
        "call.uni (a2), vprintf, (a0, a1); ld.param.b32 r1, [a2]; }"
        "E: st.global.b32 [dst], r1;"
    )
    yield Sum(
        "vprintf", lines, lambda words: np.where(np.arange(len(words))[:, None] == 3, 1, 7),
        extra=".local .align 8 .b8 values[8];", module=f"{_TEXT} {_PRINT}",
    )  # fmt: skip


class CallSet:
    """Tables and calls."""

    name = "calls"
    about = "branches through a table, calls of the run time"
    targets: tuple[str, ...] = ("sm_90a",)

    def worked(self, target: str) -> Iterator[Worked]:
        """All of them, with their results."""
        yield from works(_tables(), target)
        yield from works(_prints(), target)

    def launches(self, target: str) -> Iterator[Launch]:
        """All of them."""
        yield from (one.launch for one in self.worked(target))
