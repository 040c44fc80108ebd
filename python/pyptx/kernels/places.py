# SPDX-License-Identifier: Apache-2.0
"""Where the arrays of a call lie: in one framework, on one device, dense, aligned to vectors."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from pyptx._call import first_call
from pyptx.kernels.checks import refuse
from pyptx.kernels.elements import WIDEST


def are_plain(arrays: Sequence[Any]) -> bool:
    """Whether these are tensors of torch, and nobody but autograd sees what is done with them."""
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    if tensor is None or not all(isinstance(array, tensor) for array in arrays):
        return False
    from pyptx._torch import eager

    return eager.are_plain(arrays)


def beside_jax(arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arrays, and those of NumPy as JAX makes them where others are JAX's."""
    kinds = [first_call.framework_of(array) for array in arrays]
    if not {"jax", "numpy"} <= {*kinds}:
        return arrays
    make = sys.modules["jax"].numpy.asarray
    return tuple(make(x) if kind == "numpy" else x for x, kind in zip(arrays, kinds, strict=True))


def check_places(function: str, arrays: dict[str, Any]) -> None:
    """Refuse arrays of several frameworks, or on several devices."""
    (first, like), *others = arrays.items()
    framework = first_call.framework_of(like)
    for name, array in others:
        found = first_call.framework_of(array)
        if found != framework and {found, framework} != {"jax", "numpy"}:
            wanted, got = f"an array of {framework}, as {first} is", f"one of {found}"
            refuse("ArgumentType", function, name, wanted, got)
        if framework == "torch" and array.device != like.device:
            wanted, note = f"be on {like.device}, where {first} is", f"{name}.to({first}.device)"
            refuse("ArgumentMemory", function, name, wanted, str(array.device), note=note)


def check_memory(function: str, arrays: dict[str, Any], vectors: Sequence[int]) -> None:
    """Refuse an array with gaps, and one that starts inside of a vector: a GPU cannot load it."""
    for (name, array), vector in zip(arrays.items(), vectors, strict=True):
        if first_call.framework_of(array) == "numpy":
            copied, is_dense, address = "copy", array.flags.c_contiguous, int(array.ctypes.data)
        elif are_plain((array,)):
            copied, is_dense, address = "clone", array.is_contiguous(), int(array.data_ptr())
        else:
            continue
        if not is_dense:
            got = f"strides {tuple(array.stride() if copied == 'clone' else array.strides)}"
            note = f"a copy is: {name}.{'contiguous' if copied == 'clone' else 'copy'}()"
            refuse("ArgumentMemory", function, name, "be contiguous", got, note=note)
        needed = alignment(array, vector)
        if address % needed:
            wanted = f"start at a multiple of {needed} bytes"
            note = f"so much of a row is read at a time; a copy is aligned: {name}.{copied}()"
            refuse("ArgumentMemory", function, name, wanted, f"address {address:#x}", note=note)


def alignment(array: Any, vector: int) -> int:
    """Return the bytes that an array's address is a multiple of; `vector` as `Launch` has it."""
    return min(WIDEST, (vector & -vector) * int(array.dtype.itemsize)) if vector else 1
