# SPDX-License-Identifier: Apache-2.0
"""mbarriers: random sequences of arrivals, expectations and completions, as test_wait sees them.

One thread runs each sequence, so that its answers do not depend on a schedule. The sequences keep
to the rules: a small model here says what is still allowed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from record.launch import Launch, Part
from record.sets.tensor_maps import Dice

SEQUENCES = 32  # of one launch
LAUNCHES = 8
STEPS = 24


@dataclass
class Model:
    """The counts of one mbarrier."""

    expected: int
    pending: int
    bytes: int = 0
    phase: int = 0

    def settle(self) -> None:
        """End the phase when nothing is missing."""
        if self.pending == 0 and self.bytes == 0:
            self.phase += 1
            self.pending = self.expected


def _step(dice: Dice, model: Model) -> str:
    """Return one operation that is allowed now; `state` holds the phase that was current."""
    choice = dice.between(0, 5)
    if choice == 0 and model.pending == 0:
        choice = 1
    if choice in (0, 5) and model.pending > 0:
        drops = choice == 5 and model.expected > 1 and model.pending > 1
        count = 1 if drops else dice.between(1, model.pending)
        model.pending -= count
        if drops:
            model.expected -= 1
        model.settle()
        word = "arrive_drop" if drops else "arrive"
        return f"mbarrier.{word}.shared.b64 state, [mb], {count};"
    if choice == 1 and model.pending > 0:
        # Bytes that nobody brings would never end: they are completed in the next steps.
        count = 16 * dice.between(1, 64)
        model.bytes += count
        return f"mbarrier.expect_tx.relaxed.cta.shared.b64 [mb], {count};"
    if choice == 2 and model.bytes > 0:
        count = dice.pick((model.bytes, 16))
        model.bytes -= count
        model.settle()
        return f"mbarrier.complete_tx.relaxed.cta.shared.b64 [mb], {count};"
    if choice == 3 and model.pending > 1:
        model.pending -= 1
        return "mbarrier.arrive.noComplete.shared.b64 state, [mb], 1;"
    if choice == 4 and model.pending > 0:
        model.bytes += 32
        model.pending -= 1
        model.settle()
        return "mbarrier.arrive.expect_tx.shared.b64 state, [mb], 32;"
    if model.bytes > 0:
        model.bytes = 0
        model.settle()
        return "mbarrier.complete_tx.relaxed.cta.shared.b64 [mb], rest;"
    return ""


def _sequence(dice: Dice, label: str) -> list[str]:
    count = dice.between(1, 9)
    model = Model(count, count)
    lines = [f"{label}:", f"mbarrier.init.shared.b64 [mb], {count};", "mov.u64 state, 0;"]
    for _ in range(STEPS):
        before = model.bytes
        text = _step(dice, model).replace("rest", str(before))
        if text:
            lines.append(text)
        has_state = "state" in text
        lines.append("mov.u32 result, 0;")
        for parity in range(2):
            lines.append(f"mbarrier.test_wait.parity.shared.b64 p, [mb], {parity};")
            lines.append(f"@p or.b32 result, result, {1 << parity};")
        if has_state:
            lines.append("mbarrier.test_wait.shared.b64 p, [mb], state;")
            lines.append("@p or.b32 result, result, 4;")
            lines.append("mbarrier.pending_count.b64 pending, state;")
            lines.append("shl.b32 pending, pending, 3; or.b32 result, result, pending;")
        lines.append("st.global.u32 [out], result; add.u64 out, out, 4;")
    if model.bytes > 0:
        lines.append(f"mbarrier.complete_tx.relaxed.cta.shared.b64 [mb], {model.bytes};")
    return [*lines, "mbarrier.inval.shared.b64 [mb];", "ret;"]


def _text(dice: Dice) -> str:
    lines = [
        ".version 8.6", ".target sm_90a", ".address_size 64",
        ".visible .entry k(.param .u64 out_) {",
        ".shared .align 8 .b64 bar;",
        ".reg .pred p; .reg .u32 block, mb, result, pending; .reg .u64 state, out;",
        "mov.u32 block, %ctaid.x; mov.u32 mb, bar; ld.param.u64 out, [out_];",
        f"mad.wide.u32 out, block, {4 * STEPS}, out;",
    ]  # fmt: skip
    for number in range(SEQUENCES):
        lines += [f"setp.eq.u32 p, block, {number};", f"@p bra S{number};"]
    lines.append("ret;")
    for number in range(SEQUENCES):
        lines += _sequence(dice, f"S{number}")
    return "\n".join([*lines, "}", ""])


class MbarrierSet:
    """The whole set."""

    name = "mbarrier"
    about = "sequences of mbarrier operations: phases, pending counts, transactions"
    targets: tuple[str, ...] = ("sm_90a",)

    def launches(self, target: str) -> Iterator[Launch]:
        """Make the launches of one target."""
        del target
        for number in range(LAUNCHES):
            dice = Dice(f"mbarriers {number}")
            text = _text(dice)
            parts = [
                Part(f"sequence {number}.{i}", 0, 4 * STEPS * i, 4, STEPS) for i in range(SEQUENCES)
            ]
            yield Launch(
                f"mbarrier.{number}", "sm_90a", [np.zeros(4 * STEPS * SEQUENCES, np.uint8)], parts,
                text, grid=(SEQUENCES, 1, 1), block=(1, 1, 1),
            )  # fmt: skip
