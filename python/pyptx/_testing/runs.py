# SPDX-License-Identifier: Apache-2.0
"""A case on the emulator, on every schedule, and through frameworks, on a GPU where there is one.

The emulator knows which elements of an output have no value. On a GPU outputs hold the same byte
everywhere before the kernel, another one in a second run: what is that byte twice was not written.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pyptx import _core
from pyptx._call.refusals import refuse
from pyptx._call.signature import whole_number
from pyptx._errors import EmulatorWarning

COMPLETIONS = ("latest", "earliest", "random")
POISONS = (0xFF, 0x5A)  # every float type reads the first as NaN
FRAMEWORKS = ("numpy", "torch", "jax")
NO_SUCH_ELEMENTS = "PTX0865"
Schedule = tuple[int, str]


def schedules_of(given: Any, first: int) -> list[Schedule]:
    """Return so many schedules from a seed on, or those that are given as (seed, landings)."""
    number = whole_number(given)
    if number is not None and number > 0:
        return [(first + index // 3, COMPLETIONS[index % 3]) for index in range(number)]
    is_listed = isinstance(given, (list, tuple)) and len(given) > 0
    if is_listed and all(_is_schedule(one) for one in given):
        return [(int(seed), str(landing)) for seed, landing in given]
    words = "a number of schedules, or a list of (seed, 'latest', 'earliest' or 'random')"
    return refuse("OptionType", "schedules", words, repr(given))


def _is_schedule(one: Any) -> bool:
    is_pair = isinstance(one, (list, tuple)) and len(one) == 2
    return is_pair and whole_number(one[0]) is not None and one[1] in COMPLETIONS


def frameworks_of(given: Any) -> tuple[str, ...]:
    """Return what to call through: what this process has loaded; with a GPU, what is installed."""
    if given is not None:
        found = (given,) if isinstance(given, str) else tuple(given)
        for name in found:
            if name not in FRAMEWORKS:
                refuse("OptionValue", "frameworks", f"not {name!r}", "'numpy', 'torch' or 'jax'")
        return found
    return ("numpy", *(name for name in ("torch", "jax") if _is_at_hand(name)))


def _is_at_hand(name: str) -> bool:
    if sys.modules.get(name) is not None:
        return True
    if not has_gpu():
        return False
    try:
        __import__(name)
    except ModuleNotFoundError:
        return False
    return True


def has_gpu() -> bool:
    """Whether the driver sees a device."""
    has_driver, _ = _core.driver_status()
    return bool(has_driver and _core.device_count() > 0)


def as_tuple(found: Any) -> tuple[Any, ...]:
    """Return several results, or one, or none, as a tuple."""
    if found is None:
        return ()
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def emulated(
    kernel: Any, inputs: Sequence[Any], schedule: Schedule, *, inouts: int = 0, **options: Any
) -> Any:
    """Return what a run has written: the last `inouts` of the inputs, copied before, and outputs.

    Whatever the emulator finds, be it a warning, is raised.
    """
    given = _with_copies(inputs, inouts)
    with warnings.catch_warnings():
        warnings.simplefilter("error", EmulatorWarning)
        seed, landing = schedule
        results = as_tuple(kernel.emulate(*given, seed=seed, schedule=landing, **options))
    return (*given[len(given) - inouts :], *results)


def _with_copies(inputs: Sequence[Any], inouts: int) -> list[Any]:
    kept = len(inputs) - inouts
    copies = [x.copy() if isinstance(x, np.ndarray) else x.clone() for x in inputs[kept:]]
    return [*inputs[:kept], *copies]


def bits(array: Any) -> bytes:
    """Return the bytes of an array of NumPy or of a tensor of torch."""
    if isinstance(array, np.ndarray):
        return bytes(array.tobytes())
    import torch

    raw = array.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
    return bytes(raw)


def through_torch(
    kernel: Any,
    inputs: Sequence[Any],
    like: Sequence[Any],
    keywords: dict[str, Any],
    *,
    inouts: int = 0,
) -> Iterator[tuple[str, list[Any], list[Any]]]:
    """Yield where a call ran, its outputs, and where those have no value: twice on a GPU."""
    import torch

    on_gpu = torch.cuda.is_available()
    place = torch.cuda.get_device_name() if on_gpu else "the CPU"
    device, kept = "cuda" if on_gpu else "cpu", len(inputs) - inouts
    if not on_gpu:
        tensors = [_to_torch(array, device) for array in inputs]
        results = (*tensors[kept:], *as_tuple(kernel(*tensors, **keywords)))
        yield f"torch on {place}", [_from_torch(tensor) for tensor in results], []
        return
    runs = []
    for poison in POISONS:
        outs = [_to_torch(_filled(array, poison), device) for array in like]
        tensors = [_to_torch(array, device) for array in inputs]
        kernel(*tensors, **({"out": tuple(outs)} if outs else {}), **keywords)
        runs.append([_from_torch(tensor) for tensor in (*tensors[kept:], *outs)])
    first, second = runs
    unwritten = [_poisoned(a, b) for a, b in zip(first[inouts:], second[inouts:], strict=True)]
    for found in runs:
        yield f"torch on {place}", found, unwritten


def _filled(like: Any, byte: int) -> Any:
    return np.full(like.nbytes, byte, np.uint8).view(like.dtype).reshape(like.shape)


def _poisoned(first: Any, second: Any) -> Any:
    """Return where every byte is what it was before each run."""
    size = first.dtype.itemsize
    raw = [np.frombuffer(run.tobytes(), np.uint8).reshape(-1, size) for run in (first, second)]
    same = [(run == poison).all(axis=1) for run, poison in zip(raw, POISONS, strict=True)]
    return (same[0] & same[1]).reshape(first.shape)


def through_jax(kernel: Any, inputs: Sequence[Any], keywords: dict[str, Any]) -> tuple[str, Any]:
    """Return where a call inside jax.jit ran, and its outputs."""
    import jax

    found = as_tuple(jax.jit(lambda *arrays: kernel(*arrays, **keywords))(*inputs))
    device = next(iter(found[0].devices()))
    place = "the CPU" if device.platform == "cpu" else device.device_kind
    return f"jax.jit on {place}", [np.asarray(array) for array in found]


def _torch_type(array: Any) -> Any:
    import torch

    return getattr(torch, array.dtype.name)


def _to_torch(array: Any, device: str) -> Any:
    import torch

    whole = np.ascontiguousarray(array)
    kind = _torch_type(whole)
    tensor = torch.from_numpy(whole.reshape(-1).view(np.uint8).copy())
    return tensor.view(kind).reshape(whole.shape).to(device)


def _from_torch(tensor: Any) -> Any:
    import torch

    from pyptx._call.element_types import ptx_name
    from pyptx._testing.values import numpy_type

    raw = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
    return raw.view(numpy_type(ptx_name(tensor.dtype))).reshape(tuple(tensor.shape))
