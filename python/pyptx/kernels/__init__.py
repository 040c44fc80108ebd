# SPDX-License-Identifier: Apache-2.0
"""Kernels to use as they are, with the parts they are made of.

Each takes arrays of torch, JAX or NumPy; what is differentiable in the mathematics has gradients.
"""

from __future__ import annotations

from pyptx.kernels.gemm import matmul
from pyptx.kernels.gemm_config import GemmConfig, GemmProblem
from pyptx.kernels.gemm_kernel import build_gemm
from pyptx.kernels.row_calls import (
    cross_entropy,
    cross_entropy_and_gradient,
    layer_norm,
    quantise_fp8,
    rms_norm,
    rotary,
    softmax,
    swiglu,
)

__all__ = [
    "GemmConfig",
    "GemmProblem",
    "build_gemm",
    "cross_entropy",
    "cross_entropy_and_gradient",
    "layer_norm",
    "matmul",
    "quantise_fp8",
    "rms_norm",
    "rotary",
    "softmax",
    "swiglu",
]
