# SPDX-License-Identifier: Apache-2.0
"""The tensors of the call that is tuned: what they are, their bytes, and results against them.

Configurations run on copies, in another process: tensors leave as bytes and results come back so.
"""

from __future__ import annotations

import ctypes
import importlib
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from pyptx._call import first_call
from pyptx._call.bound_kernel import BoundTensor, cuda_ordinal
from pyptx._call.element_types import framework_name, ptx_name
from pyptx._call.signature import Array
from pyptx._tune.errors import wrong_argument

#: How far two right results may be apart, as a part of the largest magnitude: sums in another
#: order, and two units in the last place of what they are rounded to. Others have to be equal.
TOLERANCE = {
    "f64": 1e-10,
    "f32": 1e-4,
    "tf32": 1e-4,
    "f16": 2.0**-9,
    "bf16": 2.0**-6,
    "e4m3": 2.0**-2,
    "e5m2": 2.0**-1,
}


class Arguments:
    """The tensors and keywords of a call."""

    def __init__(self, args: Any, keywords: Mapping[str, Any] | None) -> None:
        if first_call.framework_of(args) is not None:
            args = (args,)
        if not isinstance(args, (tuple, list)):
            wrong_argument("args", "the tensors of a call, in a tuple", repr(args))
        if keywords is not None and not isinstance(keywords, Mapping):
            wrong_argument("keywords", "a dict of the call's keywords", repr(keywords))
        self.values = tuple(args)
        self.keywords = dict(keywords or {})
        self.framework = self._framework()
        self.arrays = [self._describe(value) for value in self.values]
        places = {array.device for array in self.arrays}
        if len(places) != 1:
            wrong_argument("args", "tensors on one device", ", ".join(sorted(places)) or "none")
        self.place = places.pop()
        #: The CUDA device; None: the CPU, where the emulator runs kernels.
        self.ordinal = None if self.place.startswith("cpu") else cuda_ordinal(self.place)

    def _framework(self) -> str:
        found: dict[str, None] = {}
        for index, value in enumerate(self.values):
            framework = first_call.framework_of(value)
            if framework is None:
                wrong_argument(
                    f"args[{index}]", "a torch, JAX or NumPy array", type(value).__name__
                )
            found[framework] = None
        if found.keys() == {"jax", "numpy"}:  # JAX takes NumPy arrays everywhere
            return "jax"
        if len(found) != 1:
            wrong_argument("args", "arrays of one framework", " and ".join(found) or "none")
        return str(next(iter(found)))

    def _describe(self, value: Any) -> Array:
        if self.framework == "torch":
            from pyptx._torch import eager

            problem = eager.plain_problem(value)
            if problem is not None:
                wrong_argument("an argument", "an ordinary tensor", f"one that {problem}")
            return eager.describe(value)
        if self.framework == "numpy":
            return first_call.describe_numpy(value)
        jax = sys.modules["jax"]
        if isinstance(value, jax.core.Tracer):
            wrong_argument("args", "arrays with values", "a tracer; tune outside of jax.jit")
        place = "cpu"
        for device in value.devices() if hasattr(value, "devices") else ():
            if device.platform in ("gpu", "cuda"):
                place = f"cuda:{device.local_hardware_id}"
        return Array(tuple(value.shape), ptx_name(value.dtype), place, None, 0, value.nbytes)

    def bytes_of(self, index: int, is_column_major: bool) -> bytes:
        """Return a tensor's memory."""
        value: Any = self.values[index]
        if self.framework == "torch":
            host = value.detach().cpu()
            return ctypes.string_at(host.data_ptr(), host.numel() * host.element_size())
        if self.framework == "jax":
            import numpy as np

            return bytes(np.asarray(value).tobytes("F" if is_column_major else "C"))
        return bytes(value.tobytes("A"))

    def kinds(self) -> list[Any]:
        """Return what a remembered result depends on: types, shapes and strides."""
        return [
            [array.dtype, list(array.shape), None if array.strides is None else list(array.strides)]
            for array in self.arrays
        ]

    # --- results --------------------------------------------------------------------------------

    def results(self, outputs: Sequence[BoundTensor], parts: Sequence[bytes]) -> list[Any]:
        """Return arrays of what came back; the bytes where the framework has no such elements."""
        return [self._result(*pair) for pair in zip(outputs, parts, strict=True)]

    def _result(self, output: BoundTensor, part: bytes) -> Any:
        if framework_name(output.dtype) is None:
            return part
        shape = output.shape[::-1] if output.is_column_major else output.shape
        if self.framework == "torch":
            from pyptx._torch import eager

            torch: Any = sys.modules["torch"]
            kind = eager.torch_dtype(output.dtype)
            if not part:
                return torch.empty(output.shape, dtype=kind)
            array = torch.frombuffer(bytearray(part), dtype=kind).reshape(shape).to(self.place)
            return array.permute(*reversed(range(len(shape)))) if output.is_column_major else array
        import numpy as np

        kind = first_call.empty_numpy(output.dtype, (0,)).dtype
        array = np.frombuffer(part, dtype=kind).reshape(shape)
        return array.transpose() if output.is_column_major else array

    def difference(
        self,
        outputs: Sequence[BoundTensor],
        parts: Sequence[bytes],
        wanted: Sequence[Any],
        tolerance: float | None,
    ) -> str | None:
        """Say how results differ from those that are wanted; None where they are as good."""
        if len(parts) != len(wanted):
            return f"it has {len(parts)} results, the reference {len(wanted)}"
        got = self.results(outputs, parts)
        for output, one, other in zip(outputs, got, wanted, strict=True):
            bound = TOLERANCE.get(output.dtype) if tolerance is None else tolerance
            problem = self._compared(one, other, bound)
            if problem is not None:
                return f"output {output.name!r} {problem}"
        return None

    def _compared(self, got: Any, wanted: Any, bound: float | None) -> str | None:
        if isinstance(got, bytes) or isinstance(wanted, bytes):
            return None if got == wanted else "has other bytes than the reference"
        if tuple(got.shape) != tuple(wanted.shape):
            return f"has shape {tuple(got.shape)}, the reference {tuple(wanted.shape)}"
        library: Any
        if self.framework == "torch":
            library = sys.modules["torch"]
            wanted = wanted.to(got.device)
        else:
            library = importlib.import_module("numpy")
            wanted = library.asarray(wanted)
        if bound is None:
            if self.framework == "torch":  # which compares few unsigned types
                got, wanted = got.to(library.int64), wanted.to(library.int64)
            count = int((got != wanted).sum())
            total = math.prod(got.shape)
            return f"differs in {count} of {total} elements" if count else None
        got, wanted = (_as_double(library, array) for array in (got, wanted))
        is_number = library.isfinite(wanted)
        others = ~is_number
        same = (got == wanted) | (library.isnan(got) & library.isnan(wanted))
        if not bool((library.isfinite(got) == is_number).all()) or not bool(same[others].all()):
            return "is infinite or no number where the reference is not, or the other way round"
        if not bool(is_number.any()):
            return None
        error = float(abs(got - wanted)[is_number].max())
        scale = float(abs(wanted)[is_number].max())
        if error <= bound * scale:
            return None
        part = error / scale if scale else float("inf")
        return f"differs by {part:.2g} of its largest magnitude, {bound:.2g} is allowed"


def _as_double(library: Any, array: Any) -> Any:
    return array.double() if hasattr(array, "double") else array.astype(library.float64)
