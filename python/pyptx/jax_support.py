# SPDX-License-Identifier: Apache-2.0
"""JAX runtime integration for `pyptx.kernel`.

`Kernel` calls the FFI target `pyptx_launch` with the kernel itself as attributes. This module is
the handle-based surface above the same registry: compile text, register its launch, add scalars
and tensor maps, call it. On machines without JAX or a CUDA driver everything that needs neither
still works, and what does answers None or False. Importing this module does not import JAX.
"""

# The annotations are the documented ones, word by word.
# mypy: disable-error-code="no-untyped-def, type-arg"

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from pyptx import _core, _toolchain
from pyptx._call import handles
from pyptx._call.element_types import ptx_name
from pyptx.specs import Layout, Tile

__all__ = [
    "CubinRecord",
    "CubinRegistry",
    "add_scalar_param_to_shim",
    "add_tma_spec_to_shim",
    "call_kernel_via_ffi",
    "compile_ptx_to_cubin",
    "ensure_ffi_registered",
    "export_checks",
    "get_cubin_registry",
    "register_launch_config",
    "set_mock_ffi_callback",
    "shim_is_available",
    "shim_load_error",
    "synthesize_tma_descriptor",
    "synthesize_tma_descriptor_3d",
]

_mock_callback: Callable[..., Any] | None = None


@dataclass
class CubinRecord:
    """A compiled kernel and its launch config.

    `cu_function` is the CUfunction as an integer, None where there is no driver. `module` is
    kept so that the function stays valid for the lifetime of the kernel.
    """

    handle: int
    ptx_source: str
    kernel_name: str
    smem_bytes: int = 0
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (1, 1, 1)
    cu_function: Optional[int] = None  # noqa: UP045 - the documented annotation
    module: Any = None
    cubin_bytes: Optional[bytes] = None  # noqa: UP045


class CubinRegistry:
    """Thread-safe process-local table from handles to `CubinRecord`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._records: dict[int, CubinRecord] = {}

    def register(
        self,
        ptx_source: str,
        kernel_name: str,
        cubin_bytes: Optional[bytes] = None,  # noqa: UP045
        smem_bytes: int = 0,
        grid: tuple[int, int, int] = (1, 1, 1),
        block: tuple[int, int, int] = (1, 1, 1),
        cu_function: Optional[int] = None,  # noqa: UP045
        module: Any = None,
    ) -> int:
        """Insert a compiled kernel record and return its process-local handle."""
        handle = handles.new_handle()
        record = CubinRecord(
            handle,
            ptx_source,
            kernel_name,
            smem_bytes,
            grid,
            block,
            cu_function,
            module,
            cubin_bytes,
        )
        with self._lock:
            self._records[handle] = record
        return handle

    def get(self, handle: int) -> Optional[CubinRecord]:  # noqa: UP045
        """Look up a previously registered kernel handle."""
        with self._lock:
            return self._records.get(handle)

    def __len__(self) -> int:
        """Count the registered kernels."""
        with self._lock:
            return len(self._records)

    def clear(self) -> None:
        """Drop all registered kernel records."""
        with self._lock:
            registered = list(self._records)
            self._records.clear()
        for handle in registered:
            handles.forget(handle)


_registry = CubinRegistry()


def get_cubin_registry() -> CubinRegistry:
    """Return the process-local cubin registry."""
    return _registry


def shim_is_available() -> bool:
    """Whether the compiled launcher is loaded and ready; it is a part of this package."""
    return shim_load_error() is None


def shim_load_error() -> str | None:
    """Why the compiled launcher cannot be used, or None.

    Where JAX is loaded, that includes a jaxlib that is older than the one pyptx was built for.
    """
    if hasattr(sys.modules.get("jax"), "Array"):
        from pyptx._jax import call_site

        return call_site.registration_problem()
    try:
        _core.xla_target_capsules()
    except ImportError as error:
        return str(error)
    return None


def compile_ptx_to_cubin(
    ptx_source: str, arch: str, kernel_name: str = "", dynamic_smem_bytes: int = 0
) -> Optional[tuple[int, Any]]:  # noqa: UP045
    """Compile PTX and load it: `(cu_function_ptr, module)`, or None without a CUDA driver.

    Keep `module` while the function is in use. An empty `kernel_name` means the first entry of
    the text.
    """
    has_driver, _ = _core.driver_status()
    if not has_driver:
        return None
    _toolchain.announce_folders()
    entry = kernel_name or handles.entry_name(ptx_source)
    return handles.load_function(ptx_source, arch, entry, dynamic_smem_bytes)


def register_launch_config(
    handle: int,
    cu_function: int,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    cluster: tuple[int, int, int] = (1, 1, 1),
    smem_bytes: int = 0,
) -> None:
    """Say how `handle` is launched. Call it once, after compilation."""
    handles.set_launch(handle, cu_function, grid, block, cluster, smem_bytes)


def add_scalar_param_to_shim(handle: int, value: int, size: int = 4) -> None:
    """Add a raw scalar `.param` (the low `size` bytes of `value`) to a handle's launch."""
    handles.add_scalar(handle, value, size)


