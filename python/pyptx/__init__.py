# SPDX-License-Identifier: Apache-2.0
"""pyptx: NVIDIA GPU kernels written at the level of PTX.

A kernel is a Python function in which every call is one PTX instruction. `kernel` traces it; the
traced text runs from PyTorch, from `jax.jit`, and on the CPU emulator where there is no GPU.
"""

from __future__ import annotations

from pyptx import _sealed as _sealed  # before anything is taken from what it seals
from pyptx import ptx, reg, smem
from pyptx._call.bound_kernel import BoundKernel
from pyptx._call.first_call import detect_arch
from pyptx._call.open_kernel import OpenKernel, load
from pyptx._core import Diagnostic, EmulatorStream, Module
from pyptx._errors import (
    ArgumentTypeError,
    ArgumentValueError,
    AssembleError,
    CaptureWarning,
    CheckError,
    EmulatorError,
    EmulatorWarning,
    Error,
    LaunchError,
    OperandTypeError,
    OutOfMemoryError,
    OutputWarning,
    PtxSyntaxError,
    TargetError,
    TraceWarning,
    TuneError,
    TuneWarning,
    VerifyError,
)
from pyptx._intrinsic import intrinsic
from pyptx._reprs import set_reprs
from pyptx._tune import Trial, Tuned, tune
from pyptx._verify import verify
from pyptx.kernel import kernel
from pyptx.parser import parse
from pyptx.specs import Layout, Tile
from pyptx.torch_support import differentiable_kernel

__version__ = "0.1.0"
set_reprs()

__all__ = [
    "ArgumentTypeError",
    "ArgumentValueError",
    "AssembleError",
    "BoundKernel",
    "CaptureWarning",
    "CheckError",
    "Diagnostic",
    "EmulatorError",
    "EmulatorStream",
    "EmulatorWarning",
    "Error",
    "LaunchError",
    "Layout",
    "Module",
    "OpenKernel",
    "OperandTypeError",
    "OutOfMemoryError",
    "OutputWarning",
    "PtxSyntaxError",
    "TargetError",
    "Tile",
    "TraceWarning",
    "Trial",
    "TuneError",
    "TuneWarning",
    "Tuned",
    "VerifyError",
    "__version__",
    "detect_arch",
    "differentiable_kernel",
    "intrinsic",
    "kernel",
    "load",
    "parse",
    "ptx",
    "reg",
    "smem",
    "tune",
    "verify",
]
