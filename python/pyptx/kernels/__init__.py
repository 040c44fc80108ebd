# SPDX-License-Identifier: Apache-2.0
"""Kernels to use as they are, and the parts that they are made of."""

from pyptx.kernels.gemm import matmul
from pyptx.kernels.gemm_config import GemmConfig, GemmProblem
from pyptx.kernels.gemm_kernel import build_gemm

__all__ = ["GemmConfig", "GemmProblem", "build_gemm", "matmul"]
