# SPDX-License-Identifier: Apache-2.0
"""Calls of every kernel of pyptx.kernels, each with its gradient, held to float64 on the host.

Inputs are made on the host, so that nothing but these kernels runs on the device. The sizes are
such that every division of rows and every configuration of products is met.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pyptx import kernels
from support import row_references as reference
from support.gemm_cases import CONFIGS, check, operands

BOUND = {torch.float32: 2e-5, torch.bfloat16: 2.0**-6, torch.float16: 2.0**-8}
EPS = 1e-5
Call = tuple[str, Callable[[str], None]]


class WrongError(Exception):
    """A result is not the right one."""


def close(found: Any, expected: Any) -> None:
    """Compare a result with float64, as a part of its largest number."""
    found = found.detach().cpu()
    error = np.abs(found.double().numpy() - expected).max() / np.abs(expected).max()
    if not error <= BOUND[found.dtype]:
        raise WrongError(f"the error is {error:.3g} of the largest number")


def made(seed: int, dtype: Any, device: str, *shapes: tuple[int, ...]) -> list[Any]:
    """Return normally distributed tensors, and what they are in float64."""
    generator = torch.Generator().manual_seed(seed)
    host = [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]
    return [(x.to(device), x.double().numpy()) for x in host]


def gradients(y: Any, inputs: list[Any], g: Any) -> tuple[Any, ...]:
    """Return the gradients of inputs that require them."""
    return torch.autograd.grad(y, inputs, g)


def norm(kind: str, m: int, n: int, dtype: Any, device: str) -> None:
    """Call a norm, with its gradient, and the norm of a sum."""
    shapes = ((m, n), (m, n), (m, n), (n,), (n,))
    (x, x64), (r, _), (g, g64), (w, w64), (b, b64) = made(1, dtype, device, *shapes)
    function = getattr(kernels, f"{kind}_norm")
    expected = getattr(reference, f"{kind}_norm")
    weights = [(w, w64), (b, b64)] if kind == "layer" else [(w, w64)]
    leaves = [each.requires_grad_() for each in (x, *(weight for weight, _ in weights))]
    y = function(*leaves, eps=EPS)
    close(y, expected(x64, *(exact for _, exact in weights)))
    found = gradients(y, leaves, g)
    for got, wanted in zip(found, reference.norm_gradients(kind, x64, w64, g64), strict=False):
        close(got, wanted)
    with torch.no_grad():
        y, total = function(*leaves, eps=EPS, residual=r)
    total64 = total.cpu().double().numpy()
    close(y, expected(total64, *(exact for _, exact in weights)))


def softmax(m: int, n: int, dtype: Any, device: str) -> None:
    """Call softmax, with its gradient."""
    (x, x64), (g, g64) = made(2, dtype, device, (m, n), (m, n))
    y = kernels.softmax(x.requires_grad_())
    close(y, reference.softmax(x64))
    (dx,) = gradients(y, [x], g)
    close(dx, reference.softmax_gradient(y.detach().cpu().double().numpy(), g64))


def cross_entropy(m: int, n: int, dtype: Any, device: str) -> None:
    """Call the loss, and the loss with its gradient, also in the place of the logits."""
    (x, x64), _ = made(3, dtype, device, (m, n), (m,))
    ((g, g64),) = made(4, torch.float32, device, (m,))
    host = torch.randint(n, (m,), generator=torch.Generator().manual_seed(5))
    host[0] = -100
    targets = host.to(device)
    loss, dx = reference.cross_entropy(x64, host.numpy(), g64)
    close(kernels.cross_entropy(x, targets), loss)
    for got, wanted in zip(
        kernels.cross_entropy_and_gradient(x, targets, g), (loss, dx), strict=True
    ):
        close(got, wanted)
    losses = torch.zeros_like(g)
    kernels.cross_entropy_and_gradient(x, targets, g, out=(losses, x))
    close(x, dx)


def swiglu(m: int, n: int, dtype: Any, device: str) -> None:
    """Call SwiGLU, with its gradient."""
    (gate, gate64), (up, up64), (g, g64) = made(6, dtype, device, *[(m, n)] * 3)
    y = kernels.swiglu(gate.requires_grad_(), up.requires_grad_())
    close(y, reference.swiglu(gate64, up64))
    wanted = reference.swiglu_gradients(gate64, up64, g64)
    for got, each in zip(gradients(y, [gate, up], g), wanted, strict=True):
        close(got, each)


def quantise(m: int, n: int, dtype: Any, device: str) -> None:
    """Call the quantisation to fp8."""
    ((x, x64),) = made(7, dtype, device, (m, n))
    q, scales = kernels.quantise_fp8(x)
    close(scales, np.abs(x64).max(-1) / 448.0)
    restored = q.cpu().double().numpy() * scales.cpu().double().numpy()[:, None]
    if not (np.abs(restored - x64) <= np.abs(x64) * 2**-4 + np.abs(x64).max() * 2**-9).all():
        raise WrongError("q * scales is not x")


def rotary(heads: int, size: int, dtype: Any, interleaved: bool, device: str) -> None:
    """Call rotary embedding, with its gradient."""
    shape = (2, 5, heads, size)
    (x, x64), (g, _) = made(8, dtype, device, shape, shape)
    (cos, cos64), (sin, sin64) = made(9, torch.float32, device, *[(5, size // 2)] * 2)
    y = kernels.rotary(x.requires_grad_(), cos, sin, interleaved=interleaved)
    close(y, reference.rotary(x64, cos64, sin64, interleaved))
    gradients(y, [x], g)


def product(name: str, device: str) -> None:
    """Call a product in one of the configurations."""
    from pyptx.kernels import GemmProblem, build_gemm

    config, sizes = CONFIGS[name]
    problem = GemmProblem(bias="bf16", activation="gelu", residual=True)
    inputs, expected = operands(problem, *sizes)
    out = build_gemm(problem, config)(*(x.to(device) for x in inputs))
    check(out.cpu(), expected, problem.out)


def layouts(a_transposed: bool, b_transposed: bool, device: str) -> None:
    """Call a batch of products of operands that lie any way, as the model of the machine has it."""
    ((a, a64), (b, b64)) = made(
        10, torch.float16, device,
        (2, 136, 200) if a_transposed else (2, 200, 136),
        (2, 264, 136) if b_transposed else (2, 136, 264),
    )  # fmt: skip
    c = kernels.matmul(a, b, transpose_a=a_transposed, transpose_b=b_transposed)
    left = a64.swapaxes(1, 2) if a_transposed else a64
    close(c, left @ (b64.swapaxes(1, 2) if b_transposed else b64))


def calls(small: bool) -> Iterator[Call]:
    """Yield every call by name; `small` ones do for the emulator."""
    rows = [(6, 264, torch.bfloat16), (5, 77, torch.float32)]
    if not small:
        rows = [
            (300, 128, torch.bfloat16),
            (70, 1000, torch.float32),
            (40, 4096, torch.float16),
            (140, 16384, torch.bfloat16),
            (140, 20480, torch.bfloat16),
            (40, 32768, torch.float32),
            (9, 50257, torch.bfloat16),
            (20, 131072, torch.bfloat16),
        ]
    for m, n, dtype in rows:
        size = f"{m} x {n} {str(dtype).removeprefix('torch.')}"
        for kind in ("rms", "layer"):
            yield f"{kind}_norm {size}", _bound(norm, kind, m, n, dtype)
        for function in (softmax, cross_entropy, swiglu):
            yield f"{function.__name__} {size}", _bound(function, m, n, dtype)
        if n % 4 == 0:
            yield f"quantise_fp8 {size}", _bound(quantise, m, n, dtype)
    for interleaved in (False, True):
        heads = (4, 64) if small else (8, 128)
        for dtype in (torch.bfloat16, torch.float32):
            name = f"rotary {'interleaved' if interleaved else 'halves'} {dtype}"
            yield name, _bound(rotary, *heads, dtype, interleaved)
    for name in list(CONFIGS)[:: 6 if small else 1]:
        yield f"matmul {name}", _bound(product, name)
    for a_transposed in (False, True):
        for b_transposed in (False, True):
            name = f"matmul batch, transposed {a_transposed} {b_transposed}"
            yield name, _bound(layouts, a_transposed, b_transposed)


def _bound(function: Callable[..., None], *arguments: Any) -> Callable[[str], None]:
    return lambda device: function(*arguments, device)
