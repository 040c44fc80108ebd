# SPDX-License-Identifier: Apache-2.0
"""atom and red: every operation and type, on global and on shared memory, a place for each thread.

No two threads meet at a place, so the answers do not depend on their order.
"""

from __future__ import annotations

from collections.abc import Iterator

from record.cases import Case, Use, grouped
from record.launch import Launch

_REGISTERS = {
    "b16": ("b16", "rs"), "b32": ("b32", "r"), "b64": ("b64", "rd"), "b128": ("b128", "rq"),
    "u32": ("u32", "u"), "s32": ("s32", "s"), "u64": ("u64", "ud"), "s64": ("s64", "sd"),
    "f16": ("f16", "h"), "f16x2": ("f16x2", "hh"), "bf16": ("b16", "rs"), "bf16x2": ("b32", "r"),
    "f32": ("f32", "f"), "f64": ("f64", "fd"),
}  # fmt: skip
_BYTES = {
    "b16": 2, "b32": 4, "b64": 8, "b128": 16, "u32": 4, "s32": 4, "u64": 8, "s64": 8,
    "f16": 2, "f16x2": 4, "bf16": 2, "bf16x2": 4, "f32": 4, "f64": 8,
}  # fmt: skip
_OPERATIONS = {
    "add": "u32 s32 u64 f32 f64", "and": "b32 b64", "or": "b32 b64", "xor": "b32 b64",
    "exch": "b32 b64 b128", "inc": "u32", "dec": "u32", "min": "u32 s32 u64 s64",
    "max": "u32 s32 u64 s64", "add.noftz": "f16 f16x2 bf16 bf16x2",
}  # fmt: skip
_VECTORS = (
    ("add", "v2", "f32"), ("add", "v4", "f32"), ("add.noftz", "v2", "f16"),
    ("add.noftz", "v4", "bf16"), ("add.noftz", "v8", "f16"), ("add.noftz", "v2", "f16x2"),
    ("add.noftz", "v4", "bf16x2"), ("min.noftz", "v2", "f16"), ("max.noftz", "v2", "bf16"),
    ("min.noftz", "v4", "bf16x2"), ("max.noftz", "v4", "f16x2"), ("max.noftz", "v8", "bf16"),
)  # fmt: skip


def _use(kind: str, number: int, position: int) -> Use:
    storage, prefix = _REGISTERS[kind]
    return Use(f"%{prefix}{number}", storage, kind, position)


def _move(kind: str, store: bool, space: str, name: str) -> str:
    """Put the start value into memory, or get the value back."""
    bits = 8 * _BYTES[kind]
    address = "[{mem}]" if space == "global" else "[{cell}]"
    if store:
        return f"st.{space}.b{bits} {address}, {name}"
    return f"ld.{space}.b{bits} {name}, {address}"


def _scalar(word: str, kind: str, space: str, has_result: bool) -> Case:
    """{mem} starts as the first operand; what it becomes counts as much as the result."""
    start, value, third = (_use(kind, 20 + n, n) for n in range(3))
    result, after = _use(kind, 0, 0), _use(kind, 1, 0)
    address = "[{mem}]" if space == "global" else "[{cell}]"
    sources = [value.name, third.name] if word == "cas" else [value.name]
    opcode = "atom" if has_result else "red"
    head = f"{opcode}.{space}.{word}.{kind} "
    line = head + ", ".join([*([result.name] if has_result else []), address, *sources])
    lines = [_move(kind, True, space, start.name), line, _move(kind, False, space, after.name)]
    if word == "cas":  # every other thread finds what it looks for
        lines.insert(0, _equal(kind, value.name, start.name))
    inputs = (start, value, third) if word == "cas" else (start, value)
    outputs = (result, after) if has_result else (after,)
    return Case("; ".join(lines), inputs, outputs, memory=_BYTES[kind], name=line)


def _equal(kind: str, to: str, start: str) -> str:
    bits = 8 * _BYTES[kind]
    move = f"mov.b{bits} {to}, {start}"
    return (
        "{ .reg .u32 odd; .reg .pred is; and.b32 odd, index, 1; setp.eq.u32 is, odd, 0; "
        f"@is {move}; }}"
    )


def _vector(word: str, vec: str, kind: str, has_result: bool) -> Case:
    count = int(vec[1:])
    starts = [_use(kind, 20 + n, n) for n in range(count)]
    values = [_use(kind, 40 + n, n + 1) for n in range(count)]
    results = [_use(kind, n, 0) for n in range(count)]
    size = _BYTES[kind]
    places = [f"[{{mem}}+{size * n}]" for n in range(count)]
    lines = [
        f"st.global.b{8 * size} {place}, {use.name}"
        for place, use in zip(places, starts, strict=True)
    ]
    listed = "{" + ", ".join(use.name for use in values) + "}"
    head = f"{'atom' if has_result else 'red'}.global.{word}.{vec}.{kind} "
    into = "{" + ", ".join(use.name for use in results) + "}, " if has_result else ""
    line = f"{head}{into}[{{mem}}], {listed}"
    outputs = tuple(results) if has_result else ()
    return Case(
        "; ".join([*lines, line]), (*starts, *values), outputs, memory=size * count, name=line
    )


class AtomicSet:
    """Atomics."""

    name = "atomic"
    about = "atom and red, every operation and type"
    targets: tuple[str, ...] = ("sm_90a",)

    def launches(self, target: str) -> Iterator[Launch]:
        """Scalars on both memories, vectors on global memory."""
        cases = []
        for space in ("global", "shared"):
            for word, kinds in _OPERATIONS.items():
                for kind in kinds.split():
                    cases.append(_scalar(word, kind, space, True))
                    if word != "exch":
                        cases.append(_scalar(word, kind, space, False))
            for kind in ("b16", "b32", "b64", "b128"):
                cases.append(_scalar("cas", kind, space, True))
        yield from grouped("scalar", cases, target)
        vectors = [_vector(*words, has) for words in _VECTORS for has in (True, False)]
        yield from grouped("vector", vectors, target)
