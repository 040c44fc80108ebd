# SPDX-License-Identifier: Apache-2.0
"""Settled launches: a kernel with one specialisation, bound in this process or read from a file.

Nothing is traced here and nothing is specialised again: tensors of another kind are refused, with
the argument's name, what it was bound to and what came. Ordinary torch tensors take the C entry;
what the entry hands back is explained here, or launched the slow way (NumPy, column-major).
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fsencode
from typing import Any

from pyptx import _core, _progress, _toolchain
from pyptx._call import bound_graph, first_call
from pyptx._call.element_types import framework_name
from pyptx._call.refusals import refuse
from pyptx._call.scalars import scalar_bits
from pyptx._call.signature import Array
from pyptx._call.teaching import ENTRY_KINDS
from pyptx._traceback import shortened
from pyptx.specs import Layout, Tile
from pyptx.torch_support import is_traced


@dataclass(frozen=True, slots=True)
class BoundTensor:
    """What one tensor of a bound kernel has to be."""

    name: str
    dtype: str  # as in pyptx.types: "bf16"
    shape: tuple[int, ...]
    nbytes: int
    is_column_major: bool = False


@dataclass(frozen=True, slots=True)
class BoundScalar:
    """A raw parameter whose value a call may bring by keyword."""

    name: str
    dtype: str  # as in raw_params: "f32"
    bits: int | None  # of the value that it was bound with; None: every call brings one


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Settled:
    """A kernel image and what it takes. `image` is None where the grid is empty."""

    name: str
    image: _core.KernelImage | None
    inputs: tuple[BoundTensor, ...]
    outputs: tuple[BoundTensor, ...]
    scalars: tuple[BoundScalar, ...] = ()
    inouts: int = 0  # so many of the inputs, the last ones, are written, too

    @property
    def read_only(self) -> int:
        """How many of the tensors, from the first on, may not be written."""
        return len(self.inputs) - self.inouts if self.inouts or self.outputs else 0

    def text(self) -> str:
        """Return what a program carries of it."""
        return bytes(self.saved().to_bytes()).decode()

    def saved(self) -> _core.SavedKernel:
        """Return the form that has bytes."""
        if self.image is None:
            refuse(
                "LaunchPlace",
                f"kernel {self.name!r}:",
                "the grid is empty, there is no launch to save",
            )
        inputs, outputs = (
            [(t.name, t.dtype, t.shape, t.nbytes, t.is_column_major) for t in tensors]
            for tensors in (self.inputs, self.outputs)
        )
        scalars = [(scalar.name, scalar.dtype, scalar.bits) for scalar in self.scalars]
        return _core.SavedKernel(self.image, inputs, outputs, scalars, self.inouts)

    def bits(self, values: Mapping[str, Any]) -> tuple[int, ...]:
        """Return what a launch is given for the scalars, with these values in place of the own."""
        return bits_of(self.name, self.scalars, values)


def bits_of(
    name: str, scalars: Sequence[BoundScalar], values: Mapping[str, Any]
) -> tuple[int, ...]:
    """Return the bits of a kernel's scalars: of these values, else of their defaults."""
    return tuple(
        scalar.bits
        if scalar.bits is not None and scalar.name not in values
        else scalar_bits(name, scalar.dtype, scalar.name, values)
        for scalar in scalars
    )


