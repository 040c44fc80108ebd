# SPDX-License-Identifier: Apache-2.0
"""The cases of a check: every combination of sizes, element types, inputs and seeds.

Nothing is run here. What does not fit the kernel is refused before the first case is.
"""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from pyptx._call.element_types import ptx_name
from pyptx._call.refusals import refuse
from pyptx._call.signature import whole_number
from pyptx._testing import values
from pyptx.kernel import Kernel
from pyptx.types import from_name

DTYPE = "dtype"  # what a builder's element type is called, and that of a Tile without one


@dataclass(frozen=True)
class Case:
    """One kernel with the names that its sizes and types have, and how its inputs are made."""

    kernel: Kernel
    sizes: Mapping[str, Any]
    types: Mapping[str, Any]
    inputs: Any
    seed: int

    @property
    def inouts(self) -> int:
        """How many of the tensors that a call takes are written, too: the last ones."""
        return len(self.kernel.inout_specs)

    @property
    def read_only(self) -> int:
        """How many tensors are not written: the first ones."""
        return read_only(self.kernel)

    @property
    def keywords(self) -> dict[str, Any]:
        """Return what a call is given by keyword: what the shapes of the inputs do not say."""
        bound = {dim for tile in self.kernel.in_specs for dim in tile.symbolic_dims}
        asked = {*self.kernel.template_params, *self.kernel.signature.dynamic}
        asked |= {name for tile in self.kernel.out_specs for name in tile.symbolic_dims}
        asked |= {name for _, name in self.kernel.signature.raw_params}
        return {name: size for name, size in self.sizes.items() if name in asked - bound}

    def named(self) -> dict[str, Any]:
        """Return what functions of the author's are given, where they name it."""
        return {**self.sizes, **self.types}

    def arrays(self) -> list[Any]:
        """Return the inputs, the same for the same seed."""
        if _is_arrays(self.inputs):
            return [np.asarray(array) for array in self.inputs]
        random = np.random.default_rng([self.seed, *(_stable(v) for v in self.sizes.values())])
        named = {**self.named(), "rng": random}
        shapes, dtypes = self._shapes(), self._dtypes()
        if callable(self.inputs):
            given = asked(self.inputs, (), named)
            given = given if isinstance(given, (tuple, list)) else (given,)
            if len(given) != len(shapes):
                made = f"{shown(self.inputs)} makes {len(given)} inputs"
                cannot(self.kernel, f"{made}, and it takes {len(shapes)}")
            each = zip(given, dtypes, shapes, strict=True)
            return [values.cast(array, dtype, shape) for array, dtype, shape in each]
        makers = self.inputs if isinstance(self.inputs, Mapping) else {}
        default = self.inputs if isinstance(self.inputs, str) else values.PLAIN
        found = []
        for name, dtype, shape in zip(self.kernel.signature.tensors, dtypes, shapes, strict=False):
            maker = makers.get(name, default)
            if isinstance(maker, str):
                found.append(values.named(maker, random, shape, dtype))
            else:
                own = {**named, "shape": shape}
                value = asked(maker, (), own) if callable(maker) else maker
                found.append(values.cast(value, dtype, shape))
        return found

    def _shapes(self) -> list[tuple[int, ...]]:
        tiles = self.kernel.in_specs
        for dim in (dim for tile in tiles for dim in tile.symbolic_dims):
            if dim not in self.sizes:
                cannot(self.kernel, f"shapes= gives no size for {dim!r}")
        return [tile.resolve_shape(self.sizes) for tile in tiles]

    def _dtypes(self) -> list[Any]:
        found = []
        for tile in self.kernel.in_specs:
            name = tile.type_name or (DTYPE if tile.dtype is None else None)
            if name is not None and name not in self.types:
                cannot(self.kernel, f"dtypes= gives no type for {name!r}")
            kind = self.types[name] if name is not None else tile.dtype
            found.append(values.numpy_type(ptx_name(kind)))
        return found

    def __str__(self) -> str:
        """Return the case in words."""
        sizes = [f"{name}={value}" for name, value in self.sizes.items()]
        types = [f"{name}={ptx_name(kind)}" for name, kind in self.types.items()]
        return ", ".join([*sizes, *types, f"inputs {shown(self.inputs)}", f"seed {self.seed}"])


def read_only(kernel: Kernel) -> int:
    """Return how many tensors a kernel does not write: the first ones."""
    return len(kernel.in_specs) - len(kernel.inout_specs)


