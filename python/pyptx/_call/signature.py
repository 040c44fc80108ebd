# SPDX-License-Identifier: Apache-2.0
"""Binding a call to a kernel's declaration: which array is which argument, and is it fit.

Works on descriptions of arrays (`Array`), the same for every framework. Every refusal names the
argument, what was expected, what came, and where possible how to mend it; none touches data.
"""

from __future__ import annotations

import inspect
import itertools
import operator
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyptx._call.element_types import accepts, framework_name
from pyptx._call.scalars import PARAMETER_TYPES
from pyptx._errors import LaunchError
from pyptx.specs import Layout, Tile

_MOST = (1 << 31) - 1  # of a grid in its first dimension; in others, and of blocks, less


@dataclass(frozen=True, slots=True)
class Array:
    """What a framework says about one array. Strides are in elements."""

    shape: tuple[int, ...]
    dtype: str  # the name in pyptx.types, or the framework's where there is none
    device: str = "cpu"
    strides: tuple[float, ...] | None = None  # None: dense, row-major
    pointer: int = 0
    nbytes: int = 0


def whole_number(value: Any) -> int | None:
    """Return what can stand for an integer as a Python int, whose sums do not overflow.

    None for anything else, truth values and fractions among them.
    """
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def check_body(fn: Any) -> None:
    """Refuse what is no function, or one whose body does not run when it is called."""
    if not callable(fn) or not hasattr(fn, "__name__"):
        raise TypeError(f"a kernel is made of a function with a name, not of {fn!r}")
    for is_one, what, fix in (
        (inspect.iscoroutinefunction, "an async function", "write def without async"),
        (inspect.isasyncgenfunction, "an async generator", "write def without async and yield"),
        (inspect.isgeneratorfunction, "a generator", "take out yield"),
    ):
        if is_one(fn):
            raise TypeError(
                f"kernel {fn.__name__!r} is {what}, so a call would not run its body; {fix}"
            )


