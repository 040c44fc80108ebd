# SPDX-License-Identifier: Apache-2.0
"""Runs a kernel from NumPy, from PyTorch and from jax.jit, and compares each with a reference.

On a machine with an NVIDIA GPU the frameworks run it there, else on the emulator. The examples
whose inputs and output are plain matrices share this; none of it is needed to use a kernel.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pyptx.kernel import Kernel

Arrays = Sequence[np.ndarray]


def run_numpy(k: Kernel, inputs: Arrays) -> tuple[str, np.ndarray]:
    """On the emulator, without any framework."""
    return "numpy, emulator", k(*inputs)


def run_torch(k: Kernel, inputs: Arrays) -> tuple[str, np.ndarray]:
    """From PyTorch: on the GPU where there is one, else on the emulator."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    y = k(*(torch.from_numpy(x).to(device) for x in inputs))
    where = torch.cuda.get_device_name() if device == "cuda" else "emulator"
    return f"torch, {where}", y.cpu().numpy()


def run_jax(k: Kernel, inputs: Arrays) -> tuple[str, np.ndarray]:
    """From jax.jit: on JAX's default device."""
    import jax

    y = jax.jit(lambda *xs: k(*xs))(*inputs)
    device = next(iter(y.devices()))
    where = device.device_kind if device.platform == "gpu" else "emulator"
    return f"jax.jit, {where}", np.asarray(y)


def run_and_check(
    name: str,
    k: Kernel,
    inputs: Arrays,
    reference: Callable[..., np.ndarray],
    *,
    tolerance: float = 1e-5,
) -> None:
    """Run every way that is installed here; print the errors, leave where one is too large."""
    expected = reference(*(x.astype(np.float64) for x in inputs))
    scale = max(float(np.abs(expected).max()), 1e-30)
    for run in (run_numpy, run_torch, run_jax):
        try:
            where, y = run(k, inputs)
        except ModuleNotFoundError as missing:
            print(f"{run.__name__}: skipped, {missing.name} is not installed")
            continue
        error = float(np.abs(y - expected).max()) / scale
        print(f"{name} {expected.shape} ({where}): largest error against float64 {error:.2e}")
        if not error < tolerance:
            raise SystemExit("the result is wrong")


def numpy_gradients(op: Any, inputs: Arrays, g: np.ndarray) -> tuple[str, Arrays]:
    """From the backward kernels alone, on the emulator."""
    return "numpy, emulator", op.backward(*(inputs[index] for index in op.saved), g)


def torch_gradients(op: Callable[..., Any], inputs: Arrays, g: np.ndarray) -> tuple[str, Arrays]:
    """From torch.autograd."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    leaves = [torch.from_numpy(x).to(device).requires_grad_() for x in inputs]
    op(*leaves).backward(torch.from_numpy(g).to(device))
    return "torch.autograd", [leaf.grad.cpu().numpy() for leaf in leaves]


def jax_gradients(op: Callable[..., Any], inputs: Arrays, g: np.ndarray) -> tuple[str, Arrays]:
    """From jax.vjp."""
    import jax

    _, pull = jax.vjp(op, *map(jax.numpy.asarray, inputs))
    return "jax.vjp", [np.asarray(grad) for grad in pull(jax.numpy.asarray(g))]


def check_gradients(
    name: str,
    op: Callable[..., Any],
    inputs: Arrays,
    reference: Callable[..., Arrays],
    *,
    tolerance: float = 1e-5,
) -> None:
    """Pull a random gradient back through `op`; print the errors, leave where one is too large."""
    g = np.random.default_rng().standard_normal(inputs[0].shape).astype(np.float32)
    expected = reference(*(x.astype(np.float64) for x in (*inputs, g)))
    for run in (numpy_gradients, torch_gradients, jax_gradients):
        try:
            where, found = run(op, inputs, g)
        except ModuleNotFoundError:
            continue  # said where the forward kernel was run
        for index, (got, right) in enumerate(zip(found, expected, strict=True)):
            error = float(np.abs(got - right).max() / max(np.abs(right).max(), 1e-30))
            print(f"{name} gradient {index} ({where}): largest error against float64 {error:.2e}")
            if not error < tolerance:
                raise SystemExit("a gradient is wrong")


def show_profile(k: Kernel, inputs: Arrays) -> None:
    """Print what a run on the emulator costs: in all, by opcode and line, and by instruction."""
    _, report = k.emulate(*inputs, report=True)
    print(f"\n{report}\n{report.profile()}")


def arguments(doc: str | None) -> argparse.Namespace:
    """Read the command line: --rows, --columns, --ptx, --profile."""
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--columns", type=int, default=1024)
    parser.add_argument("--ptx", action="store_true", help="print the PTX first")
    parser.add_argument(
        "--profile", action="store_true", help="print what the emulator executed, by instruction"
    )
    return parser.parse_args()