def asked(function: Callable[..., Any], given: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """Call a function with arguments, and with what its signature names behind them."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:  # a ufunc, say
        return function(*given)
    rest = [p for p in parameters[len(given) :] if p.name in named]
    rest += [p for p in parameters[: len(given)] if p.kind is p.KEYWORD_ONLY and p.name in named]
    kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return function(*given, **{p.name: named[p.name] for p in rest if p.kind in kinds})


def cases(
    kernel: Any, inputs: Any, dtypes: Any, shapes: Any, seeds: Sequence[int]
) -> Iterator[Case]:
    """Yield the cases, or refuse them. A function is a builder: it is asked for each kernel."""
    built: dict[Any, Kernel] = {}
    for sizes in _sizes(kernel, shapes):
        for types in _types(kernel, dtypes):
            key = (*map(str, sizes.items()), *(ptx_name(kind) for kind in types.values()))
            if key not in built:
                built[key] = _kernel(kernel, {**sizes, **types})
            for kind, seed in itertools.product(_inputs(built[key], inputs), seeds):
                yield Case(built[key], sizes, types, kind, seed)


def _kernel(given: Any, named: Mapping[str, Any]) -> Kernel:
    found = given if isinstance(given, Kernel) else asked(given, (), named)
    if not isinstance(found, Kernel):
        what = f"{shown(given)} returns a {type(found).__name__}"
        refuse("OptionType", "kernel", "a Kernel, or a function that returns one", what)
    if not found.out_specs and not found.inout_specs:
        cannot(found, "it declares nothing that it writes (out_specs, inout_specs)")
    return found


def _sizes(kernel: Any, shapes: Any) -> Iterator[dict[str, Any]]:
    for one in [shapes or {}] if isinstance(shapes or {}, Mapping) else shapes:
        if not isinstance(one, Mapping):
            words = 'sizes by name, as in {"N": [1, 127, 300]}, or several such'
            refuse("OptionType", "shapes", words, repr(shapes))
        lists = [v if isinstance(v, (list, tuple, range)) else [v] for v in one.values()]
        for chosen in itertools.product(*lists):
            yield dict(zip(one, chosen, strict=True))


def _types(kernel: Any, dtypes: Any) -> Iterator[dict[str, Any]]:
    if dtypes is None:
        yield {}
        return
    if not isinstance(dtypes, Mapping):
        dtypes = {_type_name(kernel): dtypes}
    lists = [v if isinstance(v, (list, tuple)) else [v] for v in dtypes.values()]
    for chosen in itertools.product(*lists):
        yield {name: from_name(ptx_name(kind)) for name, kind in zip(dtypes, chosen, strict=True)}


def _type_name(kernel: Any) -> str:
    """Return the one name whose type the caller gives."""
    if not isinstance(kernel, Kernel):
        return DTYPE
    tiles = (*kernel.in_specs, *kernel.out_specs)
    names = {tile.type_name or DTYPE for tile in tiles if tile.type_name or tile.dtype is None}
    if len(names) == 1:
        return names.pop()
    have = f"the types of its tiles have the names {', '.join(sorted(names))}"
    have = have if names else "its tiles declare all of their types"
    return cannot(kernel, f"dtypes= is one list, and {have}")


def _inputs(kernel: Kernel, inputs: Any) -> list[Any]:
    several = [inputs] if not isinstance(inputs, (list, tuple)) or _is_arrays(inputs) else inputs
    names = kernel.signature.tensors[: len(kernel.in_specs)]
    for one in several:
        words = [one] if isinstance(one, str) else []
        if isinstance(one, Mapping):
            words = [value for value in one.values() if isinstance(value, str)]
            for name in one.keys() - set(names):
                cannot(kernel, f"inputs= has a {name!r}; its inputs are {', '.join(names)}")
        elif not (isinstance(one, str) or callable(one) or _is_arrays(one)):
            refuse("OptionType", "inputs", "names, functions, mappings or arrays", repr(one))
        for word in words:
            if word not in values.NAMES:
                refuse(
                    "OptionValue", "inputs", f"one of {', '.join(values.NAMES)}", f"not {word!r}"
                )
    return list(several)


def _is_arrays(inputs: Any) -> bool:
    return (
        isinstance(inputs, (list, tuple))
        and bool(inputs)
        and all(hasattr(array, "shape") and hasattr(array, "dtype") for array in inputs)
    )


def _stable(value: Any) -> int:
    return abs(number) if (number := whole_number(value)) is not None else 0


def cannot(kernel: Kernel, why: str) -> NoReturn:
    """Refuse cases that do not fit a kernel."""
    refuse("CheckCases", kernel.signature.name, why)


def shown(value: Any) -> str:
    """Return what the author gave, as he would write it in a line."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {shown(one)}' for key, one in value.items())}}}"
    if _is_arrays(value):
        return f"({', '.join(shown(array) for array in value)})"
    if hasattr(value, "shape") and math.prod(value.shape) > 4:
        return f"<{value.dtype} {tuple(value.shape)}>"
    name = getattr(value, "__name__", None)
    return repr(value) if name is None or not callable(value) else str(name)
