# SPDX-License-Identifier: Apache-2.0
"""Bound kernels in graphs of torch: one operator that carries the kernel, for its shapes alone.

Dynamo reads `call` and runs what is marked constant. Gradients are refused while the graph is made,
since the operator knows of none and they would be missing.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyptx import _core
from pyptx._call.refusals import refuse

if TYPE_CHECKING:
    from pyptx._call.bound_kernel import Settled

_numbers = itertools.count()
_by_key: weakref.WeakValueDictionary[str, Settled] = weakref.WeakValueDictionary()


def key_of(settled: Settled) -> str:
    """Return a text by which Dynamo finds these launches again."""
    key = str(next(_numbers))
    _by_key[key] = settled
    return key


def _name(key: str) -> str:
    return _by_key[key].name


def _text(key: str) -> str:
    """Return a bound kernel as a graph has it."""
    settled = _by_key[key]
    if settled.scalars:
        names = ", ".join(scalar.name for scalar in settled.scalars)
        fix = "call the kernel itself in compiled functions"
        refuse("GraphCall", f"bound kernel {settled.name!r}: each launch brings {names}", fix)
    return str(_core.GraphKernel(settled.saved()).text)


# What torch.compiler.assume_constant_result() sets, while torch may not be loaded.
_name._dynamo_marked_constant = True  # type: ignore[attr-defined]
_text._dynamo_marked_constant = True  # type: ignore[attr-defined]


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
