# SPDX-License-Identifier: Apache-2.0
"""The JAX path: a kernel as a typed FFI call that carries its own text, target and launch plan.

Imported only when a call has brought a JAX array or tracer. Nothing in the call names this
process, so jit caches, exports and other processes can keep it. On the CPU platform the same call
runs on the emulator. What a named batch dimension adds is in `batching`, and
what shardings in types do in `shardings`.
"""

from __future__ import annotations

import itertools
import pathlib
import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from pyptx import _core, _toolchain
from pyptx._call import first_call
from pyptx._call.element_types import element_bits, framework_name, ptx_name
from pyptx._call.refusals import refuse
from pyptx._call.signature import Array
from pyptx._captures.captures import Captures, freeze
from pyptx._jax.primitive import TARGET, Aliases, launch
from pyptx._kept import Kept
from pyptx.specs import Layout, Tile

if TYPE_CHECKING:
    from pyptx.kernel import Kernel

PLATFORMS = ("cpu", "cuda", "gpu")
#: Why a kernel without outputs is refused.
NOTHING_WRITTEN = (
    "has no outputs, and a JAX array is never written in place",
    "declare what it writes in out_specs (out= donates memory), or in inout_specs",
)
_lock = threading.Lock()
_registered: dict[str, bool] = {}
#: Jitted calls that are kept, of all kernels. A program that is compiled holds its own.
MOST_KEPT = 1024
_calls: Kept[Any, Callable[..., Any]] = Kept(MOST_KEPT)


def register_targets() -> bool:
    """Register the FFI target on every platform we have handlers for; True when there is one."""
    return registration_problem() is None


def registration_problem() -> str | None:
    """Register the FFI target where that is not done yet; why that failed, or None."""
    try:
        platforms = _core.xla_target_capsules()
    except ImportError as error:
        return str(error)
    # Asked first: where JAX has not started yet, it takes anything, and a refusal would end its
    # start.
    problem = _version_problem()
    if problem is not None:
        return problem
    with _lock:
        for platform, handlers in platforms.items():
            if _registered.get(platform):
                continue
            try:
                jax.ffi.register_ffi_target(TARGET, handlers, platform=platform, api_version=1)
            except Exception as error:  # whatever this jaxlib raises
                return f"jaxlib {jax.lib.__version__} refused pyptx's {platform} handlers: {error}"
            _registered[platform] = True
    return None


