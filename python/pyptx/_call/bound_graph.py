# SPDX-License-Identifier: Apache-2.0
"""Bound and loaded kernels in graphs of torch: one operator that carries the kernel.

Dynamo reads `call` and runs what is marked constant. Gradients are refused while the graph is made,
since the operator knows of none and they would be missing.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pyptx._call.refusals import refuse

if TYPE_CHECKING:
    from pyptx._call.bound_kernel import BoundScalar

_numbers = itertools.count()
_by_key: weakref.WeakValueDictionary[str, Carried] = weakref.WeakValueDictionary()


class Carried(Protocol):
    """A kernel as a program carries it."""

    @property
    def name(self) -> str:
        """The kernel's name."""

    @property
    def scalars(self) -> Sequence[BoundScalar]:
        """What each launch brings."""

    @property
    def inouts(self) -> int:
        """How many of its inputs are written."""

    def text(self) -> str:
        """Return all of it."""


def key_of(kernel: Carried) -> str:
    """Return a text by which Dynamo finds these launches again."""
    key = str(next(_numbers))
    _by_key[key] = kernel
    return key


def _name(key: str) -> str:
    return _by_key[key].name


def _text(key: str) -> str:
    """Return the kernel as a graph has it."""
    kernel = _by_key[key]
    if kernel.inouts:
        fix = "call the kernel itself in compiled functions"
        refuse("GraphCall", f"bound kernel {kernel.name!r}: it writes tensors in place", fix)
    if kernel.scalars:
        names = ", ".join(scalar.name for scalar in kernel.scalars)
        fix = "call the kernel itself in compiled functions"
        refuse("GraphCall", f"bound kernel {kernel.name!r}: each launch brings {names}", fix)
    return kernel.text()


# What torch.compiler.assume_constant_result() sets, while torch may not be loaded.
_name._dynamo_marked_constant = True  # type: ignore[attr-defined]
_text._dynamo_marked_constant = True  # type: ignore[attr-defined]


def are_fake(tensors: Iterable[Any]) -> bool:
    """Whether torch.export, which runs a program on such tensors, is making a graph of the call."""
    from torch._subclasses.fake_tensor import is_fake

    return any(map(is_fake, tensors))


def call_fake(key: str, inputs: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    """Call a bound kernel on fake tensors, with `out` among the options."""
    from pyptx.torch_support import register_operators

    register_operators()
    keywords = {name: value for name, value in options.items() if name != "out"}
    return call(key, inputs, options.get("out"), keywords)


def call(key: str, inputs: tuple[Any, ...], out: Any, keywords: Mapping[str, Any]) -> Any:
    """Call a bound kernel inside a graph that is being made."""
    import torch

    text = _text(key)
    outs = [] if out is None else [*out] if isinstance(out, (tuple, list)) else [out]
    # A class of our own is more than Dynamo can trace.
    if keywords:
        raise RuntimeError(f"bound kernel {_name(key)!r} takes no keywords in a graph, only out=")
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (*inputs, *outs)):
        raise RuntimeError(
            f"bound kernel {_name(key)!r}: a tensor requires a gradient, of which this launch "
            "would keep no record; call the kernel itself, .detach() the tensor, or compile under "
            "torch.no_grad()"
        )
    if outs:
        torch.ops.pyptx.launch_out([*inputs], outs, text)
        return out
    found = torch.ops.pyptx.launch([*inputs], text)
    return tuple(found) if len(found) > 1 else found[0]
