# SPDX-License-Identifier: Apache-2.0
"""`kernel(autocast=...)`: which types inputs have under torch.autocast, and their gradients."""

from __future__ import annotations

from typing import Any

import pytest

from pyptx import Tile, differentiable_kernel, kernel, ptx, reg
from pyptx._errors import Error
from pyptx.types import bf16, f32
from support.packages import need
from support.transformer import COLUMNS, build_weigh

torch = need("torch")


def build_copy(**given: Any) -> Any:
    """Return a kernel that copies elements of any type of 16 or 32 bits."""

    @kernel(
        in_specs=(Tile(32, dtype="T"),), out_specs=(Tile(32, dtype="T"),), block=(32, 1, 1), **given
    )
    def copy(X: Any, Y: Any) -> None:
        size = X.dtype.bits // 8
        px, py = (p + ptx.special.tid.x() * size for p in ptx.global_ptrs(X, Y))
        x = reg.scalar(X.dtype)
        getattr(ptx.inst.ld.global_, f"b{X.dtype.bits}")(x, ptx.addr(px))
        getattr(ptx.inst.st.global_, f"b{X.dtype.bits}")(ptx.addr(py), x)
        ptx.ret()

    return copy


@pytest.mark.parametrize("given", [torch.float32, f32, "f32"])
def test_inputs_have_the_types_of_their_tiles(given: Any) -> None:
    k = build_weigh(autocast=given)
    x, w = torch.randn(4, COLUMNS), torch.randn(COLUMNS)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for _ in range(2):
            assert torch.equal(k(x.bfloat16(), w.half()), x.bfloat16() * w.half().float())
        assert torch.equal(k(x, w), x * w)
    with pytest.raises(Error, match="dtype bfloat16"):
        k(x.bfloat16(), w)
    with (
        torch.autocast("cpu", dtype=torch.bfloat16),
        torch.autocast("cpu", enabled=False),
        pytest.raises(Error, match="dtype bfloat16"),
    ):
        k(x.bfloat16(), w)


def test_a_type_with_a_name_is_the_one_that_is_given() -> None:
    k, x = build_copy(autocast=bf16), torch.randn(32)
    assert k(x).dtype == torch.float32
    with torch.autocast("cpu", dtype=torch.float16):
        assert torch.equal(k(x), x.bfloat16())
        assert k(x.half()).dtype == torch.bfloat16
        with pytest.raises(Error):
            k(x.double()[:7])  # as in torch, float64 stays what it is


def test_a_kernel_without_types_for_it_is_not_changed() -> None:
    k, x = build_copy(), torch.randn(32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert k(x).dtype == torch.float32


def test_a_call_with_out_is_not_changed() -> None:
    k, x = build_copy(autocast=bf16), torch.randn(32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(k(x, out=torch.empty(32)), x)


def test_integers_and_numpy_are_not_changed() -> None:
    k, x = build_copy(autocast=bf16), torch.arange(32, dtype=torch.int32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(k(x), x)
        assert k(x.numpy()).tolist() == x.tolist()


def weighed_pair(how: str) -> Any:
    """Return a pair whose backward says which types it got, by how graphs have it."""
    k = build_weigh(autocast=f32)
    kept = torch.ones(COLUMNS)

    def backward(x: Any, w: Any, g: Any) -> Any:
        assert x.dtype == w.dtype == g.dtype == torch.float32
        return k(g, w), (x * g).sum(0)

    def with_tensor(x: Any, w: Any, g: Any) -> Any:  # what cannot be compared, Dynamo reads
        return k(g, w * kept), (x * g).sum(0)

    return differentiable_kernel(k, backward if how == "operator" else with_tensor)


@pytest.mark.parametrize(
    ("how", "backend"),
    [
        ("operator", None),
        ("operator", "aot_eager"),
        ("operator", "inductor"),
        ("read", None),
        ("read", "aot_eager"),
    ],
)
def test_gradients_have_the_types_of_what_was_cast(how: str, backend: str | None) -> None:
    pair = weighed_pair(how)
    assert bool(pair._operator_name) == (how == "operator")
    x, w = torch.randn(4, COLUMNS).bfloat16(), torch.randn(COLUMNS)

    def loss(x: Any, w: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return pair(torch.nn.functional.linear(x, torch.eye(COLUMNS)), w).sum()

    call = loss if backend is None else torch.compile(loss, fullgraph=True, backend=backend)
    leaves = [t.clone().requires_grad_() for t in (x, w)]
    call(*leaves).backward()
    torch.testing.assert_close(leaves[0].grad, w.expand(4, COLUMNS).bfloat16())
    torch.testing.assert_close(leaves[1].grad, x.float().sum(0))


def test_autocast_around_a_compiled_function() -> None:
    k = build_weigh(autocast=f32)
    call = torch.compile(lambda x, w: k(x, w) + 1, fullgraph=True, backend="aot_eager")
    x, w = torch.randn(4, COLUMNS), torch.randn(COLUMNS)
    for dtype in (torch.float32, torch.bfloat16):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert torch.equal(call(x.to(dtype), w), x.to(dtype).float() * w + 1)
    assert torch.equal(call(x, w), x * w + 1)


@pytest.mark.parametrize("given", [torch.int32, "f64", "T", 16])
def test_types_that_autocast_does_not_have(given: Any) -> None:
    with pytest.raises(Error, match="autocast is one of f32, bf16, f16, not") as caught:
        build_copy(autocast=given)
    assert caught.value.diagnostics[0].code == "PTX0867"


def test_under_func_and_modes() -> None:
    pair = weighed_pair("operator")
    x, w = torch.randn(3, 4, COLUMNS), torch.randn(COLUMNS)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = torch.func.grad(lambda w: pair(x[0].bfloat16(), w).sum())(w)
        many = torch.vmap(pair, in_dims=(0, None))(x.bfloat16(), w)
    torch.testing.assert_close(found, x[0].bfloat16().float().sum(0))
    torch.testing.assert_close(many, x.bfloat16() * w)
