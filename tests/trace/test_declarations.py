# SPDX-License-Identifier: Apache-2.0
"""Declarations that cannot be meant are refused where they stand, in words about them."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np
import pytest

from pyptx import LaunchError, Tile, differentiable_kernel, kernel, ptx, reg, types
from pyptx._call.element_types import element_bits
from pyptx.kernel import Kernel
from pyptx.types import f32
from support.packages import need

N = Tile("N", f32)


def declare(function: Any, **options: Any) -> Any:
    return kernel(in_specs=(N,), out_specs=(N,), **options)(function)


def body(X, Y):
    ptx.ret()


# --- bodies -------------------------------------------------------------------------------------


def test_a_body_that_a_call_would_not_run_is_refused() -> None:
    def generator(X, Y):
        yield

    async def coroutine(X, Y): ...

    async def both(X, Y):
        yield

    expected = "so a call would not run its body"
    with pytest.raises(TypeError, match=f"'generator' is a generator, {expected}; take out yield"):
        declare(generator)
    with pytest.raises(TypeError, match=f"'coroutine' is an async function, {expected}"):
        declare(coroutine)
    with pytest.raises(TypeError, match=f"'both' is an async generator, {expected}"):
        kernel(both)


@pytest.mark.parametrize("value", [3, "body", functools.partial(lambda X, Y: None), object()])
def test_a_kernel_is_made_of_a_function(value: Any) -> None:
    with pytest.raises(TypeError, match="a kernel is made of a function with a name, not of"):
        declare(value)


# --- names --------------------------------------------------------------------------------------


WAYS = (Kernel.emulate, Kernel.bind, Kernel.launch, Kernel.save)
OWN = [
    (way.__name__, name)
    for way in WAYS
    for name, p in inspect.signature(way).parameters.items()
    if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and name not in ("self", "out")
]


@pytest.mark.parametrize(("way", "name"), OWN)
def test_a_way_to_run_refuses_what_it_would_take_for_itself(way: str, name: str) -> None:
    space: dict[str, Any] = {"ptx": ptx}
    exec(f"def k(X, Y, *, {name}=1):\n  assert {name} == 7\n  ptx.ret()", space)
    x = np.zeros(8, np.float32)
    expected = f"{name!r} cannot be passed to Kernel.{way}, which has an argument of that name"
    with_template = declare(space["k"])
    assert with_template(x, **{name: 7}).shape == (8,)
    with pytest.raises(TypeError, match=f"'k': template parameter {expected}; rename it"):
        getattr(with_template, way)(x, x)
    with pytest.raises(TypeError, match=f"'body': raw parameter {expected}"):
        getattr(declare(body, raw_params=[("u32", name)]), way)(x, x)
    with pytest.raises(TypeError, match=f"'body': dimension {expected}"):
        getattr(kernel(in_specs=(Tile(name, f32),), out_specs=(N,))(body), way)(x, x)


def test_out_is_every_calls_own() -> None:
    def k(X, Y, *, out=1): ...

    with pytest.raises(TypeError, match=r"'out' cannot be passed to Kernel\.__call__"):
        declare(k)


def test_the_names_are_those_of_the_methods() -> None:
    found = {("emulate", "threads"), ("launch", "stream"), ("save", "targets"), ("save", "path")}
    assert found <= {*OWN}


# --- raw parameters -----------------------------------------------------------------------------


def raw_bits(kind: str, value: Any) -> int:
    """Return what a kernel finds in a raw parameter."""
    bits = element_bits(kind)

    @kernel(
        in_specs=(),
        out_specs=(Tile(1, getattr(types, f"u{bits}")),),
        raw_params=[(kind, "alpha")],
        arch="sm_90",
    )
    def reader(Y):
        (py,) = ptx.global_ptrs(Y)
        found = reg.scalar(getattr(types, f"b{bits}"))
        getattr(ptx.inst.ld.param, f"b{bits}")(found, ptx.addr("alpha"))
        getattr(ptx.inst.st.global_, f"b{bits}")(ptx.addr(py), found)
        ptx.ret()

    out = np.zeros(1, f"u{bits // 8}")
    reader(out=out, alpha=value)
    if kind in ("bf16", "tf32"):  # PTX has no parameters of these
        assert f".param .b{bits} alpha" in reader.ptx(alpha=value)
    return int(out[0])


INF, NAN = float("inf"), float("nan")
BF16 = [
    (1, 0x3F80),
    (1.0, 0x3F80),
    (np.float32(-2.5), 0xC020),
    (-0.0, 0x8000),
    (1 + 2**-8, 0x3F80),  # a tie goes to the even one
    (1 + 3 * 2**-8, 0x3F82),
    (1 + 2**-8 + 2**-40, 0x3F81),  # which an f32 would not tell from the tie
    (2.0**-133, 0x0001),
    (-(2.0**-134), 0x8000),
    (1.5 * 2.0**-133, 0x0002),
    (2.0**-126 - 2.0**-134, 0x0080),
    (255 * 2.0**120, 0x7F7F),
    (INF, 0x7F80),
    (-INF, 0xFF80),
    (NAN, 0x7FC0),
]
TF32 = [(1, 0x3F800000), (1.0, 0x3F800000), (1 + 2**-11, 0x3F800000), (1 + 3 * 2**-11, 0x3F804000)]


@pytest.mark.parametrize(
    ("kind", "value", "bits"),
    [("bf16", *row) for row in BF16]
    + [("tf32", *row) for row in TF32]
    + [("f16", 1, 0x3C00), ("f16", 1.0, 0x3C00), ("f32", 1, 0x3F800000), ("s16", -1, 0xFFFF)],
)
def test_a_number_is_passed_as_what_the_type_makes_of_it(kind: str, value: Any, bits: int) -> None:
    assert raw_bits(kind, value) == bits


@pytest.mark.parametrize(
    ("kind", "value"),
    [("bf16", 511 * 2.0**119), ("bf16", 10**400), ("tf32", 1e39), ("f16", 65520.0), ("u16", 1.0)],
)
def test_what_a_type_cannot_hold_is_refused(kind: str, value: Any) -> None:
    with pytest.raises(LaunchError, match=rf"raw parameter 'alpha' \(.{kind}\) cannot hold"):
        raw_bits(kind, value)


@pytest.mark.parametrize("kind", ["pred", "e4m3", "f16x2", "b128", "u4", "int"])
def test_a_type_that_no_parameter_has_is_refused(kind: str) -> None:
    with pytest.raises(TypeError, match=f"'alpha' has type '{kind}', expected .* a parameter can"):
        declare(body, raw_params=[(kind, "alpha")])


# --- dimensions by keyword ----------------------------------------------------------------------


@kernel(
    in_specs=(N,),
    out_specs=(Tile("M", f32),),
    grid=lambda M: (M * M // M, 1, 1),
    block=(1, 1, 1),
)
def fill(X, Y, *, M=None):
    if M is not None and type(M) is not int:  # pytest would write an assert anew, with its modules
        raise TypeError(type(M))
    (py,) = ptx.global_ptrs(Y)
    one = reg.scalar(f32)
    ptx.inst.mov.f32(one, 1.0)
    place = reg.from_(ptx.special.ctaid.x(), types.u32) * 4
    ptx.inst.st.global_.f32(ptx.addr(py + place), one)
    ptx.ret()


class Index:
    def __index__(self) -> int:
        return 200

    def __repr__(self) -> str:
        return "Index()"


@pytest.mark.parametrize("size", [200, np.uint8(200), np.array(200), Index()], ids=repr)
def test_a_dimension_is_a_python_integer(size: Any) -> None:
    x = np.ones(3, "f4")
    assert fill.launch_grid(M=size) == (200, 1, 1)  # as a uint8 the square is 64
    assert (fill(x, M=size) == np.ones(200)).all()
    assert (fill.emulate(x, M=size) == np.ones(200)).all()
    assert fill.ptx(M=size) == fill.ptx(M=200)
    assert fill.bind(x, M=size).outputs[0].shape == (200,)
    out = np.zeros(200, "f4")
    fill.launch(x, out.ctypes.data, M=size)
    assert (out == 1).all()


def test_a_dimension_stands_in_a_graph_as_a_python_integer() -> None:
    torch = need("torch")
    found = fill(torch.ones(3, requires_grad=True), M=np.uint8(200))
    assert found.requires_grad
    assert torch.equal(found.detach(), torch.ones(200))


@pytest.mark.parametrize("size", [True, 2.0, "8", None, -1, np.int64(-1), np.ones(2)], ids=repr)
def test_what_is_no_number_of_elements_is_no_dimension(size: Any) -> None:
    for run in (fill, fill.emulate, fill.bind):
        with pytest.raises(LaunchError, match="but M is a dimension: expected a number of elem"):
            run(np.ones(3, "f4"), M=size)


# --- pairs --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"save_for_backward": "01"}, r"indices of inputs: \(0, 1\), not '01'"),
        ({"save_for_backward": [0.7]}, r"indices of inputs: \(0, 1\), not \[0.7\]"),
        ({"save_for_backward": [True]}, r"indices of inputs: \(0, 1\), not \[True\]"),
        ({"save_for_backward": 0}, r"indices of inputs: \(0, 1\), not 0"),
        ({"save_for_backward": [2]}, "save_for_backward has 2, but there are 1 inputs and 1"),
        ({"num_grad_inputs": 1.9}, "num_grad_inputs is a number of inputs, not 1.9"),
        ({"num_grad_inputs": True}, "num_grad_inputs is a number of inputs, not True"),
        ({"num_grad_inputs": 2}, "num_grad_inputs is 2, but there are 1 inputs"),
    ],
)
def test_indices_of_a_pair_are_integers(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        differentiable_kernel(fill, fill, **keywords)


def test_a_pair_is_made_of_kernels() -> None:
    pair = differentiable_kernel(
        fill, lambda x, g: g, save_for_backward=[np.int64(0)], num_grad_inputs=np.int8(1)
    )
    assert (pair.saved, pair.grad_count) == ((0,), 1)
    for value in (None, body):
        with pytest.raises(TypeError, match="the forward kernel is a pyptx kernel, not"):
            differentiable_kernel(value, fill)
    with pytest.raises(TypeError, match="the backward kernel is a kernel or a function, not None"):
        differentiable_kernel(fill, None)
