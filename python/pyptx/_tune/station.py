# SPDX-License-Identifier: Apache-2.0
"""Where configurations run: copies of the tensors on a device, kernels, a check and a clock.

It knows no framework: memory, streams and events are the driver's, so that the process around it
starts in a fraction of a second. Without a device it is the emulator on the host's memory.
"""

from __future__ import annotations

import ctypes
import statistics
import time
import warnings
from collections.abc import Sequence
from typing import Any

from pyptx import _core, _toolchain
from pyptx._call import first_call
from pyptx._call.settle import settle_arrays
from pyptx._call.signature import Array
from pyptx._tune.device_kernels import VECTOR, differ, fill, grid_over
from pyptx.kernel import Kernel

#: Calls of one sample at most; the driver queues about a thousand things.
MOST_CALLS = 250
#: What an output holds before a run: no number, in every type of floating point.
POISON = 0xFF


class Host:
    """The host's memory, and the emulator."""

    def allocate(self, data: bytes) -> Any:
        """Return memory with these bytes."""
        return ctypes.create_string_buffer(data, max(1, len(data)))

    def address(self, memory: Any) -> int:
        """Return where it is."""
        return ctypes.addressof(memory)

    def write(self, memory: Any, data: bytes) -> None:
        """Set its bytes."""
        ctypes.memmove(memory, data, len(data))

    def read(self, memory: Any, size: int) -> bytes:
        """Return its bytes."""
        return ctypes.string_at(memory, size)

    def poison(self, memory: Any, size: int) -> None:
        """Take away what it holds."""
        ctypes.memset(memory, POISON, size)

    def is_same(self, memory: Any, other: Any, size: int) -> bool:
        """Whether two have the same bytes."""
        return bytes(memoryview(memory)[:size]) == bytes(memoryview(other)[:size])

    def prepare(self, image: _core.KernelImage) -> None:
        """Make a kernel ready to run."""
        _core.decode(image)

    def run(
        self, image: _core.KernelImage, tensors: Sequence[Array], bits: Sequence[int], inputs: int
    ) -> float:
        """Run a kernel; its seconds. The first `inputs` tensors may not be written."""
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what matters of a result is seen in it
            first_call.emulate_image(
                image, tensors, bits, read_only=inputs, fresh=0, progress=False
            )
        return time.perf_counter() - start

    def sample(
        self,
        image: _core.KernelImage,
        tensors: Sequence[Array],
        bits: Sequence[int],
        inputs: int,
        calls: int,
        cold: bool,
    ) -> float:
        """Return the seconds of a call, the median of some."""
        return statistics.median(self.run(image, tensors, bits, inputs) for _ in range(calls))


