# SPDX-License-Identifier: Apache-2.0
"""`pyptx.kernels` in graphs that torch compiles for any size: one graph, the right kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyptx import kernels
from pyptx.kernels import GemmConfig, GemmProblem, gemm_any
from pyptx.kernels.gemm_choice import Sizes, choose
from support.packages import need

torch = need("torch")
from torch._dynamo.utils import counters  # noqa: E402

ROWS = (40, 1000, 24, 136, 64)  # of 8, since the gradient of w is a product along them


def compiled(function: Callable[..., Any]) -> Any:
    torch._dynamo.reset()
    counters.clear()
    return torch.compile(function, dynamic=True, fullgraph=True, backend="aot_eager")


def graphs() -> int:
    return int(counters["stats"]["unique_graphs"])


def leaves(*tensors: Any) -> list[Any]:
    return [t.detach().clone().requires_grad_(t.is_floating_point()) for t in tensors]


def close(found: Any, expected: Any) -> None:
    """bf16, of what was rounded to it several times."""
    error = (found.double() - expected.double()).abs().max()
    assert error <= 2**-6 * expected.abs().max()


def test_one_graph_multiplies_any_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call by the kernel for its sizes, as without a graph; gradients too."""
    built: list[tuple[GemmProblem, GemmConfig]] = []
    build = gemm_any.build_gemm

    def noted(problem: GemmProblem, config: GemmConfig, **options: Any) -> Any:
        built.append((problem, config))
        return build(problem, config, **options)

    monkeypatch.setattr(gemm_any, "build_gemm", noted)

    def ours(x: Any, scale: Any, w: Any, bias: Any) -> Any:
        return kernels.matmul(kernels.rms_norm(x, scale, eps=1e-5), w.T, bias=bias) * 2

    def plain(x: Any, scale: Any, w: Any, bias: Any) -> Any:
        return (torch.nn.functional.rms_norm(x, x.shape[-1:], scale, 1e-5) @ w.T + bias) * 2

    function = compiled(ours)
    shared = [
        torch.randn(72).bfloat16(),
        torch.randn(48, 72).bfloat16(),
        torch.randn(48).bfloat16(),
    ]
    for rows in ROWS:
        x, grad = torch.randn(rows, 72).bfloat16(), torch.randn(rows, 48).bfloat16()
        mine, wide = leaves(x, *shared), leaves(*(t.double() for t in (x, *shared)))
        built.clear()
        y, expected = function(*mine), plain(*wide)
        problem = GemmProblem(bias="bf16")
        assert built == [(problem, choose(problem, Sizes(rows, 48, 72)))]
        y.backward(grad)
        expected.backward(grad.double())
        assert len(built) == 3, "two more products"
        close(y, expected)
        for found, wanted in zip(mine, wide, strict=True):
            close(found.grad, wanted.grad)
    assert graphs() == 1
    built.clear()
    function(*leaves(torch.randn(1000, 72).bfloat16(), *shared))
    assert not built, "sizes that it has seen are the entry's"


def forward_and_back(function: Any, *tensors: Any) -> list[Any]:
    inputs = leaves(*tensors)
    y = function(*inputs)
    y.float().sum().backward()
    return [y.detach(), *(x.grad for x in inputs if x.grad is not None)]


def rows_of(*widths: int) -> Callable[[int], tuple[Any, ...]]:
    return lambda rows: tuple(torch.randn(rows, width) for width in widths)


W, B = torch.randn(40), torch.randn(40)
FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]]]] = {
    "layer_norm": (lambda x: kernels.layer_norm(x, W, B) * x, rows_of(40)),
    "residual": (lambda x, r: sum(kernels.rms_norm(x, W, residual=r)), rows_of(40, 40)),
    "softmax": (lambda x: kernels.softmax(x) * x, rows_of(40)),
    "swiglu": (lambda g, u: kernels.swiglu(g, u) * u, rows_of(40, 40)),
    "cross_entropy": (
        kernels.cross_entropy,
        lambda rows: (torch.randn(rows, 40), torch.randint(0, 40, (rows,))),
    ),
    "rotary": (
        lambda x, c, s: kernels.rotary(x, c, s) * x,
        lambda rows: (torch.randn(1, rows, 3, 6), torch.randn(rows, 3), torch.randn(rows, 3)),
    ),
    "quantise_fp8": (lambda x: x * kernels.quantise_fp8(x.detach())[1][:, None], rows_of(40)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_graph_has_any_number_of_rows(name: str) -> None:
    ours, made = FUNCTIONS[name]
    function = compiled(ours)
    for rows in (21, 70, 33, 500):
        tensors = made(rows)
        for found, expected in zip(
            forward_and_back(function, *tensors), forward_and_back(ours, *tensors), strict=True
        ):
            torch.testing.assert_close(found, expected)
    assert graphs() == 1


def test_a_configuration_that_is_given_serves_any_size() -> None:
    config = GemmConfig(tile=(64, 64), cluster=(1, 1), warpgroups=1)
    w = torch.randn(40, 24).bfloat16()
    function = compiled(lambda x, w: kernels.matmul(x, w, config=config) + 1)
    for rows in (20, 60, 100):
        x = torch.randn(rows, 40).bfloat16()
        close(function(x, w), x.double() @ w.double() + 1)
    assert graphs() == 1


def test_what_does_not_fit_is_refused_in_a_graph_for_any_size() -> None:
    function = compiled(lambda x, w: kernels.matmul(x, w.T))
    with pytest.raises(Exception, match="rows in memory of a multiple of 8 elements, got 12"):
        function(torch.randn(20, 12).bfloat16(), torch.randn(32, 12).bfloat16())