def _version_problem() -> str | None:
    """Say if this jaxlib is older than the headers that the handlers were built with."""
    header = pathlib.Path(jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h")
    try:
        text = header.read_text(encoding="utf-8")
    except OSError:
        return None
    found = dict(re.findall(r"^#define XLA_FFI_API_(MAJOR|MINOR) (\d+)", text, re.MULTILINE))
    if found.keys() != {"MAJOR", "MINOR"}:
        return None
    needed, has = _core.xla_ffi_version(), (int(found["MAJOR"]), int(found["MINOR"]))
    if has[0] == needed[0] and has[1] >= needed[1]:
        return None
    return (
        f"pyptx was built for XLA's FFI {needed[0]}.{needed[1]}, but jaxlib "
        f"{jax.lib.__version__} has {has[0]}.{has[1]}; upgrade jaxlib, or build pyptx where this "
        f"jaxlib is installed"
    )


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """A kernel as a program calls it, whatever the shapes. Arguments are inputs, then donors."""

    kernel: Kernel
    captures: Captures
    keywords: Mapping[str, Any]
    aliases: Aliases = ()

    @property
    def name(self) -> str:
        """What errors call it."""
        return self.kernel.signature.name

    @property
    def batch(self) -> str | None:
        """The dimension along which it may be divided."""
        return self.kernel.signature.batch

    @property
    def out_specs(self) -> tuple[Tile, ...]:
        """Specs of the results: what in-out arrays become, then the outputs."""
        signature = self.kernel.signature
        return (*signature.inout_specs, *signature.out_specs)

    @property
    def functions(self) -> Kept[Any, Any]:
        """The jitted functions that call it."""
        return self.kernel.jax_functions

    @property
    def input_count(self) -> int:
        """Number of arguments that the kernel reads."""
        return len(self.kernel.signature.in_specs)

    @property
    def argument_specs(self) -> tuple[Tile, ...]:
        """Specs of the arguments; a donor's is that of its output."""
        signature = self.kernel.signature
        donors = sorted(pair for pair in self.aliases if pair[0] >= self.input_count)
        return (*signature.in_specs, *(signature.out_specs[output] for _, output in donors))

    def key(self) -> Any:
        """Return what tells its jitted functions apart; None where that cannot be told."""
        keywords, watched = freeze(dict(self.keywords), self.captures.reads)
        is_kept = watched is not None and not self.captures.is_opaque
        return (self.captures.key, keywords, self.aliases) if is_kept else None

    def general(self) -> Site:
        """Return the call for any size of the batch."""
        others = {name: value for name, value in self.keywords.items() if name != self.batch}
        return Site(self.kernel, self.captures, others, self.aliases)

    def check(self, args: Sequence[Any]) -> None:
        """Bind as the user wrote it; what is called later has other sizes of the batch."""
        self.prepare(*described(args))

    def content(self, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[str]) -> str:
        """Return what the program has of it for arguments of these shapes."""
        image = self.prepare(shapes, dtypes).image
        return image.hash if image is not None else "no work"

    def prepare(self, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[str]) -> Any:
        """Bind and specialise for arguments of these shapes and dtypes."""
        arrays = [Array(s, d, "jax") for s, d in zip(shapes, dtypes, strict=True)]
        given = [arrays[argument] for argument, _ in sorted(self.aliases, key=lambda a: a[1])]
        donated = sum(argument >= self.input_count for argument, _ in self.aliases)
        target = first_call.resolve_target(self.kernel.arch, default_device())
        return first_call.prepare(
            self.kernel,
            self.captures,
            arrays[: len(arrays) - donated],
            given or None,
            self.keywords,
            target,
            # A program carries the kernel whole; numbers that change are arrays there.
            constants=[name for _, name in self.kernel.signature.raw_params],
        )

    def launch(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """Put the FFI call for these arguments' shapes into the program; a tuple of outputs."""
        prepared = self.prepare(*described(args))
        if not prepared.is_current:
            # One of them now has the text of a later state.
            self.kernel.jax_functions.clear()
            self.kernel._live.jax_calls = None
        shapes = [result_type(dtype, shape) for dtype, shape in prepared.outputs]
        inouts = args[self.kernel.signature.read_only : self.input_count]
        if not self.kernel.inout_specs:
            inouts = ()
        if not prepared.has_work:
            return (*inouts, *(jax.numpy.zeros(s.shape, s.dtype) for s in shapes))
        layouts = tuple(_layout(spec) for spec in (*self.argument_specs, *self.out_specs))
        return launch_with_inouts(
            prepared.image, args, self.input_count, len(inouts), shapes, layouts, self.aliases
        )


def call(
    kernel: Kernel,
    captures: Captures,
    args: Sequence[Any],
    outs: Sequence[Any] | None,
    keywords: Mapping[str, Any],
) -> Any:
    """Run on JAX arrays, or put the call into the program that is being traced."""
    _toolchain.announce_folders()
    what, signature = f"kernel {kernel.signature.name!r}", kernel.signature
    args = inputs_of(kernel, args)
    if len(args) != len(signature.in_specs):  # before an array of out= takes a place
        signature.bind_inputs(
            [Array(*facts, "jax") for facts in zip(*described(args), strict=True)]
        )
    added, aliases = donors(what, signature.tensors, args, outs or ())
    args = align([*args, *added])
    check_arguments(what, args)
    from pyptx._jax import batching, eager, open_call

    site = Site(kernel, captures, keywords, aliases)
    if open_call.is_symbolic(args):
        return open_call.call_kernel(site, args)
    results = first_call.unpack(batching.run(site, args))
    eager.teach(kernel._live, site, args)
    return results


def inputs_of(kernel: Kernel, args: Sequence[Any]) -> list[Any]:
    """Return the arguments as arrays of JAX."""
    signature = kernel.signature
    dtypes = [spec.dtype_name for spec in signature.in_specs]
    return as_jax_arrays(f"kernel {signature.name!r}", signature.tensors, dtypes, args)


def as_jax_arrays(
    what: str, names: Sequence[str], dtypes: Sequence[str | None], args: Sequence[Any]
) -> list[Any]:
    """Return the arguments, of these names and wanted types, as arrays of JAX."""
    return [as_jax(what, *row) for row in paired(names, args, dtypes)]


def paired(names: Sequence[str], args: Sequence[Any], specs: Sequence[Any]) -> list[Any]:
    """Return (name, argument, spec) of each argument; None for those that are too many."""
    count = len(args)
    rows = itertools.zip_longest(names[:count], args, specs[:count])
    return [*rows][:count]


def as_jax(what: str, name: str | None, x: Any, dtype: str | None) -> Any:
    """Return a JAX array: of a NumPy array what `jnp.asarray` makes, as everywhere in JAX.

    That narrows 64 bits unless JAX is told otherwise; where the kernel wants them, it is refused.
    """
    made = x if isinstance(x, jax.Array) else jax.numpy.asarray(x)
    wide = framework_name(dtype) if dtype is not None and element_bits(dtype) == 64 else None
    if wide is not None and made.dtype.itemsize == 4 and not jax.config.jax_enable_x64:
        words = f"a NumPy array of {x.dtype}, of which JAX makes {made.dtype}"
        if made is x:
            words = f"an array of {x.dtype}, expected {wide}, which JAX does not make"
        refuse(
            "FrameworkElements",
            f"{what}: argument {name!r} is {words} unless it is told to keep 64 bits",
            "jax.config.update('jax_enable_x64', True)",
        )
    return made


def donors(
    what: str, names: Sequence[str], args: Sequence[Any], outs: Sequence[Any]
) -> tuple[list[Any], Aliases]:
    """Return what `out=` adds to the arguments, and which argument each output takes over."""
    added: list[Any] = []
    aliases: list[tuple[int, int]] = []
    for index, out in enumerate(outs):
        where = f"{what}: out[{index}]"
        if not isinstance(out, jax.Array):
            refuse(
                "ArgumentKind",
                where,
                "is a NumPy array, but the inputs are JAX arrays: JAX cannot write it; give a JAX "
                "array, whose memory the result takes, or no out=",
            )
        if any(out is other for other in outs[:index]):
            refuse("ArrayMemory", where, "is the array of another output; give each its own")
        same = [i for i, arg in enumerate(args) if arg is out]
        if len(same) > 1 and not isinstance(out, jax.core.Tracer):
            first, second = (names[i] for i in same[:2])
            refuse(
                "ArrayMemory",
                where,
                f"is the array of both arguments {first!r} and {second!r}, and an array whose "
                f"memory the result takes can be given once; give jnp.copy() of it as {second!r}, "
                f"or call the kernel in a jitted function, where the compiler copies",
            )
        aliases.append((same[0] if same else len(args) + len(added), index))
        if not same:
            added.append(out)
    return added, tuple(aliases)


def check_arguments(what: str, args: Sequence[Any]) -> None:
    """Refuse arrays on a platform that cannot run PTX."""
    platforms = {
        d.platform for x in args if not isinstance(x, jax.core.Tracer) for d in x.devices()
    }
    bad = sorted((platforms or {jax.default_backend()}) - {*PLATFORMS})
    if bad:
        refuse(
            "LaunchPlace",
            f"{what}:",
            f"JAX platform {bad[0]!r} cannot run PTX; put the arrays on a CUDA GPU, or on the CPU, "
            f"where the emulator runs them: jax.device_put(x, jax.devices('cpu')[0])",
        )


def described(args: Sequence[Any]) -> tuple[list[tuple[int, ...]], list[str]]:
    """Shapes and dtypes of arrays or tracers."""
    return [tuple(x.shape) for x in args], [ptx_name(x.dtype) for x in args]


def align(args: Sequence[Any]) -> list[Any]:
    """Make every argument vary over the axes of a shard_map that one of them varies over."""
    varying = [_varying(x) for x in args]
    union = frozenset().union(*varying)
    return [
        x if axes == union else jax.lax.pcast(x, tuple(sorted(union - axes)), to="varying")
        for x, axes in zip(args, varying, strict=True)
    ]


def reshard_as(x: Any, sharding: Any) -> Any:
    """Give an array a sharding of a type; as it is where shardings are no part of its type."""
    own = jax.typeof(x).sharding
    explicit = jax.sharding.AxisType.Explicit
    if own.mesh.empty or explicit not in sharding.mesh.axis_types or own.spec == sharding.spec:
        return x
    return jax.sharding.reshard(x, sharding)


def _varying(x: Any) -> frozenset[str]:
    axes: frozenset[str] = jax.typeof(x).manual_axis_type.varying
    return axes


def _varying_as(args: Sequence[Any], shape: jax.ShapeDtypeStruct) -> jax.ShapeDtypeStruct:
    """Return the type of an output that varies over the axes that the arguments vary over."""
    if not args or not _varying(args[0]):
        return shape
    mesh = jax.sharding.get_abstract_mesh()
    return jax.ShapeDtypeStruct(
        shape.shape,
        shape.dtype,
        sharding=jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec()),
        manual_axis_type=jax.typeof(args[0]).manual_axis_type,
    )


def launch_with_inouts(
    image: Any,
    args: Sequence[Any],
    inputs: int,
    inouts: int,
    shapes: Sequence[jax.ShapeDtypeStruct],
    layouts: tuple[tuple[int, ...] | None, ...],
    donors: Aliases,
) -> tuple[Any, ...]:
    """Call an image; the last `inouts` of the inputs are results, too, and come first among them.

    The kernel is given a result's memory, in which XLA has put what the argument was; it makes a
    copy where the argument is used later.
    """
    first = inputs - inouts
    kept = tuple((first + index, index) for index in range(inouts))
    shifted = tuple((argument, output + inouts) for argument, output in donors)
    every = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in args[first:inputs]] + [*shapes]
    unread = len(args) - first
    return calling(image, every, layouts, (*kept, *shifted), unread, inouts)(*args)


