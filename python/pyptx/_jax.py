# SPDX-License-Identifier: Apache-2.0
"""The JAX path: a kernel as a typed FFI call that carries its own text, target and launch plan.

Imported only when a call has brought a JAX array or tracer. Nothing in the call names this
process, so jit caches, exports and other processes can keep it. On the CPU platform the same call
runs on the emulator.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax

from pyptx import _core, _runtime, _toolchain
from pyptx._bind import Array
from pyptx._captures import Captures
from pyptx._dtypes import framework_name, ptx_name
from pyptx._errors import LaunchError
from pyptx.specs import Layout, Tile

if TYPE_CHECKING:
    from pyptx.kernel import Kernel

TARGET = "pyptx_launch"
_lock = threading.Lock()
_registered: dict[str, bool] = {}
_calls: dict[Any, Callable[..., Any]] = {}


def register_targets() -> bool:
    """Register the FFI target on every platform we have handlers for; True when there is one."""
    try:
        platforms = _core.xla_target_capsules()
    except ImportError:
        return False
    with _lock:
        for platform, handlers in platforms.items():
            if not _registered.get(platform):
                jax.ffi.register_ffi_target(TARGET, handlers, platform=platform, api_version=1)
                _registered[platform] = True
        return any(_registered.values())


def call(
    kernel: Kernel,
    captures: Captures,
    args: Sequence[Any],
    outs: Sequence[Any] | None,
    keywords: Mapping[str, Any],
) -> Any:
    """Run on JAX arrays, or put the call into the program that is being traced."""
    if outs is not None:
        raise TypeError(
            f"kernel {kernel.signature.name!r}: JAX arrays are immutable, so out= cannot be "
            f"written; use the returned array"
        )
    _toolchain.announce_folders()
    # First, because JAX narrows 64-bit NumPy arrays unless told not to.
    args = [x if isinstance(x, jax.Array) else jax.numpy.asarray(x) for x in args]
    inputs = [Array(tuple(x.shape), ptx_name(x.dtype), "jax") for x in args]
    target = _runtime.resolve_target(kernel.arch, _default_device())
    prepared = _runtime.prepare(kernel, captures, inputs, None, keywords, target)
    shapes = [result_type(dtype, shape) for dtype, shape in prepared.outputs]
    if not prepared.has_work:
        return _runtime.unpack([jax.numpy.zeros(s.shape, s.dtype) for s in shapes])
    layouts = tuple(_layout(spec) for spec in kernel.signature.specs)
    return launch_image(prepared.image, args, shapes, layouts)


def launch_image(
    image: Any,
    args: Sequence[Any],
    shapes: Sequence[jax.ShapeDtypeStruct],
    layouts: tuple[tuple[int, ...] | None, ...] | None = None,
) -> Any:
    """Return the FFI call of an image; one output as it is, several as a tuple."""
    if not register_targets():
        raise LaunchError("this build of pyptx has no XLA handlers, so JAX cannot call kernels")
    layouts = layouts or (None,) * (len(args) + len(shapes))
    key = (image.hash, tuple((s.shape, str(s.dtype)) for s in shapes), layouts)
    function = _calls.get(key)
    if function is None:
        function = _calls.setdefault(key, _make_call(image, len(args), shapes, layouts))
    return _runtime.unpack(function(*args))


def _make_call(
    image: Any,
    count: int,
    shapes: Sequence[jax.ShapeDtypeStruct],
    layouts: tuple[tuple[int, ...] | None, ...],
) -> Callable[..., Any]:
    plan = image.plan
    attributes = {
        "ptx": image.ptx,
        "target": image.target,
        "plan": plan if isinstance(plan, str) else plan.text,
        "hash": image.hash,
    }
    call = jax.ffi.ffi_call(
        TARGET,
        list(shapes),
        vmap_method="sequential",
        input_layouts=layouts[:count],
        output_layouts=list(layouts[count:]),
    )
    jitted: Callable[..., Any] = jax.jit(lambda *args: call(*args, **attributes))
    return jitted


def result_type(dtype: str, shape: Sequence[int]) -> jax.ShapeDtypeStruct:
    """Shape and dtype of an output, as JAX writes it."""
    name = framework_name(dtype)
    if name is None:
        raise LaunchError(f"JAX has no arrays of {dtype}; use the bN type of its width")
    if name.endswith("64") and not jax.config.jax_enable_x64:
        raise LaunchError(
            f"an output of {name} needs 64-bit JAX: jax.config.update('jax_enable_x64', True)"
        )
    return jax.ShapeDtypeStruct(tuple(shape), jax.numpy.dtype(name))


def _layout(spec: Tile) -> tuple[int, ...] | None:
    """Major to minor, as JAX writes it; None is row-major."""
    return tuple(reversed(range(spec.rank))) if spec.layout is Layout.COL else None


def _default_device() -> int | None:
    return 0 if jax.default_backend() in ("gpu", "cuda") else None
