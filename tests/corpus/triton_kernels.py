# SPDX-License-Identifier: Apache-2.0
"""Kernels in Triton, whose PTX tests/data/triton holds for tests/emu/test_triton_kernels.py.

``python tests/corpus/triton_kernels.py tests/data/triton`` compiles them anew, without a GPU, where
triton 3.9 is installed (it is no dependency of the tests). Debug information is left out.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def add(x, y, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@triton.jit
def softmax(x, out, n, B: tl.constexpr):
    row = tl.program_id(0) * n
    i = tl.arange(0, B)
    m = i < n
    v = tl.load(x + row + i, mask=m, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row + i, e / tl.sum(e, 0), mask=m)


@triton.jit
def layer_norm(x, weight, bias, out, n, eps, B: tl.constexpr):
    row = tl.program_id(0) * n
    i = tl.arange(0, B)
    m = i < n
    v = tl.load(x + row + i, mask=m, other=0.0)
    d = tl.where(m, v - tl.sum(v, 0) / n, 0.0)
    scale = 1 / tl.sqrt(tl.sum(d * d, 0) / n + eps)
    y = d * scale * tl.load(weight + i, mask=m) + tl.load(bias + i, mask=m)
    tl.store(out + row + i, y, mask=m)


@triton.jit
def dropout(x, out, n, p, seed, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    kept = tl.rand(seed, i) > p
    tl.store(out + i, tl.where(kept, tl.load(x + i, mask=m) / (1 - p), 0.0), mask=m)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for first in range(0, K, BK):
        k = first + tl.arange(0, BK)
        left = tl.load(
            a + rows[:, None] * K + k[None, :],
            mask=(rows[:, None] < M) & (k[None, :] < K),
            other=0.0,
        )
        right = tl.load(
            b + k[:, None] * N + columns[None, :],
            mask=(k[:, None] < K) & (columns[None, :] < N),
            other=0.0,
        )
        total = tl.dot(left, right, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * N + columns[None, :], total, mask=inside)


@triton.jit
def attention(q, k, v, out, n, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + d[None, :])
    most = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for first in range(0, n, BN):
        keys = first + tl.arange(0, BN)
        scores = tl.dot(query, tl.load(k + keys[None, :] * D + d[:, None])) * scale
        now = tl.maximum(most, tl.max(scores, 1))
        p = tl.exp2(scores - now[:, None])
        rescale = tl.exp2(most - now)
        total = total * rescale + tl.sum(p, 1)
        values = tl.load(v + keys[:, None] * D + d[None, :])
        acc = tl.dot(p.to(tl.float16), values, acc * rescale[:, None])
        most = now
    tl.store(out + rows[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.float16))


@triton.jit
def cumsum(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.cumsum(tl.load(x + i), 0))


@triton.jit
def histogram(x, out, B: tl.constexpr, BINS: tl.constexpr):
    counts = tl.histogram(tl.load(x + tl.arange(0, B)), BINS)
    tl.store(out + tl.arange(0, BINS), counts)


@triton.jit
def gather(x, index, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.gather(tl.load(x + i), tl.load(index + i), 0))


@triton.jit
def locked_sum(x, out, lock, B: tl.constexpr):
    i = tl.arange(0, B)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(out + i, tl.load(out + i) + tl.load(x + i))
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def atomic_sum(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.atomic_add(out + i % 8, tl.load(x + i, mask=m), mask=m)


@triton.jit
def cast(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m).to(out.dtype.element_ty), mask=m)


# name, kernel, types of its parameters, constants, targets
KERNELS = [
    ("add", add, "*fp32 *fp32 *fp32 i32", {"B": 256}, (80,)),
    ("softmax", softmax, "*fp32 *fp32 i32", {"B": 512}, (90,)),
    ("layer_norm", layer_norm, "*fp32 *fp32 *fp32 *fp32 i32 fp32", {"B": 256}, (80,)),
    ("dropout", dropout, "*fp32 *fp32 i32 fp32 i32", {"B": 256}, (80,)),
    (
        "matmul",
        matmul,
        "*fp16 *fp16 *fp32 i32 i32 i32",
        {"BM": 64, "BN": 32, "BK": 32},
        (80, 90, 100),
    ),
    (
        "attention",
        attention,
        "*fp16 *fp16 *fp16 *fp16 i32 fp32",
        {"BM": 64, "BN": 32, "D": 32},
        (90,),
    ),
    ("cumsum", cumsum, "*fp32 *fp32", {"B": 256}, (80,)),
    ("histogram", histogram, "*i32 *i32", {"B": 256, "BINS": 16}, (90,)),
    ("gather", gather, "*fp32 *i32 *fp32", {"B": 128}, (90,)),
    ("locked_sum", locked_sum, "*fp32 *fp32 *i32", {"B": 128}, (80,)),
    ("atomic_sum", atomic_sum, "*fp32 *fp32 i32", {"B": 128}, (80,)),
    ("cast_e5m2", cast, "*fp32 *fp8e5 i32", {"B": 512}, (90,)),
    ("cast_e4m3", cast, "*fp32 *fp8e4nv i32", {"B": 512}, (100,)),
    ("cast_bf16", cast, "*fp32 *bf16 i32", {"B": 512}, (80,)),
]


def bare(text: str) -> str:
    """Return PTX without comments and debug information."""
    text = re.sub(r"//.*", "", text)
    text = re.sub(r"(?m)^\s*\.section\s[^{]*\{[^}]*\}", "", text)
    kept = (line.rstrip() for line in text.splitlines())
    return (
        "\n".join(line for line in kept if line and not re.match(r"\s*\.(loc|file)\b", line)) + "\n"
    )


def main() -> None:
    """Compile all for their targets."""
    folder = Path(sys.argv[1])
    launches = {}
    for name, kernel, types, constants, targets in KERNELS:
        given = dict(zip(kernel.arg_names, types.split(), strict=False))
        aligned = {
            (i,): [["tt.divisibility", 16]] for i, t in enumerate(given.values()) if t[0] == "*"
        }
        source = ASTSource(
            kernel, given | dict.fromkeys(constants, "constexpr"), constants, aligned
        )
        for target in targets:
            options = {"num_warps": 4, "num_stages": 2}
            made = triton.compile(source, target=GPUTarget("cuda", target, 32), options=options)
            (folder / f"{name}.{target}.ptx").write_text(bare(made.asm["ptx"]))
            launches[f"{name}.{target}"] = {
                "entry": made.metadata.name,
                "shared": made.metadata.shared,
                "threads": 32 * made.metadata.num_warps,
            }
    (folder / "launches.json").write_text(json.dumps(launches, indent=1) + "\n")


if __name__ == "__main__":
    main()
