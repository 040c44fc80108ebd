# SPDX-License-Identifier: Apache-2.0
"""torch.library.opcheck on the operator of every example and of every kernel of `pyptx.kernels`.

What the calls below launch is caught where torch dispatches it, and each operator that is met is
checked once, with the arguments that it got.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyptx import kernels
from support import model_kernels
from support.example_modules import example
from support.packages import need

torch = need("torch")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

OURS = ("pyptx", "model")


class Met(TorchDispatchMode):
    """Keeps each operator of ours that is called, with its arguments as they were."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: dict[Any, tuple[Any, Any]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.namespace in OURS and func not in self.calls:
            copied = torch.utils._pytree.tree_map_only(torch.Tensor, torch.clone, (args, kwargs))
            self.calls[func] = copied
        return func(*args, **kwargs)


def values(*shape: int, dtype: Any = torch.float32) -> Any:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, generator=generator).to(dtype)


def with_gradient(function: Callable[..., Any], *inputs: Any, floats: int = 1) -> None:
    """Call it, and its backward, which launches kernels too."""
    inputs = (*(x.requires_grad_() for x in inputs[:floats]), *inputs[floats:])
    found = function(*inputs)
    found = found if isinstance(found, tuple) else (found,)
    torch.autograd.grad(found[0], inputs[:floats], torch.ones_like(found[0]))


def of_rows(name: str, *inputs: Any, **built: int) -> None:
    module = example(f"hopper/{name}")
    forward = getattr(module, f"build_{name}")(*inputs[0].shape)
    g = forward(*inputs)
    backward = getattr(module, f"build_{name}_backward", None)
    if backward is not None:
        backward(*inputs[0].shape)(*inputs[:2], g)


def product(path: str, **options: Any) -> None:
    k = getattr(example(path), f"build_{path.split('/')[1]}")(**options)
    k(values(40, 72, dtype=torch.bfloat16), values(24, 72, dtype=torch.bfloat16))


def grouped() -> None:
    offsets = torch.tensor([0, 5, 5, 9], dtype=torch.int32)
    x, w = values(9, 72, dtype=torch.bfloat16), values(3, 24, 72, dtype=torch.bfloat16)
    example("hopper/grouped_gemm").build_grouped_gemm(3)(x, w, offsets)


def matmul() -> None:
    a, b = values(40, 72, dtype=torch.bfloat16), values(72, 24, dtype=torch.bfloat16)
    with_gradient(kernels.matmul, a, b, floats=2)


def losses() -> None:
    x, targets = values(4, 40), torch.arange(4)
    with_gradient(kernels.cross_entropy, x, targets)
    kernels.cross_entropy_and_gradient(x.detach(), targets, torch.ones(4))


X, W = values(4, 64), values(64)
CALLS: dict[str, Callable[[], Any]] = {
    "vector_add": lambda: example("vector_add").vector_add(values(200), values(200), VEC=2),
    "rms_norm": lambda: of_rows("rms_norm", X, W),
    "layer_norm": lambda: of_rows("layer_norm", X, W, W),
    "softmax": lambda: of_rows("softmax", X),
    "swiglu": lambda: of_rows("swiglu", X, X),
    "ampere/gemm": lambda: product("ampere/gemm"),
    "hopper/gemm": lambda: product("hopper/gemm"),
    "hopper/clustered_gemm": lambda: product("hopper/clustered_gemm"),
    "hopper/grouped_gemm": grouped,
    "blackwell/gemm": lambda: product("blackwell/gemm"),
    "kernels.matmul": matmul,
    "kernels.rms_norm": lambda: with_gradient(kernels.rms_norm, values(4, 64), values(64)),
    "kernels.layer_norm": lambda: with_gradient(
        kernels.layer_norm, values(4, 64), values(64), values(64)
    ),
    "kernels.softmax": lambda: with_gradient(kernels.softmax, values(4, 64)),
    "kernels.cross_entropy": losses,
    "kernels.swiglu": lambda: with_gradient(kernels.swiglu, values(4, 64), values(4, 64)),
    "kernels.rotary": lambda: with_gradient(
        kernels.rotary, values(1, 2, 2, 8), values(2, 4), values(2, 4)
    ),
    "kernels.quantise_fp8": lambda: kernels.quantise_fp8(values(4, 64)),
    "model.rms_norm": lambda: with_gradient(model_kernels.rms_norm, values(4, 32), values(32)),
    "model.swiglu": lambda: with_gradient(model_kernels.swiglu, values(4, 64)),
}


@pytest.mark.parametrize("name", CALLS)
def test_opcheck(name: str) -> None:
    with Met() as met:
        CALLS[name]()
    assert met.calls
    for operator, (args, kwargs) in met.calls.items():
        torch.library.opcheck(operator, args, kwargs)


@pytest.mark.parametrize("name", ["rms_norm", "swiglu"])
def test_a_pair_under_opcheck(name: str) -> None:
    """An operator with a gradient, which is compared as well."""
    shapes = ((4, 32), (32,)) if name == "rms_norm" else ((4, 64),)
    inputs = [values(*shape).requires_grad_() for shape in shapes]
    torch.library.opcheck(getattr(torch.ops.model, name).default, inputs)
