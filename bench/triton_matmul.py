# SPDX-License-Identifier: Apache-2.0
"""A peer of `matmul` in Triton: its tutorial's persistent product with tensor descriptors, tuned.

C = A B^T, both K-major, as a linear layer has them. Imported only where Triton is.
"""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

GROUP = 8  # rows of tiles that are gone through together


def _blocks(arguments):
    """Give the descriptors the boxes of a configuration."""
    m, n, k = (arguments[name] for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K"))
    arguments["a"].block_shape = [m, k]
    arguments["b"].block_shape = [n, k]
    arguments["c"].block_shape = [m, n]


def _config(m, n, k, stages, warps):
    blocks = {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}
    return triton.Config(blocks, num_stages=stages, num_warps=warps, pre_hook=_blocks)


CONFIGS = [
    _config(16, 64, 128, 5, 4),
    _config(16, 128, 128, 4, 4),
    _config(64, 64, 128, 4, 4),
    _config(64, 128, 64, 5, 4),
    _config(128, 64, 64, 5, 4),
    _config(128, 128, 64, 4, 4),
    _config(128, 128, 64, 4, 8),
    _config(128, 256, 64, 3, 8),
]


def _worthwhile(configs, named_args, **_):
    """Leave out tiles that are far higher than the matrix, or far lower."""
    m = named_args["M"]
    return [
        config
        for config in configs
        if (config.kwargs["BLOCK_M"] == 16) == (m <= 16)
        and (config.kwargs["BLOCK_M"] <= 64 or m > 64)
        and (config.kwargs["BLOCK_M"] >= 128 or m <= 512)
    ]


def _bench(call, quantiles):
    return triton.testing.do_bench(call, warmup=2, rep=8, quantiles=quantiles)


@triton.autotune(
    CONFIGS, key=["M", "N", "K"], prune_configs_by={"early_config_prune": _worthwhile},
    do_bench=_bench,
)  # fmt: skip
@triton.jit
def _matmul(a, b, c, M, N, K, PROGRAMS: tl.constexpr, GROUP: tl.constexpr,
            BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):  # fmt: skip
    rows, columns = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    for tile in tl.range(tl.program_id(0), rows * columns, PROGRAMS, flatten=True):
        group = tile // (GROUP * columns)
        high = tl.minimum(rows - group * GROUP, GROUP)
        inside = tile % (GROUP * columns)
        row = (group * GROUP + inside % high) * BLOCK_M
        column = inside // high * BLOCK_N
        total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for block in range(tl.cdiv(K, BLOCK_K)):
            left = a.load([row, block * BLOCK_K])
            right = b.load([column, block * BLOCK_K])
            total = tl.dot(left, right.T, total)
        c.store([row, column], total.to(c.dtype))


def matmul(a, b):
    """Return a @ b.T, for a of (M, K) and b of (N, K)."""
    (m, k), n = a.shape, b.shape[0]
    c = torch.empty((m, n), device=a.device, dtype=a.dtype)
    programs = torch.cuda.get_device_properties(a.device).multi_processor_count
    maps = [TensorDescriptor(x, list(x.shape), list(x.stride()), [1, 1]) for x in (a, b, c)]

    def grid(chosen):
        tiles = triton.cdiv(m, chosen["BLOCK_M"]) * triton.cdiv(n, chosen["BLOCK_N"])
        return (min(programs, tiles),)

    _matmul[grid](*maps, m, n, k, PROGRAMS=programs, GROUP=GROUP)
    return c
