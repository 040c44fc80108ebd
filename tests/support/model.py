# SPDX-License-Identifier: Apache-2.0
"""A small transformer with kernels in it (`model_kernels`), and the same of torch's own operations.

In float64 the model computes without kernels: that is what everything is compared with.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from support.model_kernels import EPS, HIDDEN, WIDTH, rms_norm, swiglu

VOCABULARY, LAYERS, HEADS = 16, 2, 2
#: Of a loss or a gradient in f32 beside one in float64, relative to the largest element.
TOLERANCE = 4e-6


class Norm(nn.Module):
    """RMSNorm of the last dimension."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, WIDTH))

    def forward(self, x: Any) -> Any:
        if x.dtype == torch.float64:
            return functional.rms_norm(x, (WIDTH,), self.weight, EPS)
        return rms_norm(x.reshape(-1, WIDTH), self.weight).view(x.shape)


class Mlp(nn.Module):
    """SwiGLU between two linear maps."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(WIDTH, 2 * HIDDEN)
        self.down = nn.Linear(HIDDEN, WIDTH)

    def forward(self, x: Any) -> Any:
        h = self.up(x)
        if h.dtype == torch.float64:
            gate, up = h.chunk(2, -1)
            return self.down(functional.silu(gate) * up)
        return self.down(swiglu(h.reshape(-1, 2 * HIDDEN)).view(*h.shape[:-1], HIDDEN))


class Block(nn.Module):
    """Attention and a SwiGLU, each behind a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.before_attention, self.before_mlp = Norm(), Norm()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = Mlp()

    def forward(self, x: Any) -> Any:
        parts = self.qkv(self.before_attention(x)).chunk(3, -1)
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in parts)
        # Written out: a fused one has other roundings on each device, and no rule for vmap.
        scores = q @ k.transpose(2, 3) / (WIDTH / HEADS) ** 0.5
        is_later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        seen = scores.masked_fill(is_later, -torch.inf).softmax(-1) @ v
        x = x + self.out(seen.transpose(1, 2).flatten(2))
        return x + self.mlp(self.before_mlp(x))


class Model(nn.Module):
    """Tokens to logits. `checkpoint` is called with a block and its input, in its place."""

    def __init__(self, checkpoint: Any = None) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = Norm(), nn.Linear(WIDTH, VOCABULARY)
        self.checkpoint = checkpoint

    def forward(self, tokens: Any) -> Any:
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x) if self.checkpoint is None else self.checkpoint(block, x)
        return self.head(self.norm(x))


def loss_of(model: Any, tokens: Any) -> Any:
    """Return the mean loss of the token after each."""
    logits = model(tokens)[:, :-1]
    return functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


def made(device: str = "cpu", checkpoint: Any = None) -> Model:
    """Return a model, the same each time."""
    torch.manual_seed(0)
    return Model(checkpoint).to(device)


def tokens_for(rows: int, length: int, device: str = "cpu", seed: int = 0) -> Any:
    """Return tokens, the same each time."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(VOCABULARY, (rows, length), generator=generator).to(device)


def in_float64(model: Any) -> Model:
    """Return the same model without kernels."""
    twin = copy.deepcopy(model).double()
    twin.checkpoint = None
    return twin


def gradients(model: Any, loss: Any) -> dict[str, Any]:
    """Return the loss and the gradients of all weights, by name."""
    names, weights = zip(*model.named_parameters(), strict=True)
    found = torch.autograd.grad(loss, weights)
    return {"loss": loss.detach(), **dict(zip(names, found, strict=True))}


def expected(model: Any, tokens: Any) -> dict[str, Any]:
    """Return the loss and the gradients in float64."""
    twin = in_float64(model)
    return gradients(twin, loss_of(twin, tokens))


def assert_close(
    found: dict[str, Any], wanted: dict[str, Any], tolerance: float = TOLERANCE
) -> None:
    """Compare losses and gradients, each relative to its largest element."""
    assert found.keys() == wanted.keys()
    for name, want in wanted.items():
        error = (found[name].double() - want).abs().max() / want.abs().max()
        assert error < tolerance, f"{name}: {error:.2e}"
