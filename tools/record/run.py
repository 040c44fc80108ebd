# SPDX-License-Identifier: Apache-2.0
"""Runs a launch, on CUDA tensors or on the emulator, and returns what its buffers hold then."""

from __future__ import annotations

from typing import Any

import numpy as np

from .launch import Bytes, Launch


def on_device(launch: Launch, device: int = 0) -> list[Bytes]:
    """Run on a CUDA device."""
    import torch

    from pyptx import _core

    torch.cuda.set_device(device)
    tensors = [torch.from_numpy(buffer.copy()).cuda() for buffer in launch.buffers]
    stream = torch.cuda.current_stream(device)
    pointers = [tensor.data_ptr() for tensor in tensors]
    _core.launch(launch.make_image(), device, stream.cuda_stream, pointers)
    stream.synchronize()
    return [tensor.cpu().numpy() for tensor in tensors]


def on_emulator(launch: Launch, **options: Any) -> list[Bytes]:
    """Run on the emulator; `options` are those of `_core.emulate`.

    Matrix instructions add as on the machine that recorded: a Hopper, whatever the text's target.
    """
    from pyptx import _core

    options = {"numerics": "exact", "tensor_core": "hopper", **options}

    buffers = [_aligned(buffer) for buffer in launch.buffers]
    pointers = [buffer.ctypes.data for buffer in buffers]
    sizes = [buffer.nbytes for buffer in buffers]
    _core.emulate(launch.make_image(), pointers, sizes, **options)
    return buffers


def device_name(device: int = 0) -> str:
    """Return the name of the GPU and of the driver's CUDA version."""
    import torch

    from pyptx import _core

    return f"{torch.cuda.get_device_name(device)}, {_core.driver_status()[1].split(':')[0]}"


def _aligned(buffer: Bytes, alignment: int = 256) -> Bytes:
    """Copy to an address as aligned as the driver's allocations."""
    room = np.zeros(buffer.nbytes + alignment, np.uint8)
    start = -room.ctypes.data % alignment
    copy = room[start : start + buffer.nbytes]
    copy[:] = buffer
    return copy
