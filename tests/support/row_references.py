# SPDX-License-Identifier: Apache-2.0
"""What the row kernels compute, by NumPy in float64, and inputs that are hard on them."""

from __future__ import annotations

from typing import Any

import numpy as np

# Of the result's largest element; bf16 and f16 round it to 8 and 11 bits.
TOLERANCE = {"f32": 2e-6, "bf16": 2**-8, "f16": 2**-10}


def rms_norm(x: Any, w: Any, eps: float = 1e-5) -> Any:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * w


def layer_norm(x: Any, w: Any, b: Any, eps: float = 1e-5) -> Any:
    return rms_norm(x - x.mean(-1, keepdims=True), w, eps) + b


def norm_gradients(kind: str, x: Any, w: Any, g: Any, eps: float = 1e-5) -> tuple[Any, Any, Any]:
    """The gradients of sum(g * y): dx, dw, db."""
    if kind == "layer":
        x = x - x.mean(-1, keepdims=True)
    rstd = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
    normal, s = x * rstd, g * w
    dx = s - normal * (s * normal).mean(-1, keepdims=True)
    if kind == "layer":
        dx = dx - s.mean(-1, keepdims=True)
    return dx * rstd, (g * normal).sum(0), g.sum(0)


def softmax(x: Any) -> Any:
    with np.errstate(invalid="ignore"):
        powers = np.exp(x - x.max(-1, keepdims=True))
        return powers / powers.sum(-1, keepdims=True)


def softmax_gradient(y: Any, g: Any) -> Any:
    return y * (g - (g * y).sum(-1, keepdims=True))


def cross_entropy(x: Any, targets: Any, g: Any) -> tuple[Any, Any]:
    """The losses, and the gradient of sum(g * loss)."""
    largest = x.max(-1, keepdims=True)
    total = np.exp(x - largest).sum(-1)
    loss, dx = np.log(total) + largest[:, 0], softmax(x)
    for row, target in enumerate(targets):
        if 0 <= target < x.shape[-1]:
            loss[row] -= x[row, target]
            dx[row, target] -= 1
            dx[row] *= g[row]
        else:
            loss[row], dx[row] = 0, 0
    return loss, dx


def swiglu(gate: Any, up: Any) -> Any:
    return gate / (1 + np.exp(-gate)) * up


def swiglu_gradients(gate: Any, up: Any, g: Any) -> tuple[Any, Any]:
    s = 1 / (1 + np.exp(-gate))
    return g * up * s * (1 + gate * (1 - s)), g * gate * s


def rotary(x: Any, cos: Any, sin: Any, interleaved: bool) -> Any:
    half = x.shape[-1] // 2
    a, b = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    cos, sin = cos[:, None], sin[:, None]
    pairs = a * cos - b * sin, b * cos + a * sin
    return np.stack(pairs, -1).reshape(x.shape) if interleaved else np.concatenate(pairs, -1)


def hard_rows(rows: int, columns: int, seed: int = 0) -> Any:
    """Random rows; one of zeros, one far from zero, one of huge and one of tiny numbers."""
    x = np.random.default_rng(seed).standard_normal((rows, columns))
    x[0] = 0
    x[1] += 100
    x[2] *= 2.0**12
    x[3] *= 2.0**-12
    return x