class Cuda:
    """A CUDA device, with a stream of its own."""

    def __init__(self, ordinal: int) -> None:
        _toolchain.announce_folders()
        self._ordinal = ordinal
        self._stream = _core.Stream.create(ordinal)
        self._events = [_core.Event.create(ordinal) for _ in range(2)]
        # Written over, twice the size of L2 leaves nothing of what was there.
        self._flushed = 2 * int(_core.device_info(ordinal)["l2_bytes"]) // VECTOR * VECTOR
        self._buffer = _core.DeviceMemory.allocate(ordinal, self._flushed)
        self._found = _core.DeviceMemory.allocate(ordinal, VECTOR)
        self._fill, self._differ = self._own(fill, 1), self._own(differ, 3)

    def _own(self, kernel: Kernel, tensors: int) -> _core.KernelImage:
        """Return the image of one of our kernels; only addresses and scalars differ by launch."""
        arrays = [Array((VECTOR // 4,), "u32", f"cuda:{self._ordinal}")] * tensors
        scalars = {"word": 0, "vectors": 0}
        captures = kernel._refreshed().captures
        settled = settle_arrays(kernel, captures, arrays, None, scalars, self._ordinal)
        assert settled.image is not None
        self.prepare(settled.image)
        return settled.image

    def _launch(self, image: _core.KernelImage, memories: Any, word: int, size: int) -> None:
        pointers = [self.address(memory) for memory in memories]
        bits, grid = (word, size // VECTOR), grid_over(size)
        _core.launch(image, self._ordinal, self._stream.handle, pointers, bits, grid)

    def allocate(self, data: bytes) -> Any:
        """Return memory with these bytes."""
        memory = _core.DeviceMemory.allocate(self._ordinal, len(data))
        memory.write(data, self._stream)
        return memory

    def address(self, memory: Any) -> int:
        """Return where it is."""
        return int(memory.address)

    def write(self, memory: Any, data: bytes) -> None:
        """Set its bytes."""
        memory.write(data, self._stream)

    def read(self, memory: Any, size: int) -> bytes:
        """Return its bytes."""
        return bytes(memory.read(self._stream))

    def poison(self, memory: Any, size: int) -> None:
        """Take away what it holds."""
        if size % VECTOR:
            self.write(memory, bytes([POISON]) * size)
        elif size:
            self._launch(self._fill, [memory], POISON * 0x01010101, size)

    def is_same(self, memory: Any, other: Any, size: int) -> bool:
        """Whether two have the same bytes; compared where they are, since results are large."""
        if size % VECTOR:
            return self.read(memory, size) == self.read(other, size)
        if size == 0:
            return True
        self._found.write(bytes(VECTOR), self._stream)
        self._launch(self._differ, [memory, other, self._found], 1, size)
        return not any(self._found.read(self._stream))

    def prepare(self, image: _core.KernelImage) -> None:
        """Make a kernel ready to run."""
        _core.prepare(image, self._ordinal)

    def run(
        self, image: _core.KernelImage, tensors: Sequence[Array], bits: Sequence[int], inputs: int
    ) -> float:
        """Run a kernel; its seconds."""
        return self.sample(image, tensors, bits, inputs, 1, cold=True)

    def sample(
        self,
        image: _core.KernelImage,
        tensors: Sequence[Array],
        bits: Sequence[int],
        inputs: int,
        calls: int,
        cold: bool,
    ) -> float:
        """Return the seconds of a call: the median of cold ones, or the mean of warm ones."""
        pointers = [tensor.pointer for tensor in tensors]
        stream, handle = self._stream, self._stream.handle
        pairs = calls if cold else 1
        while len(self._events) < 2 * pairs:
            self._events.append(_core.Event.create(self._ordinal))
        # The device is busy with the buffer while the host queues what is timed.
        marks = list(zip(self._events[::2], self._events[1::2], strict=True))[:pairs]
        for start, end in marks:
            self._write_over(1 if cold else 1 + calls // 4)
            if not cold:
                _core.launch(image, self._ordinal, handle, pointers, bits)  # fetches the tensors
            stream.record(start)
            for _ in range(1 if cold else calls):
                _core.launch(image, self._ordinal, handle, pointers, bits)
            stream.record(end)
        stream.synchronize()
        times = [float(end.milliseconds_since(start)) / 1000 for start, end in marks]
        return statistics.median(times) if cold else times[0] / calls

    def _write_over(self, times: int) -> None:
        for _ in range(times):
            self._launch(self._fill, [self._buffer], 0, self._flushed)


class Station:
    """A device with the tensors of a call, and the kernels that were loaded for it."""

    def __init__(self, ordinal: int | None, kinds: Sequence[Any], inputs: Sequence[bytes]) -> None:
        self._device: Host | Cuda = Host() if ordinal is None else Cuda(ordinal)
        self._kinds = [(str(dtype), tuple(shape)) for dtype, shape in kinds]
        self._values = list(inputs)
        self._inputs = [self._device.allocate(data) for data in inputs]
        self._outputs: dict[tuple[int, ...], list[Any]] = {}
        self._kernels: dict[int, Any] = {}
        self._seconds: dict[int, float] = {}
        self._reference: list[tuple[Any, int]] = []

    def load(self, index: int, saved: bytes) -> None:
        """Make a saved kernel ready to run."""
        kernel = _core.SavedKernel.from_bytes(saved)
        self._device.prepare(kernel.image)
        self._kernels[index] = kernel

    def refer_to(self, results: Sequence[bytes]) -> None:
        """Take results that need not be given back when they come again."""
        self._reference = [(self._device.allocate(data), len(data)) for data in results]

    def run(self, index: int) -> list[bytes] | None:
        """Run a kernel once on the inputs as they came, and return what it has written.

        None where that is the reference, byte by byte.
        """
        kernel = self._kernels[index]
        sizes = [row[3] for row in kernel.outputs]
        if not sizes:  # it writes its inputs
            for memory, data in zip(self._inputs, self._values, strict=True):
                self._device.write(memory, data)
        for memory, size in zip(self._memory_of(kernel), sizes, strict=True):
            self._device.poison(memory, size)
        self._seconds[index] = self._device.run(kernel.image, *self._call(kernel))
        memories, sizes = (
            (self._memory_of(kernel), sizes)
            if sizes
            else (self._inputs, [len(data) for data in self._values])
        )
        if [size for _, size in self._reference] == sizes and all(
            self._device.is_same(memory, other, size)
            for memory, (other, size) in zip(memories, self._reference, strict=True)
        ):
            return None
        return [self._device.read(*pair) for pair in zip(memories, sizes, strict=True)]

    def time(self, index: int, seconds: float, cold: bool) -> float:
        """Return the seconds of a call, from calls of about so many seconds together."""
        kernel = self._kernels[index]
        if index not in self._seconds:  # checked by a process that is gone
            self._seconds[index] = self._device.run(kernel.image, *self._call(kernel))
        calls = max(1, min(int(seconds / max(self._seconds[index], 1e-7)), MOST_CALLS))
        once = self._device.sample(kernel.image, *self._call(kernel), calls, cold)
        self._seconds[index] = once
        return once

    def _memory_of(self, kernel: Any) -> list[Any]:
        sizes = tuple(row[3] for row in kernel.outputs)
        if sizes not in self._outputs:
            self._outputs[sizes] = [self._device.allocate(bytes(size)) for size in sizes]
        return self._outputs[sizes]

    def _call(self, kernel: Any) -> tuple[list[Array], list[int], int]:
        """Return the tensors of a launch, its scalars, and how many tensors it only reads."""
        tensors = []
        memories = (*self._inputs, *self._memory_of(kernel))
        for row, memory in zip((*kernel.inputs, *kernel.outputs), memories, strict=True):
            _, dtype, shape, size, _ = row
            address = self._device.address(memory)
            tensors.append(Array(tuple(shape), dtype, "", None, address, size))
        bits = [bits for _, _, bits in kernel.scalars]
        return tensors, bits, len(kernel.inputs) if kernel.outputs else 0
