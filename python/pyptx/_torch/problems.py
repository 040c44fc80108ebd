# SPDX-License-Identifier: Apache-2.0
"""What keeps a tensor of torch from being an argument, in words that follow its name."""

from __future__ import annotations

import torch


def kind_problem(tensor: torch.Tensor) -> str | None:
    """Say what keeps a kind of tensor from being an argument."""
    if tensor.is_nested:
        return "is a nested tensor, expected one shape; pass its parts, or pad it"
    if tensor.layout is not torch.strided:
        return f"is a {tensor.layout} tensor, expected dense memory; call .to_dense() on it"
    if tensor.is_quantized:
        return (
            f"is quantized ({tensor.dtype}), expected plain elements; pass its .int_repr(), "
            f"or .dequantize() it"
        )
    return None


def memory_problem(tensor: torch.Tensor) -> str | None:
    """Say what is wrong with a tensor's memory."""
    if tensor.device.type == "meta" or tensor.numel() == 0:
        return None
    wrapped = (
        "has no memory of its own, expected an ordinary tensor: a transform of torch wraps it; "
        "use torch.func.vmap and torch.func.grad, which know kernels"
    )
    try:
        has = tensor.untyped_storage().nbytes()
    except (RuntimeError, NotImplementedError):
        return wrapped
    last = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    needs = (tensor.storage_offset() + last + 1) * tensor.element_size()
    if has < needs:
        return f"needs {needs} bytes, but its storage has {has}: it was freed or shrunk"
    return wrapped if tensor.data_ptr() == 0 else None


def write_problem(tensor: torch.Tensor) -> str | None:
    """Say why a kernel cannot write to a tensor."""
    if tensor.is_neg() or tensor.is_conj():
        return "is a negated or conjugated view, expected memory to write to; pass a plain tensor"
    return None
