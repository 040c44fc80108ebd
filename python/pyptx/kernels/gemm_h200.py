# SPDX-License-Identifier: Apache-2.0
"""Configurations measured on an H200, for sizes where the model chooses a slower one.

Operands K-major, bf16. Everything else is the model's choice (`gemm_choice`).
"""

from __future__ import annotations

from pyptx.kernels.gemm_config import GemmConfig

MEASURED = {
    (1, 6144, 4096): GemmConfig((64, 8), (1, 1), 12, warpgroups=1, swap=True, ctas=264),
    (1, 4096, 14336): GemmConfig((64, 8), (1, 1), 16, warpgroups=1, swap=True, split_k=2),
    (8, 4608, 3584): GemmConfig((64, 8), (1, 1), 12, warpgroups=1, swap=True, ctas=264),
    (16, 10240, 8192): GemmConfig((64, 16), (2, 1), 16, warpgroups=1, swap=True),
    (32, 7168, 16384): GemmConfig((64, 32), (1, 1), 9, warpgroups=1, swap=True, ctas=264),
    (32, 24576, 1536): GemmConfig((64, 32), (1, 1), 16, warpgroups=1, swap=True),
    (64, 6144, 4096): GemmConfig((64, 64), (1, 1), 13, warpgroups=1),
    (64, 4096, 7168): GemmConfig((64, 32), (1, 2), 16, warpgroups=1, swap=True),
    (64, 57344, 8192): GemmConfig((64, 256), (1, 1), 4, pingpong=True),
    (128, 6144, 4096): GemmConfig((64, 96), (1, 1), 10, warpgroups=1),
    (128, 8192, 8192): GemmConfig((64, 128), (1, 1), 8, pingpong=True),
    (128, 37888, 3584): GemmConfig((128, 96), (1, 1), 6, pingpong=True),
    (256, 4096, 4096): GemmConfig((128, 64), (2, 1), 8),
    (256, 4096, 14336): GemmConfig((64, 128), (1, 1), 8, pingpong=True),
    (512, 4096, 14336): GemmConfig((128, 128), (2, 1), 6),
    (1024, 1024, 1024): GemmConfig((128, 64), (2, 1), 8, programmatic=True),
    (1024, 14336, 4096): GemmConfig((128, 128), (1, 1), 6, pingpong=True),
    (2048, 2048, 2048): GemmConfig((128, 128), (1, 1), 6, pingpong=True),
    (2048, 4096, 14336): GemmConfig((128, 128), (2, 1), 6, pingpong=True),
    (4096, 24576, 1536): GemmConfig((128, 160), (2, 1), 5, pingpong=True),
    (4096, 28672, 4096): GemmConfig((128, 160), (2, 1), 5, pingpong=True),
    (4096, 32768, 512): GemmConfig((128, 160), (2, 1), 5, pingpong=True),
}