class BoundKernel(_core.KernelBase):
    """A prepared launch: traced, compiled, loaded; a call checks its tensors and launches.

    Made by `Kernel.bind` and `pyptx.load`. Inputs by position, `out=` for the outputs, raw
    parameters that it was bound with by keyword, to give them other values in this call; other
    shapes, element types or devices are refused. torch tensors run on their device's current
    stream or, on the CPU, on the emulator, as NumPy arrays do. It keeps what the kernel read when
    it was bound. Alone it has no gradient; `differentiable_kernel` takes two of them. In a graph
    that torch compiles or exports, and in a program of JAX, it is one call that carries the kernel.
    """

    def __init__(self, settled: Settled, device: str | None = None) -> None:
        self._launch = Launch(settled, device)
        scalars = [(scalar.name, scalar.dtype, scalar.bits) for scalar in settled.scalars]
        self._entry = _core.Entry(shortened(self._launch.call), scalars)
        # Weak, so that the two do not keep each other.
        self._launch.entry = weakref.ref(self._entry)
        self._key = self._launch.key
        #: Tiles of arguments and outputs, as a kernel has them.
        self.in_specs = tuple(map(_tile, settled.inputs))
        self.inout_specs = self.in_specs[len(self.in_specs) - settled.inouts :]
        self.out_specs = tuple(map(_tile, settled.outputs))

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self._launch.settled.name

    @property
    def ptx(self) -> str:
        """The text that is launched; empty where the grid is."""
        image = self._launch.settled.image
        return "" if image is None else image.ptx

    @property
    def inputs(self) -> tuple[BoundTensor, ...]:
        """What the arguments have to be."""
        return self._launch.settled.inputs

    @property
    def outputs(self) -> tuple[BoundTensor, ...]:
        """What comes out, and what `out=` has to be."""
        return self._launch.settled.outputs

    @property
    def scalars(self) -> tuple[BoundScalar, ...]:
        """The raw parameters that a call may give by keyword."""
        return self._launch.settled.scalars

    @property
    def device(self) -> str | None:
        """The device it was bound to, None where any will do."""
        return self._launch.device

    #: Of an operator and of autocast, which are a kernel's.
    op = None
    autocast_types = ()

    def _name_operator(self) -> str:
        """Return no name: graphs carry the kernel itself."""
        return ""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as it would be saved: with its text, and bound to the same device."""
        return of_bytes, (bytes(self._launch.settled.saved().to_bytes()), self.device)

    def save(self, path: str | bytes | PathLike[str], *, targets: Sequence[str] = ()) -> None:
        """Write the kernel to one file; see `Kernel.save`."""
        write(self._launch.settled.saved(), path, targets)

    def prepare(self, device: Any) -> None:
        """Load the kernel for a CUDA device, so that the first call there launches only."""
        self._launch.make_ready(cuda_ordinal(device))

    def __call__(self, *args: Any, out: Any = None, **scalars: Any) -> Any:
        """Launch; one output is returned as it is, several as a tuple."""
        # What torch.compile reads; b(...) calls the entry from C.
        if is_traced():
            return bound_graph.call(self._key, args, out, scalars)
        if out is not None:
            scalars["out"] = out
        return self._entry(*args, **scalars)

    def __repr__(self) -> str:
        """Name, tensors and device."""
        parts = [f"{t.name}: {t.dtype}{list(t.shape)}" for t in self.inputs]
        parts += [f"{scalar.name}: {scalar.dtype}" for scalar in self.scalars]
        return f"<BoundKernel {self.name}({', '.join(parts)}) on {self.device or 'any device'}>"


_core.call_through_entry(BoundKernel)


class Launch:
    """What the entry of a bound kernel falls back to."""

    entry: weakref.ref[_core.Entry]

    def __init__(self, settled: Settled, device: str | None) -> None:
        self.settled = settled
        self.key = bound_graph.key_of(settled)
        self.device = device
        self._taught: set[str] = set()

    def make_ready(self, ordinal: int | None) -> None:
        """Load for a CUDA device, or decode for the emulator (None)."""
        if self.settled.image is None:
            return
        if ordinal is None:
            _core.decode(self.settled.image)
            return
        _toolchain.announce_folders()
        with _progress.shown(f"assembling {self.settled.name}"):
            _core.prepare(self.settled.image, ordinal)

    def teach(self, device_type: str) -> None:
        """Let the C entry answer for ordinary tensors and arrays of this device type."""
        tensors = (*self.settled.inputs, *self.settled.outputs)
        entry = self.entry()
        if device_type in self._taught or self.settled.image is None or entry is None:
            return
        self._taught.add(device_type)
        if len(tensors) > _core.MAX_TENSORS:
            return
        if any(framework_name(t.dtype) is None for t in tensors):
            return
        inputs, outputs = (
            [(str(framework_name(t.dtype)), t.shape, t.is_column_major) for t in side]
            for side in (self.settled.inputs, self.settled.outputs)
        )
        index = -1
        if self.device is not None and device_type == "cuda":
            index = cuda_ordinal(self.device)
        inouts = self.settled.inouts
        entry.add(inputs, outputs, device_type, self.settled.image, index, inouts=inouts)

    # --- what the entry does not take ---------------------------------------------------------

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Explain why the entry did not take this call, or launch the slow way."""
        settled = self.settled
        known = ["out", *(scalar.name for scalar in settled.scalars)]
        unknown = [name for name in kwargs if name not in known]
        if unknown:
            refuse(
                "KeywordName",
                f"bound kernel {settled.name!r}",
                f"takes no keyword {unknown[0]!r}: template values, dimensions and what the grid "
                f"depends on were settled when it was bound; only "
                f"{', '.join(f'{name}=' for name in known)} may be given",
            )
        bits = settled.bits(kwargs)
        out = kwargs.get("out")
        outs = None if out is None else tuple(out) if isinstance(out, (tuple, list)) else (out,)
        names = [tensor.name for tensor in settled.inputs]
        framework = first_call.common_framework(settled.name, names, args, outs or ())
        if framework == "torch":
            if bound_graph.are_fake(args):
                return bound_graph.call_fake(self.key, args, kwargs)
            return self._call_torch(args, outs, bits)
        if framework == "numpy":
            return self._call_numpy(args, outs, bits)
        if framework is None:
            refuse(
                "NoTensors",
                f"bound kernel {settled.name!r}",
                "was called without arrays, so there is no device to run on",
                "pass an array as input or as out=",
            )
        from pyptx._jax import bound

        return bound.call(settled, self._check, self.device, args, outs, bits)

    def _call_numpy(
        self, args: Sequence[Any], outs: Sequence[Any] | None, bits: Sequence[int]
    ) -> Any:
        inputs = [first_call.describe_numpy(array) for array in args]
        given = None if outs is None else [first_call.describe_numpy(array) for array in outs]
        self._check(inputs, given)
        results = outs
        if results is None:
            results = [_fitting(first_call.empty_numpy, t) for t in self.settled.outputs]
        first_call.check_writable(self.settled.name, results)
        read_only = self.settled.read_only
        if read_only < len(args):
            first_call.check_writable(self.settled.name, args[read_only:], "input", read_only)
        memory = (*inputs, *map(first_call.describe_numpy, results))
        self._emulate(memory, bits, fresh=len(results) if outs is None else 0)
        if all(array.dtype.kind in ENTRY_KINDS for array in (*args, *results)):
            self.teach("cpu")
        return first_call.unpack(results)

    def _call_torch(
        self, args: Sequence[Any], outs: Sequence[Any] | None, bits: Sequence[int]
    ) -> Any:
        from pyptx._torch import eager

        torch = sys.modules["torch"]
        writes_inputs = self.settled.read_only < len(self.settled.inputs)
        if outs is None and not writes_inputs and eager.is_recorded(args):
            return eager.record(
                self.settled.name, lambda *inputs: self._call_torch(inputs, None, bits), *args
            )
        tensors = (*args, *(outs or ()))
        refusal = eager.not_plain(self._names(len(args)), tensors)
        if refusal is not None:
            kind, words = refusal
            refuse(kind, f"bound kernel {self.settled.name!r}:", words)
        inputs = [eager.describe(tensor) for tensor in args]
        given = None if outs is None else [eager.describe(tensor) for tensor in outs]
        self._check(inputs, given)
        device = tensors[0].device
        self.teach(device.type)
        results = outs
        if results is None:

            def make(dtype: str, shape: tuple[int, ...]) -> Any:
                return torch.empty(shape, dtype=eager.torch_dtype(dtype), device=device)

            results = [_fitting(make, tensor) for tensor in self.settled.outputs]
        memory = (*inputs, *map(eager.describe, results))
        if device.type == "cuda" and self.settled.image is not None:
            _toolchain.announce_folders()
            stream = torch.cuda.current_stream(device).cuda_stream
            pointers = [array.pointer for array in memory]
            _core.launch(self.settled.image, device.index, stream, pointers, bits)
        elif device.type == "cpu":
            self._emulate(memory, bits, fresh=len(results) if outs is None else 0)
        written = [*args[self.settled.read_only :], *(outs or ())]
        if written:
            torch.autograd.graph.increment_version(written)
        return first_call.unpack(results)

    def _emulate(self, memory: Sequence[Array], bits: Sequence[int], *, fresh: int) -> None:
        if self.settled.image is not None:
            read_only = self.settled.read_only
            first_call.emulate_image(
                self.settled.image, memory, bits, fresh=fresh, read_only=read_only
            )

    def _names(self, arguments: int) -> list[str]:
        """Names of this many arguments, then of the outputs."""
        inputs = [tensor.name for tensor in self.settled.inputs]
        inputs += [f"#{index}" for index in range(len(inputs), arguments)]
        return inputs[:arguments] + [tensor.name for tensor in self.settled.outputs]

    def _check(self, inputs: Sequence[Array], outs: Sequence[Array] | None) -> None:
        """Refuse what it was not bound to. Nothing has been launched when this raises."""
        settled = self.settled
        maps = () if settled.image is None else settled.image.plan.map_tensors
        _core.check_bound(
            settled.name, settled.inputs, settled.outputs, maps, self.device, inputs, outs
        )


