# SPDX-License-Identifier: Apache-2.0
"""Kernels for any size, read from files: called as bound kernels are, on arrays of any such size.

Each size that is met is a launch of its own, settled in C++ from the file alone and then known to
the C entry. A graph or a program of JAX carries the whole kernel where its sizes are symbolic.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from pyptx import _core
from pyptx._call import bound_graph, bound_kernel, first_call
from pyptx._call.bound_kernel import BoundKernel, BoundScalar
from pyptx._call.specialize import MOST_KEPT
from pyptx._kept import Kept
from pyptx._traceback import shortened
from pyptx.torch_support import is_traced

Shapes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class OpenTensor:
    """What one tensor of a kernel for any size has to be. A name in its shape: any number."""

    name: str
    dtype: str  # as in pyptx.types: "bf16"
    shape: tuple[int | str, ...]
    is_column_major: bool = False


class OpenKernel(_core.KernelBase):
    """A launch that is settled but for sizes: `kernel(dynamic=("M",))`, saved without an M.

    Made by `pyptx.load`. Inputs by position, `out=` for the outputs, raw parameters by keyword; the
    file says what else the arrays have to be. It runs where a `BoundKernel` does, and knows nothing
    of gradients.
    """

    def __init__(self, kernel: _core.OpenKernel) -> None:
        self._kernel = kernel
        self._carried = _Carried(kernel)
        rows = [(scalar.name, scalar.dtype, scalar.bits) for scalar in self._carried.scalars]
        # Weak, so that the two do not keep each other.
        me = weakref.ref(self)
        slow = shortened(lambda args, options: _alive(me)._slow(args, options))
        self._entry = _core.Entry(slow, rows)
        self._key = bound_graph.key_of(self._carried)
        self._launches: Kept[Any, bound_kernel.Launch] = Kept(MOST_KEPT)

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self._kernel.name

    @property
    def ptx(self) -> str:
        """The text that is launched."""
        return self._kernel.ptx

    @property
    def inputs(self) -> tuple[OpenTensor, ...]:
        """What the arguments have to be."""
        return _tensors(self._kernel.inputs)

    @property
    def outputs(self) -> tuple[OpenTensor, ...]:
        """What comes out, and what `out=` has to be."""
        return _tensors(self._kernel.outputs)

    @property
    def scalars(self) -> tuple[BoundScalar, ...]:
        """The raw parameters that a call may give by keyword."""
        return self._carried.scalars

    def at(self, *examples: Any, **sizes: int) -> BoundKernel:
        """Return the kernel for these sizes, or for inputs like these."""
        if examples and not sizes:
            return bound_kernel.of_saved(self._kernel.at(_shapes(examples)))
        return bound_kernel.of_saved(self._kernel.at_sizes(sizes))

    def save(self, path: str | bytes | PathLike[str], *, targets: Sequence[str] = ()) -> None:
        """Write the kernel to one file; see `Kernel.save`."""
        bound_kernel.write(self._kernel, path, targets)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as it would be saved."""
        return of_bytes, (bytes(self._kernel.to_bytes()),)

    def __call__(self, *args: Any, out: Any = None, **scalars: Any) -> Any:
        """Launch; one output is returned as it is, several as a tuple."""
        # What torch.compile reads; k(...) calls the entry from C.
        if is_traced():
            return bound_graph.call(self._key, args, out, scalars)
        if out is not None:
            scalars["out"] = out
        return self._entry(*args, **scalars)

    def _slow(self, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Settle for the sizes of these arrays and launch; the entry then knows them."""
        out = options.get("out")
        outs = None if out is None else tuple(out) if isinstance(out, (tuple, list)) else (out,)
        names = [tensor.name for tensor in self.inputs]
        framework = first_call.common_framework(self.name, names, args, outs or ())
        given = (*args, *(outs or ()))
        if framework == "torch" and bound_graph.are_fake(given):
            return bound_graph.call_fake(self._key, args, options)
        if framework == "jax" and any(not isinstance(n, int) for x in given for n in x.shape):
            from pyptx._jax import open_call

            bits = bound_kernel.bits_of(self.name, self._carried.scalars, options)
            return open_call.call_open(self._kernel, args, bits)
        key = (_shapes(args), None if outs is None else _shapes(outs))
        launch = self._launches.get(key)
        if launch is None:
            settled = bound_kernel.settled_of(self._kernel.at(*key))
            launch = bound_kernel.Launch(settled, None)
            launch.entry = weakref.ref(self._entry)
            launch = self._launches.keep_first(key, launch)
        return launch.call(args, options)

    def __repr__(self) -> str:
        """Name, tensors and what a call may bring."""
        parts = [f"{t.name}: {t.dtype}[{', '.join(map(str, t.shape))}]" for t in self.inputs]
        parts += [f"{scalar.name}: {scalar.dtype}" for scalar in self.scalars]
        return f"<OpenKernel {self.name}({', '.join(parts)})>"


_core.call_through_entry(OpenKernel)


class _Carried:
    """What a graph carries of it."""

    def __init__(self, kernel: _core.OpenKernel) -> None:
        self.kernel = kernel
        self.name = kernel.name
        self.scalars = tuple(BoundScalar(*row) for row in kernel.scalars)
        self.inouts = kernel.inouts

    def text(self) -> str:
        return bytes(self.kernel.to_bytes()).decode()


def _alive(reference: weakref.ref[OpenKernel]) -> OpenKernel:
    kernel = reference()
    assert kernel is not None  # its entry is called through it
    return kernel


def _tensors(rows: Sequence[tuple[str, str, list[int | str], bool]]) -> tuple[OpenTensor, ...]:
    return tuple(OpenTensor(name, dtype, tuple(dims), column) for name, dtype, dims, column in rows)


def _shapes(arrays: Sequence[Any]) -> Shapes:
    return tuple(tuple(array.shape) for array in arrays)


def of_bytes(data: bytes) -> OpenKernel:
    """Return the kernel that was pickled as these bytes."""
    return OpenKernel(_core.OpenKernel.from_bytes(data))


def load(path: str | bytes | PathLike[str]) -> BoundKernel | OpenKernel:
    """Read a kernel that `Kernel.save` wrote, as something to call on torch, JAX or NumPy arrays.

    The file is checked whole before it is used; one that is cut short, changed or newer than this
    library raises LaunchError.
    """
    found = _core.load_kernel(bound_kernel.file_name(path))
    return (
        bound_kernel.of_saved(found) if isinstance(found, _core.SavedKernel) else OpenKernel(found)
    )
