# SPDX-License-Identifier: Apache-2.0
"""Binding a call to a kernel's declaration: which array is which argument, and is it fit.

Works on descriptions of arrays (`Array`), the same for every framework. Every refusal names the
argument, what was expected, what came, and where possible how to mend it; none touches data.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyptx import _core
from pyptx._call.element_types import element_bits, ptx_name
from pyptx._call.names import entry_name
from pyptx._call.refusals import refuse
from pyptx._call.scalars import is_traced_by_jax
from pyptx._call.strides import LaunchStrides
from pyptx.specs import Tile
from pyptx.types import from_name

SIZE = "u32"  # of the parameter of a size or stride that is one of the launch
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
        refuse("DeclarationType", "a kernel", f"is made of a function with a name, not of {fn!r}")
    for is_one, what, fix in (
        (inspect.iscoroutinefunction, "an async function", "write def without async"),
        (inspect.isasyncgenfunction, "an async generator", "write def without async and yield"),
        (inspect.isgeneratorfunction, "a generator", "take out yield"),
    ):
        if is_one(fn):
            refuse(
                "DeclarationType",
                f"kernel {fn.__name__!r}",
                f"is {what}, so a call would not run its body; {fix}",
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
        dynamic: Sequence[str] = (),
        multiple_of: Mapping[str, int] | None = None,
        inout_specs: Sequence[Tile] | None = None,
        out_init: str = "",
    ) -> None:
        self.name = entry_name(fn.__name__)
        self.fn = fn
        parameters = inspect.signature(fn).parameters.values()
        positional = (
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        )
        bad = [p.name for p in parameters if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        if bad:
            refuse(
                "DeclarationType",
                f"kernel {self.name!r}: *{bad[0]}",
                "is neither a tensor nor a template parameter; "
                "name each tensor, and put template parameters after '*'",
            )
        self.tensors = tuple(p.name for p in parameters if p.kind in positional)
        self.has_specs = any(x is not None for x in (in_specs, inout_specs, out_specs))
        #: Of tensors that are read and written, which stand behind the inputs.
        self.inout_specs = tuple(inout_specs or ())
        self.out_init = out_init
        #: Of all that a call takes by position.
        self.in_specs = (*tuple(in_specs or ()), *self.inout_specs)
        self.out_specs = tuple(out_specs or ())
        self.raw_params = tuple((str(kind), str(name)) for kind, name in raw_params or ())
        self._check_declaration()
        self.dims = tuple(dict.fromkeys(dim for spec in self.specs for dim in spec.symbolic_dims))
        #: Names whose element types each call gives.
        self.type_names = tuple(
            dict.fromkeys(spec.type_name for spec in self.specs if spec.type_name is not None)
        )
        #: Dimensions whose sizes are parameters of the launch, and in no trace.
        self.dynamic = self._checked_dynamic(dynamic)
        self.multiple_of = self._checked_multiples(multiple_of or {})
        taken = dict.fromkeys(self.dims, "dimension") | dict.fromkeys(self.tensors, "tensor")
        taken |= dict.fromkeys(self.template_params, "template parameter")
        #: Strides that are parameters of the launch.
        self.strides = LaunchStrides(self.name, self.tensors, self.specs, taken)
        passed = [name for _, name in self.raw_params]
        brought = (*self.dynamic, *self.strides.every)
        self.raw_params += tuple((SIZE, name) for name in brought if name not in passed)
        fixed = (*self.dims, *self.template_params, *self.strides.every)
        #: Raw parameters that are neither a dimension nor a template parameter.
        self.free_params = tuple(p for p in self.raw_params if p[1] not in fixed)
        self.batch = batch
        #: The same in C++, where a call is checked against it and what it launches is composed.
        self.declared = _core.Signature(
            self.name,
            self.tensors,
            self.in_specs,
            self.out_specs,
            self.raw_params,
            batch,
            list(self.multiple_of.items()),
            len(self.inout_specs),
            out_init,
        )

    @property
    def writes_inputs(self) -> bool:
        """Whether a call writes arrays that it takes by position."""
        return bool(self.inout_specs) or not self.out_specs

    @property
    def inout_names(self) -> tuple[str, ...]:
        """Names of the tensors that are read and written."""
        end = len(self.in_specs)
        return self.tensors[end - len(self.inout_specs) : end]

    @property
    def read_only(self) -> int:
        """How many of the tensors, from the first on, the kernel may not write.

        One without outputs and in-out tensors writes its inputs.
        """
        count = len(self.in_specs) - len(self.inout_specs)
        return count if self.inout_specs or self.out_specs else 0

    @property
    def has_partial_outputs(self) -> bool:
        """Whether an output is a sum over the batch, so that batches cannot be put together."""
        return any(spec.partial is not None for spec in self.out_specs)

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
                refuse(
                    "DeclarationType",
                    f"kernel {self.name!r}:",
                    f"specs are Tile objects in a tuple, not {spec!r}",
                )
        if self.has_specs and len(self.specs) != len(self.tensors):
            refuse(
                "DeclarationType",
                f"kernel {self.name!r}",
                f"has {len(self.tensors)} tensor parameters ({', '.join(self.tensors)}) "
                f"but {self._counted_specs()}; "
                f"give one Tile per parameter",
            )

    def _counted_specs(self) -> str:
        inouts, outs = len(self.inout_specs), len(self.out_specs)
        between = f", {inouts} inout_specs" if inouts else ""
        return f"{len(self.in_specs) - inouts} in_specs{between} and {outs} out_specs"

    def _checked_dynamic(self, names: Sequence[str]) -> tuple[str, ...]:
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            what = f"kernel {self.name!r}: dynamic"
            refuse("OptionType", what, "names of dimensions, as in ('M',)", repr(names))
        for name in names:
            what = f"kernel {self.name!r}: dynamic={name!r}"
            if name not in self.dims:
                listed = ", ".join(self.dims) or "none"
                refuse("DeclarationValue", what, f"is no named dimension; there are: {listed}")
            if name in self.template_params:
                why = "is a template parameter too, whose value is part of the trace; take it out"
                refuse("DeclarationValue", what, f"{why} of the body's keywords: X.shape has it")
            if name in self.tensors:
                refuse("DeclarationValue", what, "is a tensor's name too; rename one of them")
        return tuple(dict.fromkeys(names))

    def _checked_multiples(self, given: Mapping[str, int]) -> dict[str, int]:
        numbers = {name: whole_number(number) for name, number in dict(given).items()}
        for name, number in numbers.items():
            if number is None:
                what = f"kernel {self.name!r}: multiple_of[{name!r}]"
                refuse("OptionType", what, "a whole number", repr(given[name]))
        return {name: number for name, number in numbers.items() if number is not None}

    def traced_shape(self, index: int, shape: Sequence[int | str]) -> tuple[int | str, ...]:
        """Return a tensor's shape with names for the sizes that a launch brings."""
        dims = self.specs[index].dims
        return tuple(
            dim if dim in self.dynamic else size for dim, size in zip(dims, shape, strict=True)
        )

    def divisors(self, shape: tuple[int | str, ...]) -> tuple[int, ...]:
        """Return what sizes are known to be multiples of: themselves, or what is promised."""
        return tuple(self.multiple_of.get(x, 1) if isinstance(x, str) else x for x in shape)

    def runtime_scalars(self, keywords: Container[str]) -> tuple[tuple[str, str], ...]:
        """Return (type, name) of the raw parameters whose values are arguments of the launch.

        Those given by keyword. The value of a dimension or a template parameter is a constant of
        what was traced for it, whoever gave it.
        """
        return tuple(param for param in self.free_params if param[1] in keywords)

    # --- arrays ---------------------------------------------------------------------------------

    def bind_inputs(self, arrays: Sequence[Array]) -> dict[str, Any]:
        """Check the inputs and return the values of symbolic dimensions and types."""
        if not self.has_specs:
            refuse(
                "NoTensors",
                f"kernel {self.name!r}",
                "cannot be called: it declares no tensors",
                "give kernel(in_specs=..., out_specs=...)",
            )
        return self.declared.bind_inputs(arrays)

    def bind_outputs(self, arrays: Sequence[Array], env: dict[str, Any], device: str) -> None:
        """Check arrays given as `out=` against the shapes that the inputs imply."""
        self.declared.bind_outputs(arrays, env, device)

    def outputs(self, values: Mapping[str, Any]) -> list[tuple[str, tuple[int, ...]]]:
        """Return (element type, shape) of each output, from the values of dimensions and types."""
        known = dict(values)
        types = self.declared.output_types(known)
        return list(zip(types, self.declared.output_shapes(known), strict=True))

    # --- keywords -------------------------------------------------------------------------------

    def bind_keywords(
        self, keywords: Mapping[str, Any], env: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Template values and raw parameter values; adds sizes and types by keyword to `env`."""
        defaults = self.template_params
        raw_names = [name for _, name in self.raw_params if name not in self.strides.every]
        known = [*defaults, *self.dims, *self.type_names, *raw_names]
        given = dict(keywords)
        for name, value in keywords.items():
            if name not in known:
                refuse("KeywordName", f"kernel {self.name!r}", _unknown_keyword(name, known))
            if name in self.dims:
                given[name] = self._dimension(name, value, env)
            elif name in self.type_names:
                given[name] = self._element_type(name, value, env)
        template = {}
        for name, default in defaults.items():
            template[name] = given.get(name, env.get(name, default))
            if template[name] is inspect.Parameter.empty:
                refuse(
                    "KeywordName", f"kernel {self.name!r}", f"needs the template parameter {name!r}"
                )
            if is_traced_by_jax(template[name]):
                refuse(
                    "ArgumentKind",
                    f"kernel {self.name!r}: template parameter {name!r}",
                    "is traced by JAX, so that its value is not known while the kernel is traced; "
                    "make it static in jax.jit, or declare an input Tile(f32), of rank 0",
                )
        values = {**template, **env, **given}
        return template, {name: values[name] for name in raw_names if name in values}

    def _dimension(self, name: str, value: Any, env: dict[str, Any]) -> int:
        """Return a dimension given by keyword as a Python int, and add it to `env`."""
        size = whole_number(value)
        if size is None or size < 0:
            refuse(
                "KeywordValue",
                f"kernel {self.name!r}",
                f"{name}={value!r}",
                f"{name} is a dimension: expected a number of elements",
            )
        if size % self.multiple_of.get(name, 1):
            of = self.multiple_of[name]
            refuse(
                "KeywordValue",
                f"kernel {self.name!r}",
                f"{name}={value!r}",
                f"multiple_of says that {name} is a multiple of {of}",
            )
        if env.setdefault(name, size) != size:
            refuse(
                "KeywordValue",
                f"kernel {self.name!r}",
                f"{name}={value!r}",
                f"the arguments' shapes say {name} = {env[name]}; drop {name}=",
            )
        return size

    def _element_type(self, name: str, value: Any, env: dict[str, Any]) -> Any:
        """Return the element type given by keyword as one of pyptx.types, and add it to `env`."""
        found = ptx_name(value)
        if element_bits(found) == 0:
            refuse(
                "KeywordValue",
                f"kernel {self.name!r}",
                f"{name}={value!r}",
                f"{name} is an element type: expected one of pyptx.types, as bf16, or a dtype",
            )
        kind = from_name(found)
        if env.setdefault(name, kind) is not kind:
            refuse(
                "KeywordValue",
                f"kernel {self.name!r}",
                f"{name}={value!r}",
                f"the arguments' types say {name} = {env[name]}; drop {name}=",
            )
        return kind

    def with_plain_numbers(self, keywords: Mapping[str, Any]) -> dict[str, Any]:
        """Return the keywords with Python's own numbers, and types by their names."""
        sizes = {name: whole_number(keywords[name]) for name in self.dims if name in keywords}
        plain: dict[str, Any] = {name: size for name, size in sizes.items() if size is not None}
        plain |= {name: ptx_name(keywords[name]) for name in self.type_names if name in keywords}
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
                refuse(
                    "KeywordName",
                    f"kernel {self.name!r}:",
                    f"{name!r} was given by keyword, expected it as {place}",
                )


def _unknown_keyword(name: str, known: Sequence[str]) -> str:
    import difflib  # only for those who mistyped

    close = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    listed = ", ".join(dict.fromkeys(known)) or "none"
    return f"got an unknown keyword {name!r}{hint} (known: {listed})"


def dim3_parts(what: str, value: Any) -> tuple[Any, Any, Any]:
    """Return one to three parts as three; refuses other numbers of them."""
    parts = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not 1 <= len(parts) <= 3:
        refuse("DimensionsType", what, repr(value))
    x, y, z = (*parts, 1, 1)[:3]
    return x, y, z


def normalize_dim3(what: str, value: Any) -> tuple[int, int, int]:
    """One to three sizes as three; refuses anything else."""
    parts = dim3_parts(what, value)
    try:
        x, y, z = (operator.index(size) for size in parts)
    except TypeError:
        hint = "; divide with //" if any(isinstance(size, float) for size in parts) else ""
        refuse("DimensionsType", what, f"{value!r}{hint}")
    if min(x, y, z) < 0:
        refuse("DimensionsValue", what, repr(value), "negative size")
    if max(x, y, z) > _MOST:
        refuse("DimensionsValue", what, repr(value), f"size above {_MOST}, the most there can be")
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
        pair = "a pair of integers such as (8, 7)"
        refuse("OptionType", f"{what} version", pair, repr(value))
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
    """Return the grid, as three numbers."""
    return normalize_dim3(f"kernel {name!r}: grid", asked_grid(name, grid, values))


def asked_grid(name: str, grid: Any, values: Mapping[str, Any]) -> Any:
    """Return the grid as it was written: a callable is given what its signature names of these."""
    what = f"kernel {name!r}: grid"
    if grid is None:
        return (1, 1, 1)
    if not callable(grid):
        return grid
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
            refuse(
                "KeywordName",
                what,
                f"asks for {p.name!r}, which this call has not (it has {listed})",
            )
    try:
        return grid(*positional, **keywords)
    except Exception as error:
        listed = ", ".join(f"{k}={v!r}" for k, v in values.items())
        error.add_note(f"in the grid of kernel {name!r}, asked with {listed}; nothing was launched")
        raise