def launch_image(image: Any, args: Sequence[Any], shapes: Sequence[jax.ShapeDtypeStruct]) -> Any:
    """Return the FFI call of an image; one output as it is, several as a tuple."""
    layouts = (None,) * (len(args) + len(shapes))
    return first_call.unpack(calling(image, shapes, layouts, (), 0)(*align(args)))


def launch_handle(handle: int, args: Sequence[Any], shapes: Sequence[jax.ShapeDtypeStruct]) -> Any:
    """Return the FFI call of a loaded function, which no other process knows."""
    layouts = (None,) * (len(args) + len(shapes))
    return first_call.unpack(calling(handle, shapes, layouts, (), 0)(*align(args)))


def calling(
    kernel: Any,
    shapes: Sequence[jax.ShapeDtypeStruct],
    layouts: tuple[tuple[int, ...] | None, ...],
    aliases: Aliases,
    unread: int,
    kept: int = 0,
) -> Callable[..., tuple[Any, ...]]:
    """Return the jitted FFI call of an image or handle, the same one for the same call.

    Arguments whose memory the first `kept` results take are not given away.
    """
    identity = kernel if isinstance(kernel, int) else kernel.hash
    types = tuple((s.shape, str(s.dtype)) for s in shapes)
    key = (identity, types, layouts, aliases, unread, kept)
    function = _calls.get(key)
    if function is None:
        check_registered()
        attributes = _attributes(kernel)
        if unread:
            attributes["unread"] = np.int64(unread)
        if kept:
            attributes["kept"] = np.int64(kept)
        name = "of a handle" if isinstance(kernel, int) else kernel.plan.entry
        made = make_call(name, attributes, shapes, layouts, aliases, kept)
        function = _calls.keep_first(key, made)
    return function


