# SPDX-License-Identifier: Apache-2.0
"""Matrix products of `pyptx.kernels`: configurations, epilogues, layouts, gradients."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from pyptx.kernels import GemmConfig, GemmProblem, build_gemm, gemm, matmul
from pyptx.kernels.gemm_choice import H200, Sizes, candidates, choose, estimate
from pyptx.kernels.gemm_h200 import MEASURED
from support.gemm_cases import ACTIVATIONS, CONFIGS, SMALL, check, operands
from support.packages import need


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("out", ["bf16", "f32"])
def test_every_way_to_compute_it(name: str, out: str) -> None:
    config, sizes = CONFIGS[name]
    problem = GemmProblem(out=out)
    inputs, expected = operands(problem, *sizes)
    check(build_gemm(problem, config).emulate(*inputs), expected, out)


@pytest.mark.parametrize("a_major", ["K", "M"])
@pytest.mark.parametrize("b_major", ["K", "N"])
@pytest.mark.parametrize("swap", [False, True])
def test_layouts_and_batches(a_major: str, b_major: str, swap: bool) -> None:
    problem = GemmProblem("f16", "f16", a_major, b_major, batched=True)
    config = GemmConfig(tile=(128, 128), cluster=(2, 1), swap=swap, ctas=4)
    inputs, expected = operands(problem, 136, 200, 88, batch=2)
    check(build_gemm(problem, config).emulate(*inputs), expected, "f16")


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("swap", [False, True])
def test_epilogues(activation: str | None, swap: bool) -> None:
    kind = "f32" if activation == "silu" else "bf16"
    problem = GemmProblem(
        out=kind, bias="f32" if swap else "bf16", activation=activation, residual=True
    )
    inputs, expected = operands(problem, 70, 136, 72)
    config = GemmConfig(tile=(128, 64), swap=swap, **SMALL)
    check(build_gemm(problem, config).emulate(*inputs), expected, kind)


@pytest.mark.parametrize("activation", ["relu", "silu", "gelu", "gelu_tanh"])
def test_activations_of_odd_values(activation: str) -> None:
    """Row i of the product is value i; infinities stay what they are, nothing turns to NaN."""
    values = [0.0, -0.0, 1e-30, 8.0, -8.0, 100.0, -100.0, 3e38, float("inf"), float("nan")]
    a = torch.zeros(len(values), 8, dtype=torch.bfloat16)
    a[:, 0] = torch.tensor(values)
    b = torch.zeros(8, 8, dtype=torch.bfloat16)
    b[0] = 1
    a[:, 1:] = 0
    out = matmul(a[:, :8], b, activation=activation, out_dtype="f32")[:, 0]
    wanted = ACTIVATIONS[activation](a[:, 0].double()).float()
    # An infinity times the zeros of b beside it is NaN in any product.
    finite = torch.isfinite(a[:, 0])
    torch.testing.assert_close(out[finite], wanted[finite], rtol=1e-5, atol=1e-7)
    assert out[-1].isnan()


def test_matmul_reads_views_as_they_lie() -> None:
    a, b = torch.randn(40, 72).bfloat16(), torch.randn(56, 40).bfloat16()
    expected = a.T.double() @ b.T.double()
    for out in (matmul(a.T, b.T), matmul(a, b, transpose_a=True, transpose_b=True)):
        check(out, expected, "bf16")
    check(
        matmul(a.T.contiguous()[:, :24], b.T[:24]), a.T[:, :24].double() @ b.T[:24].double(), "bf16"
    )
    x = torch.randn(2, 3, 40).bfloat16()
    residual = torch.randn(2, 3, 56)
    out = matmul(x, b.T, residual=residual, out_dtype=torch.float32)
    check(out, x.double() @ b.T.double() + residual.double(), "f32")
    import numpy

    halves = numpy.asfortranarray(numpy.random.default_rng(0).standard_normal((16, 24)), "f2")
    check(
        torch.from_numpy(matmul(halves, halves.T)),
        torch.from_numpy(halves.astype("f8") @ halves.T.astype("f8")),
        "f16",
    )


def test_batch_invariance() -> None:
    a, b = torch.randn(150, 264).bfloat16(), torch.randn(264, 72).bfloat16()
    whole = matmul(a, b, batch_invariant=True)
    for rows in (1, 7, 64, 130):
        assert torch.equal(whole[:rows], matmul(a[:rows], b, batch_invariant=True))
    chosen = {choose(GemmProblem(), Sizes(m, 4096, 4096), H200, True) for m in (1, 100, 5000)}
    assert len(chosen) == 3
    assert {config.split_k for config in chosen} == {1}


def test_bits_depend_on_the_division_of_k_alone() -> None:
    """What batch invariance rests on; the H200 gave the same bits for 228 configurations."""
    inputs, _ = operands(GemmProblem(), 72, 136, 264)
    bits = {
        name: build_gemm(GemmProblem(), config).emulate(*inputs, numerics="exact").view(torch.int16)
        for name, (config, _) in CONFIGS.items()
    }
    whole = [name for name, (config, _) in CONFIGS.items() if config.split_k == 1]
    assert len(whole) >= 10
    assert all(torch.equal(bits[name], bits["cooperative"]) for name in whole)
    assert not torch.equal(bits["split"], bits["cooperative"])


@pytest.mark.parametrize(
    ("activation", "transposed"),
    [(activation, (False, True)) for activation in ACTIVATIONS]
    + [(None, flags) for flags in ((False, False), (True, False), (True, True))],
)
def test_gradients(activation: str | None, transposed: tuple[bool, bool]) -> None:
    shapes = [(40, 24) if transposed[0] else (24, 40), (16, 40) if transposed[1] else (40, 16)]
    values = [torch.randn(*s).bfloat16() for s in (*shapes, (16,), (24, 16))]
    ours = [v.clone().requires_grad_() for v in values]
    wide = [v.double().requires_grad_() for v in values]
    flags = {"transpose_a": transposed[0], "transpose_b": transposed[1]}
    y = matmul(ours[0], ours[1], bias=ours[2], activation=activation, residual=ours[3], **flags)
    a, b = (w.mT if t else w for w, t in zip(wide, transposed, strict=False))
    z = ACTIVATIONS[activation](a @ b + wide[2]) + wide[3]
    grad = torch.randn(24, 16).bfloat16()
    y.backward(grad)
    z.backward(grad.double())
    for x, w in zip(ours, wide, strict=True):
        check(x.grad, w.grad, "bf16")


def test_a_relu_keeps_its_result() -> None:
    """No product is computed again for its gradient: two calls more, not three."""
    a, b, bias = (torch.randn(*s).bfloat16().requires_grad_() for s in ((24, 40), (40, 16), (16,)))
    wide = [t.detach().double().requires_grad_() for t in (a, b, bias)]
    grad = torch.randn(24, 16).bfloat16()
    entry = gemm._product._entry
    for activation, products in (("relu", 2), ("silu", 3)):
        y = matmul(a, b, bias=bias, activation=activation)
        before = entry.hits + entry.misses
        found = torch.autograd.grad(y, (a, b, bias), grad)
        assert entry.hits + entry.misses == before + products
        z = ACTIVATIONS[activation](wide[0] @ wide[1] + wide[2])
        for x, w in zip(found, torch.autograd.grad(z, wide, grad.double()), strict=True):
            check(x, w, "bf16")


def test_a_compiled_graph_with_gradients() -> None:
    a, b = torch.randn(24, 40).bfloat16(), torch.randn(40, 16).bfloat16()

    def loss(a: Any, b: Any) -> Any:
        return (matmul(a, b, activation="silu") * 2).float().sum()

    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(a, b), loss(a, b))
    grads = []
    for function in (compiled, loss):
        x, y = a.clone().requires_grad_(), b.clone().requires_grad_()
        function(x, y).backward()
        grads.append((x.grad, y.grad))
    assert all(torch.equal(*pair) for pair in zip(*grads, strict=True))


def test_jax() -> None:
    jax = need("jax")
    jnp = jax.numpy
    a = jax.random.normal(jax.random.key(0), (24, 40)).astype(jnp.bfloat16)
    w = jax.random.normal(jax.random.key(1), (16, 40)).astype(jnp.bfloat16)

    def ours(a: Any, w: Any) -> Any:
        y = matmul(a, w, transpose_b=True, activation="gelu_tanh", out_dtype=jnp.float32)
        return (y * y).sum()

    def plain(a: Any, w: Any) -> Any:
        y = jax.nn.gelu(a @ w.T)
        return (y * y).sum()

    value, grads = jax.jit(jax.value_and_grad(ours, (0, 1)))(a, w)
    exact = [x.astype(jnp.float32) for x in (a, w)]
    wanted, expected = jax.value_and_grad(plain, (0, 1))(*exact)
    assert abs(float(value / wanted) - 1) < 1e-3
    for x, y in zip(grads, expected, strict=True):
        x, y = (torch.tensor(v.astype(jnp.float32).tolist()) for v in (x, y))
        check(x, y.double(), "bf16")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"warpgroups": 3}, "one or two warpgroups"),
        ({"tile": (64, 256)}, "cannot share a tile of 64 rows"),
        ({"tile": (128, 264)}, "8 to 256 columns"),
        ({"tile": (128, 72)}, "multiples of 16"),
        ({"tile": (256, 256)}, "accumulators"),
        ({"pingpong": True, "tile": (128, 128), "split_k": 2}, "no split_k"),
        ({"cluster": (3, 1)}, "powers of 2"),
        ({"ctas": 131}, "no clusters of 2"),
        ({"stages": 5}, "shared memory"),
        ({"tile": (128, 256), "stages": 2, "split_k": 2}, "no room for the sums"),
    ],
)
def test_impossible_configurations(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GemmConfig(**options)


def test_a_problem_says_what_it_knows() -> None:
    with pytest.raises(ValueError, match="activation is 'tanh'"):
        GemmProblem(activation="tanh")
    problem = GemmProblem(b_major="N")
    with pytest.raises(ValueError, match="blocks of 64"):
        build_gemm(problem, GemmConfig(tile=(128, 96), cluster=(1, 1)))


def test_shipped_configurations_spill_nothing() -> None:
    """Two warpgroups have 96 KiB of accumulators, by registers that the others gave up."""
    for (m, n, k), config in MEASURED.items():
        if config.tile[0] * config.tile[1] > 128 * 128:
            report = build_gemm(GemmProblem(), config).report(M=m, N=n, K=k)
            assert report.spill_stores == 0, config


@pytest.mark.parametrize("problem", [GemmProblem(), GemmProblem(a_major="M", b_major="N")])
def test_something_is_chosen_for_every_size(problem: GemmProblem) -> None:
    for m in (1, 3, 64, 65, 200, 1000, 8192):
        for n, k in ((8, 8), (264, 64), (4096, 16384), (128256, 4096)):
            sizes = Sizes(m, n, k)
            chosen = choose(problem, sizes)
            known = {*candidates(problem, sizes, H200), *MEASURED.values()}
            assert chosen in known or replace(chosen, programmatic=False) in known
            assert chosen.split_k == 1 or not chosen.programmatic
            assert estimate(chosen, problem, sizes) > 0
