# SPDX-License-Identifier: Apache-2.0
"""Tensors of every kind, by which the C entry learns how the loaded torch lays a tensor out.

The entry takes nothing for granted: it looks for the places where these tensors differ as they are
known to differ, reads the plain ones that way, and compares with what torch says (see
src/python/torch/layout.h).
"""

from __future__ import annotations

from typing import Any

import torch


def facts(tensor: torch.Tensor) -> tuple[Any, ...]:
    """Return a tensor with what torch says of it where only its layout says it too."""
    keys = torch._C._dispatch_keys(tensor).raw_repr()
    try:
        storage = tensor.untyped_storage()._cdata
    except (RuntimeError, NotImplementedError):
        storage = 0
    kind = tensor.requires_grad, tensor.is_inference()
    return tensor, tensor._cdata, keys, *kind, storage, tensor._is_view()


def plain(device: str) -> list[tuple[Any, ...]]:
    """Return tensors that are nothing but elements in memory."""
    with torch.inference_mode(mode=False):
        dense = [
            torch.empty(2, 3, device=device),
            torch.empty(4, 5, dtype=torch.float64, device=device)[1:, ::2],
            torch.empty((), dtype=torch.int64, device=device),
            torch.empty(0, 7, dtype=torch.bfloat16, device=device),
            torch.empty(3, device=device, requires_grad=True),
            torch.nn.Parameter(torch.empty(2, device=device)),
        ]
    with torch.inference_mode():
        dense.append(torch.empty(5, device=device))
    return [facts(tensor) for tensor in dense]


def peculiar() -> list[tuple[Any, ...]]:
    """Return tensors whose memory is not simply their elements."""
    conjugated = torch.zeros(2, dtype=torch.complex64).conj()
    kept: list[torch.Tensor] = []

    def keep(x: torch.Tensor) -> torch.Tensor:
        kept.append(x)
        return x

    torch.func.vmap(keep)(torch.zeros(2, 2))
    return [
        facts(tensor)
        for tensor in (
            conjugated,
            conjugated.imag,  # negated
            torch.empty(2, device="meta"),
            torch.empty(2, layout=torch.sparse_coo),
            torch._to_functional_tensor(torch.empty(2)),
            *kept,  # batched
        )
    ]
