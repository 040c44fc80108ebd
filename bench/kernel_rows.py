# SPDX-License-Identifier: Apache-2.0
"""The cases of the row kernels: norms, softmax, cross-entropy, SwiGLU, rotary embedding, fp8."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from kernel_cases import DTYPES, Case, Inputs, arms_of, backward, compiled, plain
from torch.nn import functional

from pyptx import kernels

EPS = 1e-5
MATRIX = 256 << 20  # bytes of a matrix: nothing of it is found in L2
COLUMNS = {
    "bf16": (1024, 2048, 4096, 8192, 16384, 32768, 65536),
    "f32": (1024, 4096, 16384, 65536),
}
VOCABULARIES = (50257, 50304, 128256)
COMPILED_FOR = (1024, 4096, 16384, 65536, 50304, 128256)  # torch.compile takes seconds for each
TOO_MANY = "a compilation takes seconds: done for fewer columns"


@dataclass(frozen=True)
class Family:
    """A kernel for every number of columns."""

    kernel: str
    variant: str
    matrices: float  # that have to move, read or written
    inputs: Callable[[Inputs, int, int, str], tuple[Any, ...]]
    reference: Callable[..., tuple[Any, ...]]
    ours: Any
    eager: Any
    triton: Callable[[Any], Any]  # of the module
    traced: Any = None  # what torch.compile gets, where that is not the eager function
    widest: int = 1 << 20  # columns that the peer in Triton takes
    gradients: int = 0  # of so many inputs: the arms are functions whose backward is timed
    vocabularies: bool = False

    def case(self, device: str, dtype: str, rows: int, columns: int, first: bool) -> Case:
        """Return the case of a shape."""
        ours, eager = plain(self.ours), plain(self.eager)
        traced = compiled(self.traced or self.eager)
        if self.gradients:
            ours, eager, traced = (backward(each, self.gradients) for each in (ours, eager, traced))
        arms, absent = arms_of(
            device, ours, eager, traced, in_triton(self.triton),
            "" if columns in COMPILED_FOR else TOO_MANY,
            "" if columns <= self.widest else f"a program holds {self.widest} columns",
        )  # fmt: skip
        return Case(
            self.kernel, self.variant, dtype, (rows, columns),
            lambda make: self.inputs(make, rows, columns, dtype), self.reference, arms,
            bytes=self.matrices * rows * columns * DTYPES[dtype].itemsize,
            rows=rows, first=first, absent=absent,
        )  # fmt: skip


def in_triton(choose: Callable[[Any], Any]) -> Any:
    """Make an arm of a function of the module that is imported only where Triton is."""

    def prepare(*inputs: Any) -> Any:
        import triton_rows

        return plain(choose(triton_rows))(*inputs)

    return prepare


def _rows_of(x: Any, rows: list[int]) -> Any:
    return x[torch.tensor(rows, device=x.device)].double()


def _matrices(count: int, *vectors: bool) -> Callable[..., tuple[Any, ...]]:
    """Return inputs of so many matrices with vectors of weights behind the first."""

    def made(make: Inputs, rows: int, columns: int, dtype: str) -> tuple[Any, ...]:
        first, *rest = (make.normal(rows, columns, dtype=dtype) for _ in range(count))
        return first, *(make.normal(columns, dtype=dtype) for _ in vectors), *rest

    return made


# --- norms ----------------------------------------------------------------------------------------


def _normal(kind: str, x: Any) -> tuple[Any, Any]:
    """Return the normalised rows and the inverse of the root."""
    if kind == "layer":
        x = x - x.mean(-1, keepdim=True)
    rstd = (x.square().mean(-1, keepdim=True) + EPS).rsqrt()
    return x * rstd, rstd


def _norms(kind: str) -> Iterator[Family]:
    ours = getattr(kernels, f"{kind}_norm")
    weights = (True, True) if kind == "layer" else (True,)

    def eager(x: Any, *weights: Any) -> Any:
        size = (x.shape[-1],)
        if kind == "layer":
            return functional.layer_norm(x, size, *weights, EPS)
        return functional.rms_norm(x, size, *weights, EPS)

    def reference(rows: list[int], x: Any, w: Any, *bias: Any) -> tuple[Any, ...]:
        y = _normal(kind, _rows_of(x, rows))[0] * w.double()
        return (y + bias[0].double() if bias else y,)

    def residual_reference(rows: list[int], x: Any, *rest: Any) -> tuple[Any, ...]:
        *weights, residual = rest
        total = (x.float() + residual.float()).to(x.dtype)
        return *reference(rows, total, *weights), _rows_of(total, rows)

    def eager_residual(x: Any, *rest: Any) -> Any:
        *weights, residual = rest
        total = x + residual
        return eager(total, *weights), total

    def backward_reference(rows: list[int], x: Any, w: Any, *rest: Any) -> tuple[Any, ...]:
        g = rest[-1].double()
        normal, rstd = _normal(kind, x.double())
        sums = [(g * normal).sum(0), *([g.sum(0)] if kind == "layer" else [])]
        chosen = torch.tensor(rows, device=x.device)
        normal, rstd, s = normal[chosen], rstd[chosen], g[chosen] * w.double()
        dx = s - normal * (s * normal).mean(-1, keepdim=True)
        if kind == "layer":
            dx = dx - s.mean(-1, keepdim=True)
        return dx * rstd, *sums

    name = f"{kind}_norm"
    yield Family(
        name, "forward", 2, _matrices(1, *weights), reference,
        lambda x, *w: ours(x, *w, eps=EPS), eager,
        lambda peer: lambda x, *w: peer.norm(kind, x, *w, eps=EPS), widest=65536,
    )  # fmt: skip
    yield Family(
        name, "residual", 4, _matrices(2, *weights), residual_reference,
        lambda x, *rest: ours(x, *rest[:-1], eps=EPS, residual=rest[-1]), eager_residual,
        lambda peer: lambda x, *rest: peer.norm(
            kind, x, *rest[:-1], residual=rest[-1], eps=EPS
        ), widest=65536,
    )  # fmt: skip
    yield Family(
        name, "backward", 3, _matrices(2, *weights), backward_reference,
        lambda x, *w: ours(x, *w, eps=EPS), eager,
        lambda peer: lambda x, w, *rest: peer.norm_backward(kind, x, w, rest[-1], eps=EPS),
        widest=16384, gradients=1 + len(weights),
    )  # fmt: skip


# --- softmax and cross-entropy --------------------------------------------------------------------


def _softmax_backward(rows: list[int], x: Any, g: Any) -> tuple[Any, ...]:
    # Of y as it was stored, which is what a backward is given.
    y = _rows_of(x, rows).softmax(-1).to(x.dtype).double()
    g = _rows_of(g, rows)
    return (y * (g - (g * y).sum(-1, keepdim=True)),)


def _softmaxes() -> Iterator[Family]:
    yield Family(
        "softmax", "forward", 2, _matrices(1),
        lambda rows, x: (_rows_of(x, rows).softmax(-1),),
        kernels.softmax, lambda x: functional.softmax(x, -1),
        lambda peer: peer.softmax, widest=65536, vocabularies=True,
    )  # fmt: skip
    yield Family(
        "softmax", "backward", 3, _matrices(2), _softmax_backward,
        kernels.softmax, lambda x: functional.softmax(x, -1),
        lambda peer: SoftmaxGradient(peer), widest=65536, gradients=1,
    )  # fmt: skip


class SoftmaxGradient:
    """Triton's gradient of softmax, of a y that is computed once."""

    def __init__(self, peer: Any) -> None:
        self._peer = peer
        self._found: dict[int, Any] = {}

    def __call__(self, x: Any, g: Any) -> Any:
        """Return dx."""
        if x.data_ptr() not in self._found:
            self._found[x.data_ptr()] = self._peer.softmax(x)
        return self._peer.softmax_backward(self._found[x.data_ptr()], g)