def check_registered() -> None:
    """Refuse a JAX that cannot make the call."""
    problem = registration_problem()
    if problem is not None:
        refuse("FrameworkVersion", "JAX", problem)


def _attributes(kernel: Any) -> dict[str, Any]:
    """Return what a call says of an image or of a handle."""
    if isinstance(kernel, int):
        return {"cubin_handle": np.int64(kernel)}
    return {
        "ptx": sys.intern(kernel.ptx),  # one text of a trace that serves many sizes
        "target": kernel.target,
        "plan": kernel.plan.text,
        "hash": kernel.hash,
    }


def make_call(
    name: str,
    attributes: Mapping[str, Any],
    shapes: Sequence[jax.ShapeDtypeStruct],
    layouts: tuple[tuple[int, ...] | None, ...],
    aliases: Aliases,
    kept: int = 0,
) -> Callable[..., tuple[Any, ...]]:
    def function(*args: Any) -> tuple[Any, ...]:
        results = [_varying_as(args, shape) for shape in shapes]
        return launch(name, args, results, layouts, aliases, attributes)

    function.__name__ = name
    jitted: Callable[..., tuple[Any, ...]] = jax.jit(
        opaque(function, name),
        donate_argnums=tuple(argument for argument, output in aliases if output >= kept),
    )
    return jitted


def opaque(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return the function, but its derivative is refused in words that help."""
    called: Any = jax.custom_jvp(function)

    @called.defjvp  # type: ignore[untyped-decorator]
    def derivative(*_: Any) -> Any:
        refuse(
            "NoGradient",
            f"kernel {name!r}",
            "cannot be differentiated: JAX cannot see into it; give its gradient, for reverse mode "
            "(jax.grad, vjp, jacrev), by a second kernel, pyptx.differentiable_kernel(forward, "
            "backward)",
        )

    refusing: Callable[..., Any] = called
    return refusing


def result_type(dtype: str, shape: Sequence[int]) -> jax.ShapeDtypeStruct:
    """Shape and dtype of an output, as JAX writes it."""
    name = framework_name(dtype)
    if name is None or not hasattr(jax.numpy, name):
        refuse("FrameworkElements", f"JAX has no arrays of {dtype}", "use the bN type of its width")
    if name.endswith("64") and not jax.config.jax_enable_x64:
        refuse(
            "FrameworkElements",
            f"an output of {name} needs 64-bit JAX",
            "jax.config.update('jax_enable_x64', True)",
        )
    return jax.ShapeDtypeStruct(tuple(shape), jax.numpy.dtype(name))


def _layout(spec: Tile) -> tuple[int, ...] | None:
    """Major to minor, as JAX writes it; None is row-major."""
    return tuple(reversed(range(spec.rank))) if spec.layout is Layout.COL else None


def default_device() -> int | None:
    """Return the ordinal of JAX's first GPU."""
    return 0 if jax.default_backend() in ("gpu", "cuda") else None
