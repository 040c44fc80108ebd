# SPDX-License-Identifier: Apache-2.0
"""The types of PTX. Each has `.name` ("f32"), `.bits` and `.ptx` (".f32").

`.bits` are those that an operand has. In a tensor elements have the bits of the column "in memory",
side by side, and a last byte that is used in part counts: 32 of `e2m1` are 16 bytes. "arrays" is
what torch, JAX and NumPy (with ml_dtypes) call the elements of arrays for them. An element of
`torch.float4_e2m1fn_x2` is a byte with two numbers, `e2m1x2`; shapes count the bytes.
"""

from __future__ import annotations

from pyptx._core import Type, type_named

b1 = type_named("b1")
b4 = type_named("b4")
b8 = type_named("b8")
b16 = type_named("b16")
b32 = type_named("b32")
b64 = type_named("b64")
b128 = type_named("b128")
u4 = type_named("u4")
u8 = type_named("u8")
u16 = type_named("u16")
u32 = type_named("u32")
u64 = type_named("u64")
s4 = type_named("s4")
s8 = type_named("s8")
s16 = type_named("s16")
s32 = type_named("s32")
s64 = type_named("s64")
f16 = type_named("f16")
f16x2 = type_named("f16x2")
bf16 = type_named("bf16")
bf16x2 = type_named("bf16x2")
tf32 = type_named("tf32")
f32 = type_named("f32")
f32x2 = type_named("f32x2")
f64 = type_named("f64")
e4m3 = type_named("e4m3")
e5m2 = type_named("e5m2")
e3m2 = type_named("e3m2")
e2m3 = type_named("e2m3")
e2m1 = type_named("e2m1")
e2m1x2 = type_named("e2m1x2")
ue8m0 = type_named("ue8m0")
ue4m3 = type_named("ue4m3")
pred = type_named("pred")


def from_name(name: str) -> Type:
    """Return the type called `name`, with or without its dot."""
    try:
        return type_named(name.removeprefix("."))
    except TypeError:
        raise ValueError(f"PTX has no type {name!r}") from None
