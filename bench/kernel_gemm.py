# SPDX-License-Identifier: Apache-2.0
"""The cases of `matmul`: squares, the shapes of models, transposes, epilogues, batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from kernel_cases import (
    COMPILED,
    CUBLAS,
    DTYPES,
    EAGER,
    OURS,
    TRITON,
    Case,
    Inputs,
    compiled,
    plain,
    why_no_triton,
)
from torch.nn import functional

from pyptx import kernels

SQUARES = (2048, 4096, 8192)
# M, N and K of linear layers of Llama 3, Qwen 2.5 and DeepSeek V3, from decoding to prefilling.
MODELS = [
    (1, 6144, 4096), (1, 28672, 4096), (1, 4096, 14336), (1, 128256, 4096),
    (8, 4608, 3584), (8, 8192, 28672), (16, 28672, 8192), (16, 10240, 8192),
    (32, 7168, 16384), (32, 24576, 1536), (32, 3584, 18944),
    (64, 6144, 4096), (64, 4096, 7168), (64, 57344, 8192),
    (128, 6144, 4096), (128, 8192, 8192), (128, 2112, 7168), (128, 37888, 3584),
    (256, 4096, 14336), (256, 10240, 8192),
    (512, 4096, 4096), (512, 28672, 4096), (512, 7168, 2048),
    (1024, 3584, 3584), (1024, 14336, 4096), (2048, 6144, 4096), (2048, 4096, 14336),
    (4096, 28672, 4096), (4096, 24576, 1536), (8192, 10240, 8192), (4096, 4096, 7168),
    (4096, 32768, 512),
]  # fmt: skip
OTHER = (4096, 4096, 4096)  # for everything that is not plain
BATCHED = (8, 2048, 2048, 2048)
INVARIANT = (64, 6144, 4096)
SAME = "the same call as cuBLAS's"
PLAIN = "written for K-major bf16 without an epilogue"
ACTIVATIONS = {
    "relu": functional.relu,
    "gelu": functional.gelu,
    "silu": functional.silu,
}
# What cuBLASLt has an epilogue for that torch asks it for.
FUSED = {"relu": lambda a, b, bias: torch._addmm_activation(bias, a, b)}


def matmul_cases(device: str, quick: bool) -> Iterator[Case]:
    """Yield the cases of `matmul`."""
    on_gpu = device == "cuda"
    squares = [(n, n, n) for n in SQUARES] if on_gpu else [(64, 64, 64)]
    for shape in squares:
        yield linear(device, shape)
    for shape in squares:
        yield linear(device, shape, mode="burst")
    other = OTHER if on_gpu else (72, 136, 88)
    few = MODELS[::6] if quick else MODELS
    for shape in few if on_gpu else [(1, 136, 64), (40, 64, 72)]:
        yield linear(device, shape, variant="model")
    for layout in ("NN", "TN", "TT"):
        yield linear(device, other, layout=layout)
    yield linear(device, other, dtype="f16")
    yield linear(device, other, out="f32")
    for activation, residual in ((None, False), ("relu", False), ("gelu", True), ("silu", True)):
        yield epilogue(device, other, activation, residual)
    yield batched(device, BATCHED if on_gpu else (2, 64, 72, 64))
    yield linear(device, INVARIANT if on_gpu else other, variant="batch invariant")


def _moved(m: int, n: int, k: int, item: int, out: int) -> float:
    return (m + n) * k * item + m * n * out


def linear(
    device: str,
    shape: tuple[int, int, int],
    *,
    layout: str = "NT",
    dtype: str = "bf16",
    out: str | None = None,
    variant: str = "",
    mode: str = "sustained",
) -> Case:
    """Return a plain product: N is a matrix as it is written, T one that lies transposed."""
    m, n, k = shape
    item = DTYPES[dtype].itemsize
    options: dict[str, Any] = {"out_dtype": out} if out else {}
    options |= {"batch_invariant": True} if variant == "batch invariant" else {}

    def inputs(make: Inputs) -> tuple[Any, ...]:
        a = make.normal(m, k, dtype=dtype) if layout[0] == "N" else make.normal(k, m, dtype=dtype).T
        b = make.normal(k, n, dtype=dtype) if layout[1] == "N" else make.normal(n, k, dtype=dtype).T
        return a, b

    def in_torch(a: Any, b: Any) -> Any:
        return torch.mm(a, b, out_dtype=DTYPES[out]) if out else torch.matmul(a, b)

    arms = {OURS: plain(lambda a, b: kernels.matmul(a, b, **options)), CUBLAS: plain(in_torch)}
    absent = {EAGER: SAME, COMPILED: SAME}
    if out and device != "cuda":
        del arms[CUBLAS]
        absent[CUBLAS] = "needs a GPU"
    reason = why_no_triton(device)
    if not reason and (layout, dtype, out) != ("NT", "bf16", None):
        reason = PLAIN
    if reason:
        absent[TRITON] = reason
    else:
        arms[TRITON] = plain(_in_triton)
    named = [variant, "" if layout == "NT" else layout, f"to {out}" if out else ""]
    return Case(
        "matmul", ", ".join(filter(None, named)) or "plain", dtype, shape, inputs, _product, arms,
        bytes=_moved(m, n, k, item, DTYPES[out].itemsize if out else item), rows=m,
        flops=2.0 * m * n * k, mode=mode, absent=absent,
        first=variant == "model" or m == n,
    )  # fmt: skip


def _in_triton(a: Any, b: Any) -> Any:
    import triton_matmul

    return triton_matmul.matmul(a, b.T)


def _product(rows: list[int], a: Any, b: Any) -> tuple[Any, ...]:
    chosen = torch.tensor(rows, device=a.device)
    return (a.index_select(-2, chosen).double() @ b.double(),)


def epilogue(
    device: str, shape: tuple[int, int, int], activation: str | None, residual: bool
) -> Case:
    """Return act(a @ b + bias) + residual."""
    m, n, k = shape

    def inputs(make: Inputs) -> tuple[Any, ...]:
        a, b = make.normal(m, k, dtype="bf16"), make.normal(n, k, dtype="bf16").T
        rest = (make.normal(m, n, dtype="bf16"),) if residual else ()
        return a, b, make.normal(n, dtype="bf16"), *rest

    def reference(rows: list[int], a: Any, b: Any, bias: Any, *rest: Any) -> tuple[Any, ...]:
        c = _product(rows, a, b)[0] + bias.double()
        c = ACTIVATIONS[activation](c) if activation else c
        chosen = torch.tensor(rows, device=a.device)
        return (c + rest[0][chosen].double() if rest else c,)

    def in_torch(a: Any, b: Any, bias: Any, *rest: Any) -> Any:
        c = torch.addmm(bias, a, b)
        c = ACTIVATIONS[activation](c) if activation else c
        return c + rest[0] if rest else c

    def ours(a: Any, b: Any, bias: Any, *rest: Any) -> Any:
        residual = rest[0] if rest else None
        return kernels.matmul(a, b, bias=bias, activation=activation, residual=residual)

    # The eager arm is cuBLAS and then torch's own kernels; without those it is cuBLAS alone.
    arms = {OURS: plain(ours), (EAGER if activation else CUBLAS): plain(in_torch)}
    absent = {TRITON: PLAIN}
    if not activation:
        absent |= {EAGER: SAME, COMPILED: SAME}
    elif device == "cuda":
        arms[COMPILED] = compiled(in_torch)
        if activation in FUSED:
            arms[CUBLAS] = plain(FUSED[activation])
    else:
        absent[COMPILED] = "needs a GPU"
    name = " + ".join(filter(None, ["bias", activation, "residual" if residual else ""]))
    return Case(
        "matmul", name, "bf16", shape, inputs, reference, arms,
        bytes=_moved(m, n, k, 2, 2) + n * 2 + m * n * 2 * residual, rows=m,
        flops=2.0 * m * n * k, absent=absent,
    )  # fmt: skip


def batched(device: str, shape: tuple[int, int, int, int]) -> Case:
    """Return a product of batches, each K-major."""
    batch, m, n, k = shape

    def inputs(make: Inputs) -> tuple[Any, ...]:
        return make.normal(batch, m, k, dtype="bf16"), make.normal(batch, n, k, dtype="bf16").mT

    return Case(
        "matmul", "batched", "bf16", shape, inputs, _product,
        {OURS: plain(kernels.matmul), CUBLAS: plain(torch.matmul)},
        bytes=batch * _moved(m, n, k, 2, 2), rows=m, axis=1, flops=2.0 * batch * m * n * k,
        absent={EAGER: SAME, COMPILED: SAME, TRITON: PLAIN},
    )  # fmt: skip
