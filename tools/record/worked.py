# SPDX-License-Identifier: Apache-2.0
"""Small kernels whose results are worked out by hand: what an instruction leaves is known.

Every thread has words of input at `src` and of output at `dst`. In a text `tid` is its number in
the CTA, `cta` the CTA's in the grid, `idx` its number in the grid, `tile` shared memory and `mbar`
eight bytes of it; registers are r0 to r31, d0 to d15 (64 bits), h0 to h7 (16), b0 to b3 (8), f0 to
f7, q0 and q1 (128), p0 to p3.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from .launch import Bytes, Launch, Map, Part, Scalar
from .stream import Stream

Words = Any  # an array of uint32, one row per thread
_TILE = 8192


@dataclass(frozen=True)
class Worked:
    """A launch and what it must leave, or the code of the diagnostic that must stop it."""

    launch: Launch
    expected: Bytes | None  # of its only part, one row per thread
    code: str = ""


@runtime_checkable
class WorkedSet(Hashable, Protocol):
    """A named source of worked launches."""

    name: str
    about: str
    targets: tuple[str, ...]

    def worked(self, target: str) -> Iterator[Worked]:
        """Make the launches of one target, with their results."""
        ...


@dataclass(frozen=True)
class Sum:
    """One kernel: its lines, the words that each thread reads, and what it must write.

    `after` maps all inputs (a row per thread) to all outputs.
    """

    key: str
    lines: str
    after: Callable[[Words], Words]
    reads: int = 1
    threads: int = 32
    ctas: int = 1
    cluster: int = 1
    map: Callable[[], Map] | None = None  # a tensor map over the inputs, passed as `map`
    code: str = ""
    version: str = "9.0"
    extra: str = ""  # declarations of its own
    module: str = ""  # and in front of the entry
    inputs: Callable[[Stream, int], Words] | None = None  # for so many threads; None: any bits


def _text(one: Sum, target: str, writes: int) -> str:
    params = ".param .u64 in, .param .u64 out"
    if one.map is not None:
        params += ", .param .align 64 .b8 map[128]"
    return "\n".join([
        f".version {one.version}", f".target {target}", ".address_size 64",
        one.module, f".visible .entry k({params})", "{",
        ".reg .b32 r<32>; .reg .b64 d<16>; .reg .b16 h<8>; .reg .b8 b<4>; .reg .f32 f<8>;",
        ".reg .b128 q<2>; .reg .pred p<4>; .reg .u32 tid, cta, idx, size; "
        ".reg .u64 src, dst, map_at;",
        f".shared .align 1024 .b8 tile[{_TILE}]; .shared .align 8 .b64 mbar; {one.extra}",
        "mov.u32 tid, %tid.x; mov.u32 cta, %ctaid.x; mov.u32 size, %ntid.x;",
        "mad.lo.u32 idx, cta, size, tid; ld.param.u64 src, [in]; ld.param.u64 dst, [out];",
        f"mad.wide.u32 src, idx, {4 * one.reads}, src; mad.wide.u32 dst, idx, {4 * writes}, dst;",
        *(["mov.b64 map_at, map; cvta.param.u64 map_at, map_at;"] if one.map is not None else []),
        one.lines.strip(), "ret;", "}", "",
    ])  # fmt: skip


def work(one: Sum, target: str) -> Worked:
    """Make the launch of a kernel and work out its result."""
    threads = one.threads * one.ctas
    stream = Stream(f"worked {one.key}")
    if one.inputs is not None:
        words = np.ascontiguousarray(one.inputs(stream, threads), np.uint32)
    else:
        words = stream.bits(32, threads * one.reads)
    words = words.reshape(threads, one.reads)
    expected = np.ascontiguousarray(one.after(words.copy()).astype(np.uint32))
    expected = expected.reshape(threads, -1)
    writes = expected.shape[1]
    buffers = [words.reshape(-1).view(np.uint8), np.zeros(4 * writes * threads, np.uint8)]
    part = Part(
        one.key, 1, 0, 4 * writes, threads, lambda case: f"thread {case}: {words[case].tolist()}"
    )
    params: list[int | Scalar | Map] = [0, 1]
    if one.map is not None:
        params.append(one.map())
    launch = Launch(
        one.key, target, buffers, [part], _text(one, target, writes),
        grid=(one.ctas, 1, 1), block=(one.threads, 1, 1), cluster=(one.cluster, 1, 1),
        params=params,
    )  # fmt: skip
    rows = None if one.code else expected.view(np.uint8).reshape(threads, -1)
    return Worked(launch, rows, one.code)


def works(sums: Iterable[Sum], target: str) -> Iterator[Worked]:
    """Make the launches of many."""
    for one in sums:
        yield work(one, target)


def same(words: Words) -> Words:
    """Return the inputs: what is copied, or left alone."""
    return words