def _tile(tensor: BoundTensor) -> Tile:
    layout = Layout.COL if tensor.is_column_major else Layout.ROW
    return Tile(*tensor.shape, dtype=tensor.dtype, layout=layout)


def _fitting(make: Any, tensor: BoundTensor) -> Any:
    """Return a new array of this kind; `make` makes row-major ones."""
    return first_call.in_order(make, tensor.dtype, tensor.shape, tensor.is_column_major)


def cuda_ordinal(device: Any) -> int:
    """0 for 0, "cuda", "cuda:0" and a torch.device that is one of these."""
    if hasattr(device, "__index__"):
        return int(device.__index__())
    kind, _, index = str(device).partition(":")
    if kind != "cuda" or not (index.isdigit() or not index):
        refuse("OptionValue", "a CUDA device", "an ordinal or 'cuda:0'", f"not {device!r}")
    return int(index) if index else int(_core.current_device())


def write(
    saved: _core.SavedKernel | _core.OpenKernel,
    path: str | bytes | PathLike[str],
    targets: Sequence[str],
) -> None:
    """Write the file, with binaries for these targets."""
    if isinstance(targets, str):
        names = "a sequence of names such as ('sm_90a',)"
        refuse("OptionType", "targets", names, repr(targets))
    _toolchain.announce_folders()
    for target in targets:
        saved.add_binary(target)
    saved.save(file_name(path))


def file_name(path: str | bytes | PathLike[str]) -> bytes:
    """Return the name as the system has it."""
    name = fsencode(path)
    if b"\0" in name:
        refuse("OptionValue", "a file's name", "one with no zero byte", f"not {path!r}")
    return name


def of_bytes(data: bytes, device: str | None) -> BoundKernel:
    """Return the kernel that was pickled as these bytes."""
    return of_saved(_core.SavedKernel.from_bytes(data), device)


def of_saved(saved: _core.SavedKernel, device: str | None = None) -> BoundKernel:
    """Return a saved kernel as something to call."""
    return BoundKernel(settled_of(saved), device)


def settled_of(saved: _core.SavedKernel) -> Settled:
    """Return a saved kernel as it was before it was saved."""
    inputs, outputs = (
        tuple(
            BoundTensor(name, dtype, tuple(shape), nbytes, is_column_major)
            for name, dtype, shape, nbytes, is_column_major in rows
        )
        for rows in (saved.inputs, saved.outputs)
    )
    scalars = tuple(BoundScalar(*row) for row in saved.scalars)
    image = None if saved.is_empty else saved.image
    return Settled(saved.image.plan.entry, image, inputs, outputs, scalars, saved.inouts)
