# SPDX-License-Identifier: Apache-2.0
"""What the kernel bench is made of: cases, their arms, and what an arm's result is checked against.

A case is declared by names and functions and has no tensors; `kernels.py` makes them, for one case
at a time. It knows no rounds and no records.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch

OURS, CUBLAS, EAGER, COMPILED, TRITON, COPY = (
    "pyptx", "cuBLAS", "torch", "torch.compile", "Triton", "copy",
)  # fmt: skip
BUILT = (OURS, COMPILED, TRITON)  # what is compiled before its first call

DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
#: Of the largest number of a row. fp8 has three bits behind the first.
TOLERANCE = {
    torch.bfloat16: 2.0**-7,
    torch.float16: 2.0**-9,
    torch.float32: 2e-5,
    torch.float8_e4m3fn: 0.04,
}
PEERS_MAY = 4  # times as much: some round between their steps

Call = Callable[[], Any]
Prepare = Callable[..., Call]  # inputs -> a function without arguments
Reference = Callable[..., tuple[Any, ...]]  # rows, inputs -> the results of those rows in float64


@dataclass
class Case:
    """One kernel at one shape: how its inputs are made, its arms, and what they should give.

    `bytes` are those that have to move, `flops` those of a product. `rows` of a result are checked,
    along `axis`; a result without that many rows is checked whole.
    """

    kernel: str
    variant: str
    dtype: str
    shape: tuple[int, ...]
    inputs: Callable[[Inputs], tuple[Any, ...]]
    reference: Reference
    arms: dict[str, Prepare]
    bytes: float
    rows: int
    flops: float | None = None
    mode: str = "sustained"
    axis: int = 0
    first: bool = True  # of those that matter most, where time is short
    absent: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Of the case, for selections."""
        size = "x".join(map(str, self.shape))
        return f"{self.kernel} {self.variant} {self.dtype} {size} {self.mode}"


class Inputs:
    """Random tensors on a device, of a generator of its own."""

    def __init__(self, device: str, seed: int) -> None:
        self.device = device
        self._generator = torch.Generator(device)
        self._generator.manual_seed(seed)

    def normal(self, *shape: int, dtype: str = "f32") -> Any:
        """Return normally distributed numbers."""
        made = torch.empty(shape, device=self.device, dtype=DTYPES[dtype])
        return made.normal_(generator=self._generator)

    def integers(self, below: int, *shape: int) -> Any:
        """Return whole numbers from 0."""
        return torch.randint(below, shape, device=self.device, generator=self._generator)


def plain(function: Callable[..., Any]) -> Prepare:
    """Make an arm of a function that is called with the inputs."""
    return lambda *inputs: lambda: function(*inputs)


def compiled(function: Callable[..., Any]) -> Prepare:
    """Make an arm of what torch.compile makes of a function, for one case."""

    @cache
    def made() -> Any:
        import torch._dynamo
        import torch._functorch.config as functorch

        functorch.donated_buffer = False  # the backward of an arm runs many times
        torch._dynamo.reset()  # or the ninth shape of a function is not compiled any more
        return torch.compile(function, dynamic=False, fullgraph=True)

    return lambda *inputs: plain(made())(*inputs)


def backward(forward: Prepare, count: int) -> Prepare:
    """Make an arm of the gradients of the first `count` inputs; the last input is that of y."""

    def prepare(*inputs: Any) -> Call:
        *given, grad = inputs
        leaves = [x.detach().requires_grad_() for x in given[:count]]
        y = forward(*leaves, *given[count:])()
        return lambda: torch.autograd.grad(y, leaves, grad, retain_graph=True)

    return prepare


@cache
def why_no_triton(device: str) -> str:
    """Return why there is no arm of Triton, "" where there is."""
    if device != "cuda":
        return "needs a GPU"
    try:
        import triton  # noqa: F401
    except ImportError as error:
        return f"not installed ({error})"
    return ""


def arms_of(
    device: str,
    ours: Prepare,
    eager: Prepare,
    traced: Prepare,
    triton: Prepare,
    no_compile: str = "",
    no_triton: str = "",
) -> tuple[dict[str, Prepare], dict[str, str]]:
    """Return the arms of ours, torch and Triton, and why those that there are not are absent."""
    reasons = {
        COMPILED: no_compile if device == "cuda" else "needs a GPU",
        TRITON: why_no_triton(device) or no_triton,
    }
    arms = {OURS: ours, EAGER: eager, COMPILED: traced, TRITON: triton}
    absent = {name: reason for name, reason in reasons.items() if reason}
    return {name: arm for name, arm in arms.items() if name not in absent}, absent


def copy_arm(count: float, device: str) -> Call:
    """Return a copy that reads and writes so many bytes together."""
    source = torch.empty(max(1, int(count) // 2), dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def checked_rows(case: Case, seed: int, most: int = 64) -> list[int]:
    """Return the rows that are checked: the first, the last, and some between."""
    if case.rows <= most:
        return list(range(case.rows))
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randperm(case.rows, generator=generator)[: most - 2].tolist()
    return sorted({0, case.rows - 1, *drawn})


def error_of(case: Case, rows: list[int], results: Any, expected: tuple[Any, ...]) -> float:
    """Return the largest error, as a part of the tolerance of the result's type; inf for NaN."""
    results = results if isinstance(results, (tuple, list)) else (results,)
    if len(results) != len(expected):
        raise ValueError(f"{len(results)} results, where there are {len(expected)}")
    worst = 0.0
    for got, wanted in zip(results, expected, strict=True):
        tolerance = TOLERANCE[got.dtype]
        if got.dtype == torch.float8_e4m3fn:
            got = got.float()  # not every operation takes fp8
        if got.shape != wanted.shape:
            got = got.index_select(case.axis, torch.tensor(rows, device=got.device))
        difference = (got.double() - wanted).abs()
        largest = wanted.abs().amax(-1, keepdim=True).clamp_min(1e-30)
        found = (difference / largest).max().item() / tolerance
        worst = math.inf if math.isnan(found) else max(worst, found)
    return worst