def _logits(with_g: bool) -> Callable[..., tuple[Any, ...]]:
    def made(make: Inputs, rows: int, columns: int, dtype: str) -> tuple[Any, ...]:
        logits, targets = make.normal(rows, columns, dtype=dtype), make.integers(columns, rows)
        return (logits, targets, make.normal(rows)) if with_g else (logits, targets)

    return made


def _losses(rows: list[int], logits: Any, targets: Any, *g: Any) -> tuple[Any, ...]:
    x, chosen = _rows_of(logits, rows), torch.tensor(rows, device=logits.device)
    at = targets[chosen][:, None]
    loss = x.logsumexp(-1) - x.gather(1, at)[:, 0]
    if not g:
        return (loss,)
    dx = x.softmax(-1).scatter_add(1, at, torch.full_like(x[:, :1], -1.0))
    return loss, dx * g[0][chosen].double()[:, None]


def _eager_both(logits: Any, targets: Any, g: Any) -> tuple[Any, Any]:
    x = logits.detach().requires_grad_()
    loss = functional.cross_entropy(x, targets, reduction="none")
    return loss.detach(), torch.autograd.grad(loss, x, g.to(loss.dtype))[0]


def _traced_both(logits: Any, targets: Any, g: Any) -> tuple[Any, Any]:
    x = logits.float()
    total = x.logsumexp(-1, keepdim=True)
    loss = total - x.gather(1, targets[:, None])
    hit = torch.arange(x.shape[1], device=x.device) == targets[:, None]
    return loss[:, 0], (((x - total).exp() - hit.float()) * g[:, None]).to(logits.dtype)


