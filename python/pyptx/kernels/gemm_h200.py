# SPDX-License-Identifier: Apache-2.0
"""Configurations measured on an H200, for sizes where the model chooses a slower one.

Operands K-major, bf16. Everything else is the model's choice (`gemm_choice`).
"""

from __future__ import annotations

from pyptx.kernels.gemm_config import GemmConfig

MEASURED = {
    (1, 6144, 4096): GemmConfig(
        tile=(64, 8), cluster=(1, 1), stages=12, warpgroups=1, swap=True, ctas=264
    ),
    (8, 4608, 3584): GemmConfig(
        tile=(64, 8), cluster=(1, 1), stages=12, warpgroups=1, swap=True, ctas=264
    ),
    (16, 10240, 8192): GemmConfig(
        tile=(64, 16), cluster=(2, 1), stages=16, warpgroups=1, swap=True
    ),
    (32, 7168, 16384): GemmConfig(
        tile=(64, 32), cluster=(1, 1), stages=9, warpgroups=1, swap=True, ctas=264
    ),
    (64, 57344, 8192): GemmConfig(tile=(128, 64), cluster=(2, 1), stages=9, swap=True),
    (128, 2112, 7168): GemmConfig(tile=(128, 128), cluster=(1, 1), stages=6, split_k=4),
    (128, 8192, 8192): GemmConfig(tile=(128, 128), cluster=(1, 1), stages=6, split_k=2),
    (128, 37888, 3584): GemmConfig(tile=(128, 160), cluster=(1, 1), stages=5, pingpong=True),
    (256, 4096, 4096): GemmConfig(tile=(128, 64), cluster=(2, 1), stages=8),
    (512, 4096, 14336): GemmConfig(tile=(128, 128), cluster=(2, 1), stages=6),
    (512, 7168, 2048): GemmConfig(tile=(128, 224), cluster=(1, 1), stages=4),
    (512, 28672, 4096): GemmConfig(tile=(128, 128), cluster=(2, 1), stages=6, pingpong=True),
    (1024, 1024, 1024): GemmConfig(tile=(128, 64), cluster=(2, 1), stages=8),
    (1024, 14336, 4096): GemmConfig(tile=(128, 128), cluster=(2, 1), stages=6, pingpong=True),
    (2048, 6144, 4096): GemmConfig(tile=(256, 192), cluster=(1, 2), stages=3),
    (4096, 28672, 4096): GemmConfig(tile=(256, 160), cluster=(1, 2), stages=3),
    (8192, 8192, 8192): GemmConfig(tile=(256, 192), cluster=(2, 1), stages=3),
    (8192, 10240, 8192): GemmConfig(tile=(256, 160), cluster=(1, 2), stages=3),
}
