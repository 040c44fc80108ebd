# SPDX-License-Identifier: Apache-2.0
"""Descriptors field by field, out of a number or into one."""

from __future__ import annotations

from typing import Any

from pyptx._core import layout as core
from pyptx._layout.picture import Field, Number, Picture
from pyptx._layout.refusals import refuse_argument, refuse_unknown, refuse_value

KINDS = ("f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4")
ENCODERS = {"wgmma": core.encode_wgmma, "tcgen05": core.encode_tcgen05}


def descriptor(bits: int | None = None, *, of: str = "wgmma", **fields: Any) -> Picture:
    """Show a matrix descriptor field by field: a number, or what is made of fields.

    `of` is "wgmma", "tcgen05" or "zero_columns" (the mask of `.ws`). The fields of a matrix are
    `start`, `leading_bytes`, `stride_bytes` (bytes), `base_offset` and `swizzle`.
    """
    if of not in (*ENCODERS, "zero_columns"):
        refuse_unknown("descriptor", of, (*ENCODERS, "zero_columns"))
    if (bits is None) == (not fields):
        refuse_argument("a descriptor", "a number or fields", "both" if fields else "neither")
    if bits is None:
        if of not in ENCODERS:
            refuse_argument("a zero-column mask", "a number here", ", ".join(fields))
        try:
            bits = ENCODERS[of](**fields)
        except (ValueError, TypeError) as error:
            refuse_value("the fields", ValueError(str(error).split("\n")[0]))
    _check(bits, 64)
    describe = {
        "wgmma": core.describe_wgmma,
        "tcgen05": core.describe_tcgen05,
        "zero_columns": core.describe_zero_columns,
    }[of]
    names = {"zero_columns": "zero-column mask of tcgen05.mma.ws"}
    return _picture(names.get(of, f"shared memory descriptor of {of}"), bits, describe(bits))


def instruction_descriptor(
    bits: int, *, kind: str = "f16", cta_group: int = 1, ws: bool = False
) -> Picture:
    """Show the 32-bit instruction descriptor of tcgen05.mma field by field."""
    if kind not in KINDS:
        refuse_unknown("kind", kind, KINDS)
    if cta_group not in (1, 2):
        refuse_argument("cta_group", "1 or 2", cta_group)
    _check(bits, 32)
    described = core.describe_instruction(kind, bits, cta_group, ws)
    return _picture(f"instruction descriptor of tcgen05.mma.kind::{kind}", bits, described)


def _check(bits: int, size: int) -> None:
    if not isinstance(bits, int) or not 0 <= bits < 1 << size:
        refuse_argument("a descriptor", f"a whole number of {size} bits", bits)


def _picture(
    name: str, bits: int, described: tuple[int, int, str, list[tuple[int, int, str, int, str]]]
) -> Picture:
    size, encoded, problem, found = described
    fields = [Field(*one) for one in sorted(found)]
    lost = encoded ^ bits
    if lost and not problem:
        problem = f"bits that mean nothing are set: 0x{lost & bits:x}"
    return Picture(
        f"The {name}",
        f"The number 0x{bits:0{size // 4}x}, from its highest bit to its lowest, and its fields.",
        (Number(bits, size, fields),),
        problem=problem,
        facts={"fields": {one.name: one.bits for one in fields}, "encoded": encoded},
    )