def _cross_entropies() -> Iterator[Family]:
    yield Family(
        "cross_entropy", "loss", 1, _logits(False), _losses, kernels.cross_entropy,
        lambda x, t: functional.cross_entropy(x, t, reduction="none"),
        lambda peer: peer.cross_entropy, vocabularies=True,
    )  # fmt: skip
    yield Family(
        "cross_entropy", "loss and gradient", 2, _logits(True), _losses,
        kernels.cross_entropy_and_gradient, _eager_both,
        lambda peer: peer.cross_entropy, traced=_traced_both, vocabularies=True,
    )  # fmt: skip


# --- elements -------------------------------------------------------------------------------------


def _swiglu_backward(rows: list[int], gate: Any, up: Any, g: Any) -> tuple[Any, ...]:
    gate, up, g = (_rows_of(x, rows) for x in (gate, up, g))
    s = gate.sigmoid()
    return g * up * s * (1 + gate * (1 - s)), g * gate * s


def _eager_swiglu(gate: Any, up: Any) -> Any:
    return functional.silu(gate) * up


def _swiglus() -> Iterator[Family]:
    yield Family(
        "swiglu", "forward", 3, _matrices(2),
        lambda rows, gate, up: (
            functional.silu(_rows_of(gate, rows)) * _rows_of(up, rows),
        ),
        kernels.swiglu, _eager_swiglu, lambda peer: peer.swiglu,
    )  # fmt: skip
    yield Family(
        "swiglu", "backward", 5, _matrices(3), _swiglu_backward,
        kernels.swiglu, _eager_swiglu, lambda peer: peer.swiglu_backward, gradients=2,
    )  # fmt: skip


def _eager_quantise(x: Any) -> tuple[Any, Any]:
    scales = x.abs().amax(-1, keepdim=True).float().clamp_min(1e-30) / 448.0
    return (x.float() / scales).to(torch.float8_e4m3fn), scales[:, 0]


def _quantised(rows: list[int], x: Any) -> tuple[Any, ...]:
    x = _rows_of(x, rows)
    scales = x.abs().amax(-1) / 448.0
    return x / scales[:, None], scales


def _quantise(size: int) -> Family:
    return Family(
        "quantise_fp8", "rows", 1 + 1 / size, _matrices(1), _quantised,
        kernels.quantise_fp8, _eager_quantise, lambda peer: peer.quantise, widest=65536,
    )  # fmt: skip


def families(dtype: str) -> list[Family]:
    """Return every kernel over rows."""
    return [
        *_norms("rms"),
        *_norms("layer"),
        *_softmaxes(),
        *_cross_entropies(),
        *_swiglus(),
        _quantise(DTYPES[dtype].itemsize),
    ]


def row_cases(device: str, quick: bool) -> Iterator[Case]:
    """Yield the cases of the row kernels, and of rotary embedding."""
    from kernel_rotary import rotary_cases

    emulated = device != "cuda"
    matrix = 4 * 264 * 4 if emulated else MATRIX // 4 if quick else MATRIX
    for dtype, every in COLUMNS.items():
        for family in families(dtype):
            columns = every + (VOCABULARIES if family.vocabularies else ())
            if emulated or quick:
                columns = (264,) if emulated else (1024, 8192, 65536)
            for width in columns:
                rows = max(1, matrix // (width * DTYPES[dtype].itemsize))
                yield family.case(device, dtype, rows, width, width in COMPILED_FOR)
    yield from rotary_cases(device, matrix)
