# SPDX-License-Identifier: Apache-2.0
"""The floor: the driver's launch of a kernel and nothing else, in a C++ loop.

Everything is taken from the kernel as it is saved: its text, the plan of its launch and the order
of its parameters. Tensor maps are encoded once for the tensors given, by value or in device memory,
as the plan says. bare_launch.cpp is called through ctypes once per round.
"""

from __future__ import annotations

import ctypes
import os
import struct
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from arms import ROOT, LeftOutError, Machine, Run, Subject

MAP_BYTES = 128
ALIGNMENT = 64  # of a tensor map


@cache
def library() -> Any:
    """Return the loop's library, of the build that is measured or else the newest that has it."""
    file = ROOT / "build/release/bench/libpyptx_bare_launch.so"
    if not file.exists():
        others = ROOT.glob(f"build/*/bench/{file.name}")
        file = max(others, key=lambda path: path.stat().st_mtime, default=file)
    if not file.exists():
        raise LeftOutError("the launch loop is not built: build with -DPYPTX_BENCH=ON")
    loaded = ctypes.CDLL(str(file))
    loaded.pyptx_bare_function.restype = ctypes.c_void_p
    loaded.pyptx_bare_function.argtypes = [ctypes.c_void_p]
    loaded.pyptx_bare_launches.restype = ctypes.c_int64
    loaded.pyptx_bare_launches.argtypes = [
        ctypes.c_void_p,
        ctypes.POINTER(ctypes.c_uint32),
        ctypes.c_void_p,
        ctypes.POINTER(ctypes.c_void_p),
        ctypes.c_int64,
    ]
    return loaded


def saved_kernel(kernel: Any, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Return what a call on such inputs launches."""
    from pyptx import _core

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel"
        kernel.save(path, *inputs, **keywords)
        return _core.load_kernel(os.fsencode(path))


def encoded_map(tile: Any, tensor: Any) -> tuple[bytes, int]:
    """Return the tensor map over a tensor: its bytes, and its address in device memory."""
    from pyptx import jax_support

    if tile.tma_rank != 2:
        raise LeftOutError("the bare launch of a kernel with a rank-3 view is not written")
    blob, host, device = jax_support.synthesize_tma_descriptor(
        tuple(tensor.shape), tile.dtype, tile.layout, tile.tma_box, tensor.data_ptr()
    )
    content = ctypes.string_at(host, MAP_BYTES)
    del blob  # the copy in device memory outlives it
    return content, device


def parameter_bytes(kernel: Any, saved: Any, tensors: tuple[Any, ...]) -> list[bytes]:
    """Return the bytes of each parameter, in the order of the plan.

    Its text has one word per parameter, `<kind>:TENSOR,SIZE,BITS...` (see src/driver/plan.cpp).
    """
    specs = (*kernel.in_specs, *kernel.out_specs)
    found = []
    scalars = iter(saved.scalars)
    text = saved.image.plan.text
    magic, version, *_ = words = text.split()
    if (magic, version) != ("pyptx-plan", "1"):
        raise ValueError(f"a plan of a form that is not known here: {text}")
    for word in words[8:]:
        kind, _, numbers = word.partition(":")
        index, size, bits = (int(number) for number in numbers.split(",")[:3])
        if kind == "p":
            found.append(struct.pack("<Q", tensors[index].data_ptr()))
        elif kind in ("v", "a"):
            if kind == "a":  # a scalar that a call brings: the one it was saved with
                _, _, bits = next(scalars)
            found.append(bits.to_bytes(8, "little")[:size])
        elif kind in ("m", "M"):
            content, address = encoded_map(specs[index], tensors[index])
            found.append(content if kind == "M" else struct.pack("<Q", address))
        else:
            raise ValueError(f"a parameter of a kind that is not known here: {word}")
    return found


class Parameters:
    """The addresses of parameters' bytes, each where a tensor map might lie."""

    def __init__(self, contents: list[bytes]) -> None:
        strides = [-(-len(content) // ALIGNMENT) * ALIGNMENT for content in contents]
        self._memory = ctypes.create_string_buffer(sum(strides) + ALIGNMENT)
        place = ctypes.addressof(self._memory)
        place += -place % ALIGNMENT
        self.addresses = (ctypes.c_void_p * len(contents))()
        for index, (content, stride) in enumerate(zip(contents, strides, strict=True)):
            ctypes.memmove(place, content, len(content))
            self.addresses[index] = place
            place += stride


class BareLaunch:
    """A kernel loaded and its launch laid out; `run(count)` launches, and does not wait."""

    def __init__(
        self,
        machine: Machine,
        kernel: Any,
        tensors: tuple[Any, ...],
        keywords: dict[str, Any],
        of_context: bool,
    ) -> None:
        from pyptx import jax_support

        self._loop = library().pyptx_bare_launches
        self._torch = machine.torch
        saved = saved_kernel(kernel, tensors[: len(kernel.in_specs)], keywords)
        image = saved.image
        plan = image.plan
        loaded = jax_support.compile_ptx_to_cubin(
            image.ptx, image.target, plan.entry, plan.dynamic_shared
        )
        if loaded is None:
            raise LeftOutError("no CUDA driver")
        handle, self._module = loaded  # which keeps the function loaded
        self._function = library().pyptx_bare_function(handle) if of_context else handle
        numbers = (*plan.grid, *plan.block, *plan.cluster, plan.dynamic_shared)
        self._shape = (ctypes.c_uint32 * len(numbers))(*numbers)
        self._parameters = Parameters(parameter_bytes(kernel, saved, tensors))
        self._tensors = tensors

    def run(self, count: int) -> float:
        """Return seconds per launch on the current stream."""
        nanoseconds = self._loop(
            self._function,
            self._shape,
            self._torch.cuda.current_stream().cuda_stream,
            self._parameters.addresses,
            count,
        )
        if nanoseconds < 0:
            why = "no driver" if nanoseconds == -1 else f"CUDA error {-1000 - nanoseconds}"
            raise RuntimeError(f"the bare launch failed: {why}")
        return nanoseconds / count * 1e-9


def bare_launch(subject: Subject, *, of_context: bool = False) -> BareLaunch:
    """Return the bare launch of a subject's kernel, which has been seen to give its result.

    Of the CUkernel, or of the function that it stands for in the current context.
    """
    machine, case = subject.machine, subject.case
    machine.need_gpu()
    # Outputs of its own: those of the other arms hold the right result already.
    torch = machine.torch
    outputs = tuple(torch.full_like(t, float("nan")) for t in subject.outputs)
    bare = BareLaunch(machine, case.kernel, (*case.inputs, *outputs), case.keywords, of_context)
    bare.run(1)
    machine.wait()
    case.check(outputs, f"bare {subject.name}")
    return bare


def bare_run(subject: Subject, *, of_context: bool = False) -> Run:
    """Return the loop of an arm."""
    bare = bare_launch(subject, of_context=of_context)

    def run(count: int) -> float:
        taken = bare.run(count)
        subject.machine.wait()
        return taken

    return run
