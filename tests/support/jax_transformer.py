# SPDX-License-Identifier: Apache-2.0
"""A small transformer in JAX whose norms and gates are kernels, and the same in float64 without.

Layers are stacked: a weight has the layer in front, and a step runs over them with `lax.scan` or in
a Python loop. What tells the two models apart is `Gates` alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.ad_checkpoint import checkpoint_name

from pyptx import kernels

jnp = jax.numpy
LAYERS, HEADS, WIDTH, HIDDEN, WORDS = 2, 2, 32, 64, 16
BATCH, TOKENS = 8, 4
EPSILON = 1e-6
Weights = dict[str, Any]
Wrap = Callable[[Any], Any]


class Gates(NamedTuple):
    """What a layer calls: a norm of rows, one of the sum with a residual, and a gated product."""

    norm: Callable[[Any, Any], Any]
    norm_of_sum: Callable[[Any, Any, Any], Any]
    swiglu: Callable[[Any, Any], Any]


def _norm(x: Any, w: Any) -> Any:
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + EPSILON) * w


def _norm_of_sum(x: Any, residual: Any, w: Any) -> Any:
    total = x + residual
    return _norm(total, w), total


KERNELS = Gates(
    norm=lambda x, w: kernels.rms_norm(x, w, eps=EPSILON),
    norm_of_sum=lambda x, residual, w: kernels.rms_norm(x, w, eps=EPSILON, residual=residual),
    swiglu=kernels.swiglu,
)
REFERENCE = Gates(_norm, _norm_of_sum, lambda gate, up: jax.nn.silu(gate) * up)


def weights(dtype: Any = np.float32, seed: int = 0) -> Weights:
    """Return the weights as NumPy arrays; norms' weights in front of what they scale."""
    rng = np.random.default_rng(seed)

    def matrix(*shape: int) -> Any:
        return (rng.standard_normal(shape) / shape[-2] ** 0.5).astype(dtype)

    def around_one(*shape: int) -> Any:
        return (1 + 0.1 * rng.standard_normal(shape)).astype(dtype)

    return {
        "words": matrix(WORDS, WIDTH),
        "layers": {
            "norm": around_one(LAYERS, WIDTH),
            "qkv": matrix(LAYERS, WIDTH, 3 * WIDTH),
            "out": matrix(LAYERS, WIDTH, WIDTH),
            "norm_of_sum": around_one(LAYERS, WIDTH),
            "gate": matrix(LAYERS, WIDTH, HIDDEN),
            "up": matrix(LAYERS, WIDTH, HIDDEN),
            "down": matrix(LAYERS, HIDDEN, WIDTH),
        },
        "norm": around_one(WIDTH),
    }


def sentences(batch: int = BATCH, seed: int = 1) -> Any:
    """Return words, and the ones that come next."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, WORDS, (batch, TOKENS + 1), dtype=np.int32)


def attend(h: Any, w: Weights) -> Any:
    """Return causal attention of rows (batch, tokens, width)."""
    parts = (h @ w["qkv"]).reshape(*h.shape[:2], 3, HEADS, -1)
    q, k, v = parts[:, :, 0], parts[:, :, 1], parts[:, :, 2]
    scores = jnp.einsum("bihc,bjhc->bhij", q, k) / q.shape[-1] ** 0.5
    mask = jnp.tril(jnp.ones((h.shape[1], h.shape[1]), bool))
    mixed = jax.nn.softmax(jnp.where(mask, scores, -1e9).astype(h.dtype), -1)
    return jnp.einsum("bhij,bjhc->bihc", mixed, v).reshape(h.shape) @ w["out"]


def layer(gates: Gates, x: Any, w: Weights) -> Any:
    """Return the residual stream behind a layer."""
    normal, x = gates.norm_of_sum(attend(gates.norm(x, w["norm"]), w), x, w["norm_of_sum"])
    gated = gates.swiglu(normal @ w["gate"], normal @ w["up"])
    return x + checkpoint_name(gated, "gated") @ w["down"]


def loss(
    w: Weights, text: Any, gates: Gates = KERNELS, *, wrap: Wrap = lambda f: f, scan: bool = False
) -> Any:
    """Return the mean cross-entropy of the next words; `wrap` is put around each layer."""
    one = wrap(lambda x, w: layer(gates, x, w))
    x = jax.nn.one_hot(text[:, :-1], WORDS, dtype=w["words"].dtype) @ w["words"]
    if scan:
        x, _ = jax.lax.scan(lambda x, w: (one(x, w), None), x, w["layers"])
    else:
        for index in range(LAYERS):
            x = one(x, {name: value[index] for name, value in w["layers"].items()})
    logits = (gates.norm(x, w["norm"]) @ w["words"].T).astype(jnp.promote_types(x.dtype, "f4"))
    wanted = jax.nn.one_hot(text[:, 1:], WORDS, dtype=logits.dtype)
    return -(jax.nn.log_softmax(logits) * wanted).sum(-1).mean()


def step(state: tuple[Weights, Weights], text: Any, **options: Any) -> tuple[Any, Any]:
    """Return weights and momentum after a step of gradient descent, and the loss before it."""
    w, momentum = state
    value, gradient = jax.value_and_grad(loss)(w, text, **options)
    momentum = jax.tree.map(lambda m, g: (0.9 * m + g).astype(m.dtype), momentum, gradient)
    moved = jax.tree.map(lambda w, m: (w - 0.1 * m).astype(w.dtype), w, momentum)
    return (moved, momentum), value


def start(dtype: Any = np.float32) -> tuple[Weights, Weights]:
    """Return weights, and a momentum of zeros, as arrays of JAX."""
    w = jax.tree.map(jnp.asarray, weights(dtype))
    return w, jax.tree.map(jnp.zeros_like, w)


def in_float64(function: Callable[..., Any], *args: Any) -> Any:
    """Return, as NumPy arrays, what a function of arrays of 64 bits gives."""
    with jax.enable_x64(True):
        wide = jax.tree.map(
            lambda x: jnp.asarray(x, np.float64) if x.dtype != np.int32 else jnp.asarray(x), args
        )
        return jax.tree.map(np.asarray, jax.jit(function)(*wide))


def launches(function: Any, *args: Any) -> dict[str, int]:
    """Return how often the compiled program has a launch of each kernel; one in a loop is one."""
    text = function.lower(*args).compile().as_text()
    found = re.findall(r"%([a-z_]+)[.\d]* = [^\n]*custom_call_target=\"pyptx_launch\"", text)
    return {name: found.count(name) for name in sorted(set(found))}


def error(got: Any, want: Any) -> float:
    """Return the largest distance of a leaf from what it should be, relative to its largest."""
    assert jax.tree.structure(got) == jax.tree.structure(want)
    distances = jax.tree.map(
        lambda g, w: float(np.abs(np.asarray(g, np.float64) - w).max() / np.abs(w).max()), got, want
    )
    return max(jax.tree.leaves(distances))
