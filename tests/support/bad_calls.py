# SPDX-License-Identifier: Apache-2.0
"""Calls that must be refused, what they are made of: kernels, tensors, and the form of a case.

The cases are in bad_calls_arguments.py and bad_calls_launches.py; test_bad_calls.py makes them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyptx import Layout, Tile, kernel, ptx
from pyptx._errors import LaunchError
from pyptx.types import f32
from support import sample_kernels
from support.packages import need

torch = need("torch")

ones = torch.ones


# --- kernels ------------------------------------------------------------------------------------


def declared(body: Any = None, takes: Any = None, gives: Any = None, **options: Any) -> Any:
    """Return a kernel Y = f(X), by default of N elements each, that is only declared, never run."""

    def k(X, Y):
        if body is not None:
            body(X, Y)
        ptx.ret()

    takes, gives = takes or Tile("N", f32), gives or Tile("N", f32)
    return kernel(in_specs=(takes,), out_specs=(gives,), **options)(k)


def copied(**options: Any) -> Any:
    """Return a kernel of a matrix that a tensor map describes."""
    takes = Tile("M", "N", options.pop("dtype", f32), options.pop("layout", Layout.ROW), **options)
    return declared(lambda X, Y: X.tma_desc(), takes=takes, gives=Tile(4, f32))


def two_outputs() -> Any:
    tile = Tile("N", f32)

    @kernel(in_specs=(tile,), out_specs=(tile, tile))
    def two(X, Y, Z):
        ptx.ret()

    return two


def with_raw(kind: str) -> Any:
    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), raw_params=[(kind, "alpha")])
    def scaled(X, Y):
        ptx.ret()

    return scaled


def with_template() -> Any:
    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),))
    def tiled(X, Y, *, BM):
        ptx.ret()

    return tiled


# --- tensors ------------------------------------------------------------------------------------


def freed() -> Any:
    tensor = ones(8)
    tensor.untyped_storage().resize_(0)
    return tensor


def shrunk() -> Any:
    tensor = ones(8)
    tensor.untyped_storage().resize_(16)
    return tensor


def quantized() -> Any:
    return torch.quantize_per_tensor(ones(8), 0.1, 0, torch.qint8)


def nested() -> Any:
    return torch.nested.nested_tensor([ones(3), ones(5)], layout=torch.jagged)


def raises(N: int) -> Any:
    raise KeyError("the author's own")


# --- the table ----------------------------------------------------------------------------------


@dataclass
class Bad:
    """One bad call: `make` gives the arguments, the last one a dict where there are keywords."""

    name: str
    make: Callable[[], tuple[Any, ...]]
    message: str
    error: type[Exception] = LaunchError
    build: Callable[[], Any] = sample_kernels.build_vector_add
    good: Callable[[], tuple[Any, ...]] | None = lambda: (ones(8), ones(8))
    compiles: bool = False
    """Whether it is made in a compiled graph too."""

    def call(self, k: Any) -> Any:
        *args, last = self.make()
        keywords = last if isinstance(last, dict) else {}
        return k(*args, **keywords) if keywords else k(*args, last)


def out(value: Any) -> tuple[Any, ...]:
    return ones(8), ones(8), {"out": value}


def one() -> tuple[Any, ...]:
    return (ones(8),)


def grid(name: str, rule: Any, message: str, error: type[Exception] = LaunchError) -> Bad:
    """A grid that no call gets past."""
    return Bad(f"grid {name}", one, message, error, lambda: declared(grid=rule), good=None)


def unlaunchable(name: str, message: str, error: type[Exception] = LaunchError, **how: Any) -> Bad:
    return Bad(name, one, message, error, lambda: declared(**how), good=None)


def map_case(name: str, make: Any, message: str, good: Any = None, **options: Any) -> Bad:
    return Bad(f"map {name}", make, message, LaunchError, lambda: copied(**options), good)
