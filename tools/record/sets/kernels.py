# SPDX-License-Identifier: Apache-2.0
"""Whole kernels: every example for Ampere and Hopper, whole tiles and tails.

Every bit counts, also behind approximate functions. Each result also has a float64 reference.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from record.elements import elements
from record.examples import example
from record.launch import Launch, Part
from record.stream import Stream

_KEPT = 256  # results stored of each kernel
_ERROR = 1e-6  # of a result, over the largest element of all


@dataclass(frozen=True)
class Input:
    """An array of a kernel: its type's name, its bits, and the numbers that they stand for."""

    dtype: str
    bits: Any
    values: Any


@dataclass(frozen=True)
class Whole:
    """One kernel on one set of arrays."""

    key: str
    path: str  # of the example
    make: Callable[[Any], Any]  # from the example's module, the kernel
    inputs: Callable[[Stream], list[Input]]
    expected: Callable[..., Any]  # from the inputs' values, in float64
    error: float  # the largest difference from float64, over the largest element
    template: tuple[tuple[str, int], ...] = ()

    def arrays(self) -> list[Input]:
        """Make the inputs."""
        return self.inputs(Stream(f"kernels {self.key}"))

    def reference(self) -> Any:
        """Compute the result in float64."""
        return self.expected(*(array.values for array in self.arrays()))


def _bf16(stream: Stream, *shape: int) -> Input:
    bits = elements("bf16", "like", int(np.prod(shape)), stream).view(np.uint16).reshape(shape)
    return Input("bf16", bits, (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64))


def _f32(stream: Stream, *shape: int) -> Input:
    """Make numbers from -4 to 4, of 24 bits."""
    words = stream.bits(32, int(np.prod(shape))) >> 8
    values = ((words.astype(np.float64) - 2**23) / 2**21).astype(np.float32).reshape(shape)
    return Input("f32", values, values.astype(np.float64))


def _s32(values: Sequence[int]) -> Input:
    bits = np.array(values, np.int32)
    return Input("s32", bits, bits)


def _arrays(
    make: Callable[..., Input], shapes: Sequence[tuple[int, ...]], stream: Stream
) -> list[Input]:
    return [make(stream, *shape) for shape in shapes]


def _gemms(path: str, shapes: Sequence[tuple[int, int, int]], **options: str) -> Iterator[Whole]:
    builder = f"build_{path.rpartition('/')[2]}"
    spelled = "".join(f" {name}={value}" for name, value in options.items())
    for m, n, k in shapes:
        yield Whole(
            f"{path}{spelled} {m}x{n}x{k}",
            path,
            lambda module: getattr(module, builder)(**options),
            functools.partial(_arrays, _bf16, [(m, k), (n, k)]),
            lambda a, b: a @ b.T,
            _ERROR,
        )


def _grouped(sizes: tuple[int, ...], n: int, k: int) -> Whole:
    offsets = [0, *np.cumsum(sizes).tolist()]

    def inputs(stream: Stream) -> list[Input]:
        return [
            _bf16(stream, offsets[-1], k), _bf16(stream, len(sizes), n, k), _s32(offsets),
        ]  # fmt: skip

    def expected(x: Any, w: Any, ends: Any) -> Any:
        spans = enumerate(pairwise(ends))
        return np.concatenate([x[begin:end] @ w[group].T for group, (begin, end) in spans])

    return Whole(
        f"hopper/grouped_gemm {sizes}x{n}x{k}",
        "hopper/grouped_gemm",
        lambda module: module.build_grouped_gemm(len(sizes)),
        inputs,
        expected,
        _ERROR,
    )


# By kernel: the shapes of the arrays after the first.
_ROWS: dict[str, Callable[[int, int], list[tuple[int, ...]]]] = {
    "rms_norm": lambda b, n: [(n,)],
    "layer_norm": lambda b, n: [(n,), (n,)],
    "softmax": lambda b, n: [],
    "swiglu": lambda b, n: [(b, n)],
}


def _build_rows(name: str, b: int, n: int, target: str, module: Any) -> Any:
    return getattr(module, f"build_{name}")(b, n, arch=target)


