# SPDX-License-Identifier: Apache-2.0
"""Functions of several launches, divided as one kernel is: `_call.divides`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from pyptx._call.divides import Divides
from pyptx._call.element_types import framework_name
from pyptx._jax import batching
from pyptx._jax.call_site import align
from pyptx._jax.primitive import Aliases
from pyptx._kept import Kept
from pyptx.specs import Tile


@dataclass(frozen=True, slots=True, eq=False)
class Several:
    """A function as a program calls it, whatever the shapes, in the place of a kernel's `Site`."""

    declared: Divides
    function: Callable[..., Any]
    aliases: Aliases = ()

    @property
    def name(self) -> str:
        """What errors call it."""
        return self.declared.name

    @property
    def batch(self) -> str | None:
        """The dimension along which it is divided."""
        return self.declared.batch

    @property
    def argument_specs(self) -> tuple[Tile, ...]:
        """Specs of the arguments."""
        return self.declared.in_specs

    @property
    def out_specs(self) -> tuple[Tile, ...]:
        """Specs of the results."""
        return self.declared.out_specs

    @property
    def functions(self) -> Kept[Any, Any]:
        """The jitted functions that call it."""
        return self.declared.functions

    def key(self) -> Any:
        """Return what tells its jitted functions apart: there is one."""
        return ()

    def general(self) -> Several:
        """Return the call for any size of the batch."""
        return self

    def check(self, args: Sequence[Any]) -> None:
        """Leave the arguments to the kernels, which check their own."""

    def content(self, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[str]) -> str:
        """Return what the program has of it for arguments of these shapes."""
        args = [
            jax.ShapeDtypeStruct(shape, str(framework_name(dtype)))
            for shape, dtype in zip(shapes, dtypes, strict=True)
        ]
        text = jax.jit(self.launch).lower(args).as_text()
        return hashlib.sha256(text.encode()).hexdigest()

    def launch(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """Put its calls into the program; a tuple of results."""
        results = self.function(*args)
        return results if isinstance(results, tuple) else (results,)


def divided(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, called on parts of the batch where it says that it may be."""
    declared = getattr(function, "divides", None)
    if not isinstance(declared, Divides):
        return function

    def call(*args: Any, **keywords: Any) -> Any:
        if keywords:
            return function(*args, **keywords)
        return batching.run(Several(declared, function), align(args))

    return call