class Signature:
    """The parameters of a kernel function and the specs declared for them."""

    def __init__(
        self,
        fn: Callable[..., Any],
        in_specs: Sequence[Tile] | None,
        out_specs: Sequence[Tile] | None,
        raw_params: Sequence[tuple[str, str]] | None,
        batch: str | None = None,
    ) -> None:
        self.name: str = fn.__name__
        self.fn = fn
        parameters = inspect.signature(fn).parameters.values()
        positional = (
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        )
        bad = [p.name for p in parameters if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        if bad:
            raise TypeError(
                f"kernel {self.name!r}: *{bad[0]} is neither a tensor nor a template parameter; "
                f"name each tensor, and put template parameters after '*'"
            )
        self.tensors = tuple(p.name for p in parameters if p.kind in positional)
        self.has_specs = in_specs is not None or out_specs is not None
        self.in_specs = tuple(in_specs or ())
        self.out_specs = tuple(out_specs or ())
        self.raw_params = tuple((str(kind), str(name)) for kind, name in raw_params or ())
        self._check_declaration()
        self.dims = tuple(dict.fromkeys(dim for spec in self.specs for dim in spec.symbolic_dims))
        fixed = (*self.dims, *self.template_params)
        #: Raw parameters that are neither a dimension nor a template parameter.
        self.free_params = tuple(p for p in self.raw_params if p[1] not in fixed)
        self.batch = batch
        if batch is not None:
            self._check_batch(batch)

    @property
    def specs(self) -> tuple[Tile, ...]:
        """Specs of all tensors, inputs first; empty when none are declared."""
        return self.in_specs + self.out_specs

    @property
    def template_params(self) -> dict[str, Any]:
        """Template parameters and their defaults (`inspect.Parameter.empty` without one)."""
        return {
            p.name: p.default
            for p in inspect.signature(self.fn).parameters.values()
            if p.kind is p.KEYWORD_ONLY
        }

    def _check_declaration(self) -> None:
        for spec in self.specs:
            if not isinstance(spec, Tile):
                raise TypeError(
                    f"kernel {self.name!r}: specs are Tile objects in a tuple, not {spec!r}"
                )
        if self.has_specs and len(self.specs) != len(self.tensors):
            raise TypeError(
                f"kernel {self.name!r} has {len(self.tensors)} tensor parameters "
                f"({', '.join(self.tensors)}) but {len(self.in_specs)} in_specs and "
                f"{len(self.out_specs)} out_specs; give one Tile per parameter"
            )
        for kind, name in self.raw_params:
            if kind not in PARAMETER_TYPES:
                raise TypeError(
                    f"kernel {self.name!r}: raw parameter {name!r} has type {kind!r}, "
                    f"expected the name of a type that a parameter can have, such as 'u32' or "
                    f"'f32' ({', '.join(PARAMETER_TYPES)})"
                )
        for name, spec in zip(self.tensors[len(self.in_specs) :], self.out_specs, strict=False):
            if spec.dtype is None:
                raise TypeError(f"kernel {self.name!r}: output {name!r} needs an element type")

    def _check_batch(self, batch: str) -> None:
        what = f"kernel {self.name!r}: batch={batch!r}"
        for name, spec in zip(self.tensors, self.specs, strict=False):
            if spec.dims.count(batch) > 1:
                raise TypeError(f"{what} is twice in {name!r}, {spec!r}; a batch is one dimension")
        for name, spec in zip(self.tensors[len(self.in_specs) :], self.out_specs, strict=False):
            if batch not in spec.dims:
                raise TypeError(
                    f"{what}: output {name!r} has no such dimension, so the outputs of two "
                    f"batches cannot be put together; name it in the Tile, or leave batch= out"
                )
        if not any(batch in spec.dims for spec in self.in_specs):
            raise TypeError(
                f"{what} is no dimension of an input; the named ones are "
                f"{', '.join(self.dims) or 'none'}"
            )

    def runtime_scalars(self, keywords: Container[str]) -> tuple[tuple[str, str], ...]:
        """Return (type, name) of the raw parameters whose values are arguments of the launch.

        Those given by keyword. The value of a dimension or a template parameter is a constant of
        what was traced for it, whoever gave it.
        """
        return tuple(param for param in self.free_params if param[1] in keywords)

    # --- arrays ---------------------------------------------------------------------------------

    def bind_inputs(self, arrays: Sequence[Array]) -> dict[str, Any]:
        """Check the inputs and return the values of the symbolic dimensions."""
        names = self.tensors[: len(self.in_specs)]
        if not self.has_specs:
            raise LaunchError(
                f"kernel {self.name!r} cannot be called: it declares no tensors; "
                f"give kernel(in_specs=..., out_specs=...)"
            )
        if len(arrays) != len(names):
            raise LaunchError(
                f"kernel {self.name!r} takes {len(names)} input{'s' * (len(names) != 1)} "
                f"({', '.join(names)}), got {len(arrays)}"
                + ("; outputs are passed as out=" if len(arrays) == len(self.tensors) else "")
            )
        env: dict[str, Any] = {}
        owners: dict[str, str] = {}
        for name, spec, array in zip(names, self.in_specs, arrays, strict=True):
            self._check_array(name, spec, array, env, owners)
        self._check_device(names, arrays)
        return env

    def bind_outputs(self, arrays: Sequence[Array], env: dict[str, Any], device: str) -> None:
        """Check arrays given as `out=` against the shapes that the inputs imply."""
        names = self.tensors[len(self.in_specs) :]
        if len(arrays) != len(names):
            raise LaunchError(
                f"kernel {self.name!r} has {len(names)} output{'s' * (len(names) != 1)} "
                f"({', '.join(names)}), out= has {len(arrays)}"
            )
        owners = dict.fromkeys(env, "the inputs")
        for name, spec, array in zip(names, self.out_specs, arrays, strict=True):
            self._check_array(name, spec, array, env, owners, is_output=True)
            if array.device != device:
                raise LaunchError(
                    f"kernel {self.name!r}: output {name!r} is on {array.device}, "
                    f"the inputs are on {device}; make it there, or drop out="
                )
        check_overlap(self.name, names, arrays)

    def _check_array(
        self,
        name: str,
        spec: Tile,
        array: Array,
        env: dict[str, Any],
        owners: dict[str, str],
        *,
        is_output: bool = False,
    ) -> None:
        kind = "output" if is_output else "argument"
        where = f"kernel {self.name!r}: {kind} {name!r}"
        if spec.dtype_name is not None and not accepts(spec.dtype_name, array.dtype):
            framework = framework_name(spec.dtype_name) or spec.dtype_name
            raise LaunchError(
                f"{where} has dtype {framework_name(array.dtype) or array.dtype} "
                f"({array.dtype}), expected {framework} ({spec.dtype_name}); "
                f"convert it, or change the Tile"
            )
        try:
            found = spec.extract_env(array.shape)
        except ValueError as error:
            raise LaunchError(f"{where}: {error}") from None
        for dim, size in found.items():
            if dim in env and env[dim] != size:
                raise LaunchError(
                    f"{where} has shape {array.shape}, so {dim} = {size}, "
                    f"but {owners[dim]} gave {dim} = {env[dim]}"
                )
            env.setdefault(dim, size)
            owners.setdefault(dim, f"{kind} {name!r}")
        check_strides(where, spec.layout is Layout.COL, array, is_output=is_output)

    def _check_device(self, names: Sequence[str], arrays: Sequence[Array]) -> None:
        for name, array in zip(names[1:], arrays[1:], strict=True):
            if array.device != arrays[0].device:
                raise LaunchError(
                    f"kernel {self.name!r}: argument {name!r} is on {array.device}, but argument "
                    f"{names[0]!r} is on {arrays[0].device}; move one of them"
                )

    # --- keywords -------------------------------------------------------------------------------

    def bind_keywords(
        self, keywords: Mapping[str, Any], env: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Template values and raw parameter values; adds dimensions given by keyword to `env`."""
        defaults = self.template_params
        raw_names = [name for _, name in self.raw_params]
        known = [*defaults, *self.dims, *raw_names]
        given = dict(keywords)
        for name, value in keywords.items():
            if name not in known:
                raise TypeError(self._unknown_keyword(name, known))
            if name in self.dims:
                given[name] = self._dimension(name, value, env)
        template = {}
        for name, default in defaults.items():
            template[name] = given.get(name, env.get(name, default))
            if template[name] is inspect.Parameter.empty:
                raise TypeError(f"kernel {self.name!r} needs the template parameter {name!r}")
        values = {**template, **env, **given}
        return template, {name: values[name] for name in raw_names if name in values}

    def _dimension(self, name: str, value: Any, env: dict[str, Any]) -> int:
        """Return a dimension given by keyword as a Python int, and add it to `env`."""
        size = whole_number(value)
        if size is None or size < 0:
            raise LaunchError(
                f"kernel {self.name!r}: {name}={value!r} was given, but {name} is a dimension: "
                f"expected a number of elements"
            )
        if env.setdefault(name, size) != size:
            raise LaunchError(
                f"kernel {self.name!r}: {name}={value!r} was given, "
                f"but the arguments' shapes say {name} = {env[name]}; drop {name}="
            )
        return size

    def with_plain_numbers(self, keywords: Mapping[str, Any]) -> dict[str, Any]:
        """Return the keywords with dimensions and raw parameters as Python's own numbers."""
        sizes = {name: whole_number(keywords[name]) for name in self.dims if name in keywords}
        plain = {name: size for name, size in sizes.items() if size is not None}
        for _, name in self.runtime_scalars(keywords):
            if getattr(keywords[name], "shape", None) == ():  # of NumPy, or a tensor
                plain[name] = keywords[name].item()
        return {**keywords, **plain}

    def refuse_arrays_by_keyword(self, keywords: Mapping[str, Any]) -> None:
        """Refuse a call that passes a tensor by its name."""
        for index, name in enumerate(self.tensors):
            if name in keywords:
                place = (
                    f"input {index}, by position" if index < len(self.in_specs) else "part of out="
                )
                raise TypeError(
                    f"kernel {self.name!r}: {name!r} was given by keyword, expected it as {place}"
                )

    def _unknown_keyword(self, name: str, known: Sequence[str]) -> str:
        import difflib  # only for those who mistyped

        close = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        listed = ", ".join(dict.fromkeys(known)) or "none"
        return f"kernel {self.name!r} got an unknown keyword {name!r}{hint} (known: {listed})"


def check_overlap(kernel: str, names: Sequence[str], outputs: Sequence[Array]) -> None:
    """Refuse outputs that share memory."""
    spans = sorted(
        (array.pointer, array.nbytes, name)
        for name, array in zip(names, outputs, strict=False)
        if array.nbytes
    )
    for (start, nbytes, first), (next_start, _, second) in itertools.pairwise(spans):
        if next_start < start + nbytes:
            raise LaunchError(
                f"kernel {kernel!r}: outputs {first!r} and {second!r} share memory; "
                f"give each its own tensor"
            )


def check_strides(where: str, is_column: bool, array: Array, *, is_output: bool = False) -> None:
    """Refuse what is not dense in the order that the kernel reads."""
    if array.strides is None or 0 in array.shape:
        return
    order = range(len(array.shape)) if is_column else reversed(range(len(array.shape)))
    expected = 1
    for axis in order:
        if array.shape[axis] != 1 and array.strides[axis] != expected:
            fix = (
                "x.mT.contiguous().mT gives such a tensor"
                if is_column
                else "pass such a one, or drop out="
                if is_output
                else "call .contiguous() on it (NumPy: np.ascontiguousarray)"
            )
            kind = "column-major (Layout.COL)" if is_column else "contiguous"
            raise LaunchError(
                f"{where} has strides {array.strides} for shape {array.shape}, "
                f"expected a {kind} tensor; {fix}"
            )
        expected *= array.shape[axis]


def normalize_dim3(what: str, value: Any) -> tuple[int, int, int]:
    """One to three sizes as three; refuses anything else."""
    sizes = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    try:
        x, y, z = (*(operator.index(size) for size in sizes), 1, 1)[: max(3, len(sizes))]
    except (TypeError, ValueError):
        hint = "; divide with //" if any(isinstance(size, float) for size in sizes) else ""
        raise TypeError(f"{what} is one to three integers, not {value!r}{hint}") from None
    if not sizes:
        raise TypeError(f"{what} is one to three integers, not {value!r}")
    if min(x, y, z) < 0:
        raise ValueError(f"{what} {value!r} has a negative size")
    if max(x, y, z) > _MOST:
        raise ValueError(f"{what} {value!r} has a size above {_MOST}, the most there can be")
    return x, y, z


def normalize_version(what: str, value: Any) -> tuple[int, int] | None:
    """Return a PTX version as two numbers; None asks for the lowest that will do."""
    if value is None:
        return None
    if (
        not isinstance(value, (tuple, list))
        or len(value) != 2
        or not all(hasattr(part, "__index__") for part in value)
    ):
        raise TypeError(f"{what} version is a pair of integers such as (8, 7), not {value!r}")
    return int(value[0]), int(value[1])


def grid_asks_for(grid: Any, name: str) -> bool:
    """Whether a grid is worked out from the value of that name."""
    if not callable(grid):
        return False
    parameters = inspect.signature(grid).parameters
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def grid_of_scalars(
    grid: Any, values: Mapping[str, Any], names: Sequence[str]
) -> Callable[..., Any] | None:
    """Return the grid as a function of these scalars alone; None where it asks for none of them."""
    if not any(grid_asks_for(grid, name) for name in names):
        return None
    parameters = inspect.signature(grid).parameters.values()
    if any(p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) for p in parameters):
        return lambda *scalars: resolve_grid(
            "", grid, {**values, **dict(zip(names, scalars, strict=True))}
        )
    # Asked before every launch, so what the signature says is worked out here.
    asked = [p.name for p in parameters if p.name in values]
    fixed = {name: values[name] for name in asked if name not in names}
    places = [(name, names.index(name)) for name in asked if name in names]

    def resolve(*scalars: Any) -> Any:
        found = grid(**fixed, **{name: scalars[place] for name, place in places})
        return found if type(found) is tuple else normalize_dim3("the grid", found)

    return resolve


def resolve_grid(name: str, grid: Any, values: Mapping[str, Any]) -> tuple[int, int, int]:
    """Return the grid: a tuple as it is, a callable with what its signature names of `values`."""
    what = f"kernel {name!r}: grid"
    if grid is None:
        return (1, 1, 1)
    if not callable(grid):
        return normalize_dim3(what, grid)
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for p in inspect.signature(grid).parameters.values():
        if p.kind is p.VAR_KEYWORD:
            keywords.update({k: v for k, v in values.items() if k not in keywords})
        elif p.kind is p.VAR_POSITIONAL:
            continue
        elif p.name in values:
            if p.kind is p.POSITIONAL_ONLY:
                positional.append(values[p.name])
            else:
                keywords[p.name] = values[p.name]
        elif p.default is p.empty:
            listed = ", ".join(values) or "none"
            raise LaunchError(
                f"{what} asks for {p.name!r}, which this call has not (it has {listed})"
            )
    try:
        found = grid(*positional, **keywords)
    except Exception as error:
        listed = ", ".join(f"{k}={v!r}" for k, v in values.items())
        error.add_note(f"in the grid of kernel {name!r}, asked with {listed}; nothing was launched")
        raise
    return normalize_dim3(what, found)