def _rows(name: str, target: str, shapes: Sequence[tuple[int, int]]) -> Iterator[Whole]:
    path = f"hopper/{name}"
    others = _ROWS[name]
    for b, n in shapes:
        yield Whole(
            f"{path} {b}x{n}",
            path,
            functools.partial(_build_rows, name, b, n, target),
            functools.partial(_arrays, _f32, [(b, n), *others(b, n)]),
            lambda *values: example(path).reference(*values),
            _ERROR,
        )


def _additions() -> Iterator[Whole]:
    for n, width in ((1, 4), (127, 4), (1000, 4), (1000, 3), (5000, 1)):
        yield Whole(
            f"vector_add {n} VEC={width}",
            "vector_add",
            lambda module: module.vector_add,
            functools.partial(_arrays, _f32, [(n,), (n,)]),
            lambda a, b: a + b,
            2.0**-24,
            template=(("VEC", width),),
        )


_TAILS = [(128, 128, 64), (128, 128, 384), (100, 72, 40), (130, 129, 200), (1, 1, 8), (37, 6, 72)]
_PAIRS = [
    (256, 128, 64),
    (256, 128, 448),
    (100, 72, 40),
    (300, 129, 200),
    (1, 1, 8),
    (129, 257, 72),
]
_MATRICES = [(4, 512), (3, 1024), (5, 544)]
_MATRICES_WITH_TAILS = [(4, 512), (3, 1024), (5, 500), (2, 4), (1, 1028)]


def wholes(target: str) -> Iterator[Whole]:
    """Return the kernels of a target."""
    yield from _gemms("ampere/gemm", _TAILS, arch=target)
    yield from _rows("rms_norm", target, _MATRICES)
    for name in ("layer_norm", "softmax", "swiglu"):
        yield from _rows(name, target, _MATRICES_WITH_TAILS)
    if target == "sm_80":
        yield from _additions()
        return
    for tma in ("value", "pointer"):
        yield from _gemms("hopper/gemm", _TAILS, tma=tma)
        yield from _gemms("hopper/clustered_gemm", _PAIRS, tma=tma)
    for sizes, n, k in (((128, 128), 128, 64), ((5, 0, 130, 1), 72, 136), ((0, 200), 129, 72)):
        yield _grouped(sizes, n, k)


def _image(whole: Whole, inputs: list[Input], shape: tuple[int, ...]) -> Any:
    """Trace the kernel for these arrays."""
    from pyptx._call import first_call
    from pyptx._call.signature import Array

    kernel = whole.make(example(whole.path))
    described = [Array(array.bits.shape, array.dtype) for array in inputs]
    prepared = first_call.prepare(
        kernel, kernel._refreshed().captures, described, [Array(shape, "f32")],
        dict(whole.template), kernel.arch,
    )  # fmt: skip
    return prepared.image


def _launch(whole: Whole, target: str) -> Launch:
    inputs = whole.arrays()
    shape = whole.reference().shape
    size = int(np.prod(shape))
    buffers = [np.ascontiguousarray(array.bits).reshape(-1).view(np.uint8) for array in inputs]
    # What no thread writes must show: a NaN of its own.
    buffers.append(np.full(size, 0x7FC0DEAD, np.uint32).view(np.uint8))

    def describe(case: int) -> str:
        return f"element {tuple(int(i) for i in np.unravel_index(case, shape))}"

    part = Part(whole.key, len(inputs), 0, 4, size, describe, keep=min(size, _KEPT))
    return Launch(whole.key, target, buffers, [part], image=_image(whole, inputs, shape))


@functools.cache
def _launches(target: str) -> tuple[Launch, ...]:
    return tuple(_launch(whole, target) for whole in wholes(target))


class KernelsSet:
    """Every example for Ampere and Hopper."""

    name = "kernels"
    about = "the examples for Ampere and Hopper, whole"
    targets: tuple[str, ...] = ("sm_80", "sm_90a")

    def launches(self, target: str) -> Iterator[Launch]:
        """One launch for each kernel and shape."""
        yield from _launches(target)
