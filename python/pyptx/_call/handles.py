# SPDX-License-Identifier: Apache-2.0
"""Launches put together by handle: PTX text, dimensions, scalars and tensor maps, one by one.

What the handle-based functions of `jax_support` and `torch_support` share. A launch becomes a
kernel image the first time it is used; `Kernel` objects make theirs directly and never come here.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from dataclasses import dataclass, field
from typing import Any

from pyptx import _core, _toolchain
from pyptx._call.refusals import refuse
from pyptx._call.signature import normalize_dim3
from pyptx._kept import Kept
from pyptx.parser import parse

Dim3 = tuple[int, int, int]
Config = tuple[Dim3, Dim3, Dim3, int]  # grid, block, cluster, dynamic shared bytes


@dataclass
class Launch:
    """How a handle is launched, as far as it has been said."""

    cu_function: int = 0
    config: Config | None = None
    scalars: list[tuple[int, int]] = field(default_factory=list)  # bits, bytes
    maps: list[tuple[int, Any]] = field(default_factory=list)  # tensor, map
    images: Kept[Any, Any] = field(default_factory=lambda: Kept(_core.MAX_SPECIALISATIONS))


# Stands for "not known yet" in a map that is encoded before its tensor exists: a driver refuses
# the null address. Every launch encodes the real one.
_PLACEHOLDER_ADDRESS = 1 << 20


class MapBlob:
    """A tensor map and the 128 bytes that stand for it on the host."""

    def __init__(self, tensor_map: Any, address: int) -> None:
        self.map = tensor_map
        self._memory = ctypes.create_string_buffer(128 + 64)
        start = ctypes.addressof(self._memory)
        self.pointer = start + (-start % 64)
        self.device_pointer = 0
        has_driver, _ = _core.driver_status()
        if has_driver and _core.device_count() > 0:
            encoded = _core.encode_map(tensor_map, address or _PLACEHOLDER_ADDRESS)
            ctypes.memmove(self.pointer, encoded, len(encoded))
            self.device_pointer = int(_core.resident_map(_core.current_device(), encoded))


_lock = threading.Lock()
_launches: dict[int, Launch] = {}
_blobs: weakref.WeakValueDictionary[int, MapBlob] = weakref.WeakValueDictionary()


def new_handle() -> int:
    """Return a handle that names nothing yet."""
    handle = int(_core.new_handle())
    with _lock:
        _launches[handle] = Launch()
    return handle


def forget(handle: int) -> None:
    """Drop what is known of a handle."""
    with _lock:
        _launches.pop(handle, None)
    _core.drop_handle(handle)


def _launch(handle: int) -> Launch:
    with _lock:
        return _launches.setdefault(handle, Launch())


def set_launch(
    handle: int, cu_function: int, grid: Any, block: Any, cluster: Any, smem_bytes: int
) -> None:
    """Say function and dimensions of a handle's launch; parameters that it had keep their order.

    Said again, it begins a new launch without parameters.
    """
    config = (
        normalize_dim3("grid", grid),
        normalize_dim3("block", block),
        normalize_dim3("cluster", cluster),
        int(smem_bytes),
    )
    with _lock:
        before = _launches.get(handle)
        launch = _launches[handle] = Launch(int(cu_function or 0), config)
    _core.register_launch_config(handle, launch.cu_function, *config)
    if before is None or before.config is not None:
        return
    for bits, size in before.scalars:
        add_scalar(handle, bits, size)
    for tensor, blob in before.maps:
        add_map(handle, tensor, blob.pointer, blob.device_pointer)


def add_scalar(handle: int, value: int, size: int) -> None:
    """One more scalar parameter."""
    if size not in (1, 2, 4, 8):
        refuse("OptionValue", "a scalar parameter's size", "1, 2, 4 or 8 bytes", f"not {size}")
    if not hasattr(value, "__index__"):
        bits_of = "pass the bits of a float: int.from_bytes(struct.pack('<f', x), 'little')"
        refuse("OptionType", "a scalar parameter", "an integer", f"{value!r}; {bits_of}")
    launch = _launch(handle)
    bits = int(value.__index__()) & ((1 << 8 * size) - 1)
    launch.scalars.append((bits, size))
    launch.images.clear()
    if launch.config is not None:
        _core.add_scalar_param(handle, bits, size)


def add_map(handle: int, tensor: int, host_blob: int, device_blob: int) -> None:
    """One more tensor map parameter."""
    blob = _blobs.get(host_blob)
    if blob is None:
        refuse(
            "ArrayMemory",
            "no tensor map",
            f"lives at {host_blob:#x}; keep the first value that synthesize_tma_descriptor "
            f"returned",
        )
    launch = _launch(handle)
    launch.maps.append((int(tensor), blob))
    launch.images.clear()
    if launch.config is not None:
        _core.add_tma_spec(handle, int(tensor), host_blob, device_blob)


def keep_map(tensor_map: Any, address: int) -> tuple[MapBlob, int, int]:
    """Return a map as the handle-based functions pass it around."""
    blob = MapBlob(tensor_map, address)
    _blobs[blob.pointer] = blob
    return blob, blob.pointer, blob.device_pointer


def is_raw(handle: int) -> bool:
    """Whether `handle` names a loaded function without its text."""
    from pyptx.jax_support import get_cubin_registry

    with _lock:
        launch = _launches.get(handle)
    record = get_cubin_registry().get(handle)
    return bool(launch and launch.cu_function) and (record is None or not record.ptx_source)


def image(handle: int, tensor_count: int, config: Config) -> Any:
    """Return the kernel image that `handle` launches on that many tensors."""
    from pyptx.jax_support import get_cubin_registry

    record = get_cubin_registry().get(handle)
    if record is None:
        return _core.image_of(handle)
    launch = _launch(handle)
    given = (_dim3(config[0]), _dim3(config[1]), _dim3(config[2]), int(config[3]))
    dims = launch.config or given
    key = (tensor_count, dims, len(launch.scalars), len(launch.maps))
    made = launch.images.get(key)
    if made is None:
        entry = record.kernel_name or entry_name(record.ptx_source)
        plan = _core.LaunchPlan(entry, *dims, tensor_count)
        plan.add_parameters(launch.scalars, [(tensor, blob.map) for tensor, blob in launch.maps])
        _toolchain.announce_folders()
        source = record.ptx_source
        made = _core.KernelImage(source, target_of(source), plan)
        made = launch.images.keep_first(key, made)
    return made


def _dim3(value: Any) -> Dim3:
    return normalize_dim3("launch dimensions", value)


def entry_name(ptx: str) -> str:
    """Name of the first entry function in PTX text, of the first visible one if there is one."""
    entries = parse(ptx, recover=True).entries
    if not entries:
        refuse("HandleText", ".entry; give kernel_name")
    return min(entries, key=lambda entry: entry.linkage != "visible").name


def target_of(ptx: str) -> str:
    """Return what the text's .target directive says."""
    target = parse(ptx, recover=True).target
    if not target:
        refuse("HandleText", ".target directive")
    return target


def load_function(ptx: str, arch: str, entry: str, smem_bytes: int) -> tuple[int, Any] | None:
    """Assemble and load; the CUfunction and what keeps it loaded."""
    plan = _core.LaunchPlan(entry, (1, 1, 1), (1, 1, 1), (1, 1, 1), smem_bytes, 0)
    loaded = _core.KernelImage(ptx, arch, plan)
    return int(loaded.cu_function()), loaded