def synthesize_tma_descriptor(
    shape: tuple[int, ...],
    dtype,  # noqa: ANN001
    layout,  # noqa: ANN001
    box_shape: tuple[int, ...] | None = None,
    placeholder_ptr: int = 0,
) -> tuple[Any, int, int]:
    """Build a 128-byte tensor map for a dense tensor, column-major for `Layout.COL`.

    Returns `(host_tmap, host_blob_ptr, device_blob_ptr)`: keep `host_tmap` alive while the others
    are used. The device pointer is that of an immutable copy in device memory, 0 where there is
    no device; a launch makes its own for the tensor's address, so none is ever written twice.
    `box_shape` defaults to one swizzle span by 64 rows.
    """
    name, way = ptx_name(dtype), Layout(layout)
    tile = Tile(*shape, layout=way, tma_box=box_shape)
    return handles.keep_map(_core.tile_map(tile, tuple(shape), name), placeholder_ptr)


def synthesize_tma_descriptor_3d(
    height: int,
    width: int,
    dtype,  # noqa: ANN001
    box_major: int,
    box_minor: int,
    *,
    swizzle_128b: bool = True,
    padding: bool = False,
    placeholder_ptr: int = 0,
) -> tuple:
    """Build the map of a (height, width) matrix seen as (64 elements, height, width/64).

    So a box can be wider than the 128-byte swizzle span. `padding` pads the innermost box
    dimension to 72. Returns what `synthesize_tma_descriptor` returns.
    """
    tile = Tile(
        height,
        width,
        layout=Layout.TMA_128B if swizzle_128b else Layout.ROW,
        tma_box=(box_major, box_minor),
        tma_rank=3,
        tma_padding=padding,
    )
    tensor_map = _core.tile_map(tile, (height, width), ptx_name(dtype))
    return handles.keep_map(tensor_map, placeholder_ptr)


def add_tma_spec_to_shim(
    handle: int, xla_arg_index: int, host_blob_ptr: int, device_blob_ptr: int
) -> None:
    """Add a tensor map over argument `xla_arg_index` to a handle's launch."""
    handles.add_map(handle, xla_arg_index, host_blob_ptr, device_blob_ptr)


def set_mock_ffi_callback(callback: Callable[..., Any] | None) -> None:
    """Call `callback` instead of JAX's FFI in `call_kernel_via_ffi`; None ends that."""
    global _mock_callback
    _mock_callback = callback


def ensure_ffi_registered() -> bool:
    """Register the `pyptx_launch` target with JAX; False without JAX or without handlers.

    A call of a kernel does it by itself. A process that runs what another one compiled or
    exported, and never calls a kernel, has to.
    """
    try:
        import jax  # noqa: F401
    except ImportError:
        return False
    from pyptx._jax import call_site

    return call_site.register_targets()


def export_checks() -> list[Any]:
    """Return what `jax.export.export(..., disabled_checks=...)` needs to take kernels.

    JAX asks its user to vouch for the targets of other packages. Ours reads what it wrote: a call
    carries the kernel's text and launch plan, and a version of the plan's form.
    """
    from jax.export import DisabledSafetyCheck

    from pyptx._jax.primitive import TARGET

    return [DisabledSafetyCheck.custom_call(TARGET)]


def call_kernel_via_ffi(
    *inputs,  # noqa: ANN002
    cubin_handle: int,
    out_specs: Sequence[Tile],
    out_shape_env: dict[str, int],
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    cluster: tuple[int, int, int] = (1, 1, 1),
    smem_bytes: int = 0,
) -> Any:
    """Return the JAX call of what is registered under `cubin_handle`.

    The call carries the registered text, and so works in other processes. A function that was
    registered without its text runs in this process only, on CUDA. Returns an array, or a tuple of
    arrays, that match `out_specs`.
    """
    if _mock_callback is not None:
        return _mock_callback(
            *inputs,
            cubin_handle=cubin_handle,
            out_specs=out_specs,
            out_shape_env=out_shape_env,
            grid=grid,
            block=block,
            cluster=cluster,
            smem_bytes=smem_bytes,
        )
    from pyptx._jax import call_site

    shapes = [
        call_site.result_type(str(spec.dtype_name), spec.resolve_shape(out_shape_env))
        for spec in out_specs
    ]
    if handles.is_raw(cubin_handle):
        return call_site.launch_handle(int(cubin_handle), inputs, shapes)
    count = len(inputs) + len(out_specs)
    image = handles.image(cubin_handle, count, (grid, block, cluster, smem_bytes))
    return call_site.launch_image(image, inputs, shapes)
