# SPDX-License-Identifier: Apache-2.0
"""Pairs of kernels as authors write them: keywords, the backward's own outputs, what is needed."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from pyptx import Tile, kernel, ptx, reg
from pyptx._errors import Error
from pyptx.torch_support import differentiable_kernel
from pyptx.types import f64, s64, u32
from support.packages import need

torch = need("torch")
N = 6


def one_to_one(body: Any, inputs: int, outputs: int, **options: Any) -> Any:
    """Return a kernel that computes elements of f64 from elements: body(values) -> values."""

    def write(*tensors: Any, **keywords: Any) -> None:
        pointers = ptx.global_ptrs(*tensors)
        place = reg.from_(ptx.special.ctaid.x(), u32) * 8
        values = []
        for pointer in pointers[:inputs]:
            values.append(reg.scalar(f64))
            ptx.inst.ld.global_.f64(values[-1], ptx.addr(pointer + place))
        for pointer, value in zip(pointers[inputs:], body(*values, **keywords), strict=True):
            ptx.inst.st.global_.f64(ptx.addr(pointer + place), value)

    names = [f"t{i}" for i in range(inputs + outputs)]
    keywords = options.pop("keywords", "")
    scope: dict[str, Any] = {"write": write}
    given = [word.split("=")[0].strip() for word in keywords.split(",") if word]
    passed = ", ".join(f"{name}={name}" for name in given)
    exec(
        f"def {body.__name__}({', '.join(names)}{', *, ' + keywords if keywords else ''}):\n"
        f"    write({', '.join(names)}, {passed})",
        scope,
    )
    return kernel(
        in_specs=(Tile("N", f64),) * inputs,
        out_specs=(Tile("N", f64),) * outputs,
        grid=lambda N: (N, 1, 1),
        arch="auto",
        **options,
    )(scope[body.__name__])


def times(a: Any, b: Any) -> Any:
    return ptx.inst.mul.f64(reg.scalar(f64), a, b)


def power(x: Any, *, factor: float = 1.0) -> Any:
    return (times(times(x, x), reg.scalar(f64, init=factor)),)


def power_gradient(x: Any, g: Any, *, factor: float = 1.0) -> Any:
    return (times(times(x, g), reg.scalar(f64, init=2 * factor)),)


def scaled() -> Any:
    """Return factor * x * x, whose factor is a template value."""
    return differentiable_kernel(
        one_to_one(power, 1, 1, keywords="factor=1.0"),
        one_to_one(power_gradient, 2, 1, keywords="factor=1.0"),
    )


def leaf(*shape: int) -> Any:
    return torch.randn(shape or (N,), dtype=torch.float64).requires_grad_()


def test_template_values_go_to_both_kernels() -> None:
    k, x = scaled(), leaf()
    for factor in (1.0, 3.0, 0.5, 3.0):
        (found,) = torch.autograd.grad(k(x, factor=factor).sum(), x)
        torch.testing.assert_close(k(x.detach(), factor=factor), factor * x.detach() ** 2)
        torch.testing.assert_close(found, 2 * factor * x.detach())
    assert torch.autograd.gradcheck(lambda x: k(x, factor=2.0), x)
    torch.testing.assert_close(k(x.detach()), x.detach() ** 2)
    found = torch.func.grad(lambda x: k(x, factor=3.0).sum())(x.detach())
    torch.testing.assert_close(found, 6 * x.detach())


def test_template_values_in_a_compiled_graph() -> None:
    k, x = scaled(), leaf()
    for factor in (2.0, 5.0):
        compiled = torch.compile(
            lambda x, f=factor: k(x, factor=f) + 1, fullgraph=True, backend="aot_eager"
        )
        (found,) = torch.autograd.grad(compiled(x).sum(), x)
        torch.testing.assert_close(found, 2 * factor * x.detach())


def test_template_values_in_jax() -> None:
    jax = need("jax")
    k = scaled()
    with jax.enable_x64(True):
        x = jax.numpy.arange(1.0, 1.0 + N)
        found = jax.jit(jax.grad(lambda x: k(x, factor=3.0).sum()))(x)
        assert (found == 6 * x).all()
        assert (k(x, factor=3.0) == 3 * x * x).all()


def test_a_function_gets_the_keywords_that_it_names() -> None:
    seen = []

    def backward(x: Any, g: Any, *, factor: float) -> Any:
        seen.append(factor)
        return 2 * factor * x * g

    def deaf(x: Any, g: Any) -> Any:
        return 8 * x * g

    forward = one_to_one(power, 1, 1, keywords="factor=1.0")
    x = leaf()
    differentiable_kernel(forward, backward)(x, factor=4.0).sum().backward()
    torch.testing.assert_close(x.grad, 8 * x.detach())
    assert seen == [4.0]
    (found,) = torch.autograd.grad(differentiable_kernel(forward, deaf)(x, factor=4.0).sum(), x)
    torch.testing.assert_close(found, 8 * x.detach())


def test_a_function_that_hands_on_what_it_gets() -> None:
    gradient = one_to_one(power_gradient, 2, 1, keywords="factor=1.0")
    k = differentiable_kernel(
        one_to_one(power, 1, 1, keywords="factor=1.0"), lambda *a, **more: gradient(*a, **more)
    )
    x = leaf()
    (found,) = torch.autograd.grad(k(x, factor=4.0).sum(), x)
    torch.testing.assert_close(found, 8 * x.detach())


def test_keywords_are_told_apart() -> None:
    def plus(x: Any, *, a_b: float = 0.0, a: float = 0.0, b: float = 0.0) -> Any:
        total = reg.scalar(f64, init=a_b + 10 * a + 100 * b)
        return (ptx.inst.add.f64(reg.scalar(f64), x, total),)

    forward = one_to_one(plus, 1, 1, keywords="a_b=0.0, a=0.0, b=0.0")
    k, x = differentiable_kernel(forward, lambda x, g: g), leaf()
    for keywords, more in (({"a_b": 1.0}, 1), ({"a": 1.0, "b": 1.0}, 110), ({"b": 1.0}, 100)):
        y = k(x, **keywords)
        torch.testing.assert_close(y.detach(), x.detach() + more)
        assert y.grad_fn is not None


def test_a_keyword_that_the_kernel_lacks_is_refused() -> None:
    with pytest.raises(TypeError, match=r"unknown keyword 'facto'.*did you mean 'factor'"):
        scaled()(leaf(), facto=2.0)


def test_raw_scalars() -> None:
    def scaled_by(x: Any) -> Any:
        return (times(x, ptx.param(f64, "alpha")),)

    def gradient(x: Any, g: Any) -> Any:
        return (times(g, ptx.param(f64, "alpha")),)

    raw = {"raw_params": [("f64", "alpha")]}
    k = differentiable_kernel(one_to_one(scaled_by, 1, 1, **raw), one_to_one(gradient, 2, 1, **raw))
    x = leaf()
    for alpha in (0.5, -2.0):
        (found,) = torch.autograd.grad(k(x, alpha=alpha).sum(), x)
        assert (found == alpha).all()


def squares() -> tuple[Any, list[Any]]:
    """Return x * x and, for the backward alone, 2 * x."""
    seen: list[Any] = []

    def both(x: Any) -> Any:
        return times(x, x), times(x, reg.scalar(f64, init=2.0))

    def backward(twice: Any, g: Any) -> Any:
        if not torch.compiler.is_compiling():
            seen.append(twice)
        return twice * g

    pair = differentiable_kernel(
        one_to_one(both, 1, 2), backward, save_for_backward=[2], private_outputs=1
    )
    return pair, seen


@pytest.mark.parametrize("way", ["eager", "compiled", "func", "checkpoint"])
def test_an_output_that_only_the_backward_sees(way: str) -> None:
    k, seen = squares()
    x = leaf()
    if way == "func":
        found = torch.func.grad(lambda x: k(x).sum())(x.detach())
    elif way == "checkpoint":
        y = torch.utils.checkpoint.checkpoint(k, x, use_reentrant=False)
        (found,) = torch.autograd.grad(y.sum(), x)
    else:
        call = torch.compile(k, fullgraph=True, backend="aot_eager") if way == "compiled" else k
        y = call(x)
        assert torch.is_tensor(y)
        (found,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(found, 2 * x.detach())
    assert seen or way == "compiled"
    with torch.no_grad():
        torch.testing.assert_close(k(x), x.detach() ** 2)
    out = (torch.empty(N, dtype=torch.float64), torch.empty(N, dtype=torch.float64))
    assert k(x.detach(), out=out) is out[0]


def test_an_output_that_only_the_backward_sees_in_jax() -> None:
    jax = need("jax")
    k, _ = squares()
    with jax.enable_x64(True):
        x = jax.numpy.arange(1.0, 1.0 + N)
        assert (jax.jit(k)(x) == x * x).all()
        assert (jax.grad(lambda x: k(x).sum())(x) == 2 * x).all()


def test_memory_of_the_callers() -> None:
    k, x = scaled(), leaf()
    out = torch.empty(N, dtype=torch.float64)
    assert k(x.detach(), out=out, factor=2.0) is out
    torch.testing.assert_close(out, 2 * x.detach() ** 2)
    with pytest.raises(Error, match="out= keeps no record for gradients") as caught:
        k(x, out=out)
    assert caught.value.diagnostics[0].code == "PTX0862"
    with torch.no_grad():
        assert k(x, out=out) is out


def product(asked: list[Any]) -> Any:
    def multiplied(x: Any, y: Any) -> Any:
        return (times(x, y),)

    def backward(x: Any, y: Any, g: Any, *, needs_input_grad: tuple[bool, ...]) -> Any:
        if not torch.compiler.is_compiling():
            asked.append(needs_input_grad)
        need_x, need_y = needs_input_grad
        return (y * g if need_x else None, x * g if need_y else None)

    return differentiable_kernel(one_to_one(multiplied, 2, 1), backward)


def test_a_backward_is_told_what_is_needed() -> None:
    asked: list[Any] = []
    k, x, y = product(asked), leaf(), leaf()
    k(x, y).sum().backward()
    torch.testing.assert_close(x.grad, y.detach())
    k(x, y.detach()).sum().backward()
    k(x.detach(), y).sum().backward()
    assert asked == [(True, True), (True, False), (False, True)]
    asked.clear()
    compiled = torch.compile(k, fullgraph=True, backend="aot_eager")
    (found,) = torch.autograd.grad(compiled(x, y.detach()).sum(), x)
    torch.testing.assert_close(found, y.detach())


def test_second_derivatives_in_jax() -> None:
    jax = need("jax")

    def cube(x: Any) -> Any:
        return (times(times(x, x), x),)

    k = differentiable_kernel(one_to_one(cube, 1, 1), lambda x, g: 3 * x * x * g)
    with jax.enable_x64(True):
        x = jax.numpy.arange(1.0, 1.0 + N)
        first = jax.grad(lambda x: k(x).sum())
        assert (first(x) == 3 * x * x).all()
        second = jax.grad(lambda x: first(x).sum())
        assert (second(x) == 6 * x).all()
        assert (jax.jit(second)(x) == 6 * x).all()
        kernels = scaled()
        with pytest.raises(Error, match="kernel 'power_gradient' cannot be differentiated"):
            jax.grad(lambda x: jax.grad(lambda x: kernels(x).sum())(x).sum())(x)


def test_whole_numbers_have_no_gradient_in_jax() -> None:
    jax = need("jax")
    seen = []

    @kernel(
        in_specs=(Tile("N", f64),), out_specs=(Tile("N", f64), Tile("N", s64)),
        grid=lambda N: (N, 1, 1), arch="auto",
    )  # fmt: skip
    def double_and_count(X: Any, Y: Any, Z: Any) -> None:
        px, py, pz = ptx.global_ptrs(X, Y, Z)
        index = reg.from_(ptx.special.ctaid.x(), u32)
        value = reg.scalar(f64)
        ptx.inst.ld.global_.f64(value, ptx.addr(px + index * 8))
        ptx.inst.add.f64(value, value, value)
        ptx.inst.st.global_.f64(ptx.addr(py + index * 8), value)
        wide = reg.scalar(s64)
        ptx.inst.cvt.s64.u32(wide, index)
        ptx.inst.st.global_.s64(ptx.addr(pz + index * 8), wide)

    def backward(x: Any, g: Any, none: Any) -> Any:
        seen.append((none.dtype, none.shape))
        return 2 * g

    k = differentiable_kernel(double_and_count, backward)
    with jax.enable_x64(True):
        x = jax.numpy.ones(N)
        assert (jax.grad(lambda x: k(x)[0].sum())(x) == 2).all()
        assert seen == [(jax.numpy.int64, (N,))]


@pytest.mark.parametrize("private", [-1, 1, 2])
def test_a_call_returns_an_output(private: int) -> None:
    with pytest.raises(ValueError, match=r"private_outputs is .*but there are 1 outputs"):
        differentiable_kernel(one_to_one(power, 1, 1), lambda x, g: g, private_outputs=private)
    with pytest.raises(TypeError, match="a number of outputs"):
        differentiable_kernel(one_to_one(power, 1, 1), lambda x, g: g, private_outputs="one")  # type: ignore[arg-type]


def test_many_keywords_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    jax = need("jax")
    from pyptx._call import autograd

    monkeypatch.setattr(autograd, "MOST_KEPT", 2)
    k = scaled()
    with jax.enable_x64(True):
        x = jax.numpy.ones(N)
        for factor in (1.0, 2.0, 3.0, 1.0):
            assert (jax.grad(lambda x, f=factor: k(x, factor=f).sum())(x) == 2 * factor).all()
    assert len(k._jax_functions) == 2


def test_a_pair_with_private_outputs_is_made_again_by_pickle() -> None:
    k, _ = squares()
    made, given = k.__reduce__()
    again = made(*given)
    assert (again.public, again.saved) == (k.public, k.saved)
    with pytest.raises((pickle.PicklingError, AttributeError, Error)):
        pickle.dumps(k)  # its backward is a closure
