# SPDX-License-Identifier: Apache-2.0
"""`pyptx.kernels` on many sizes: how often a kernel is traced and assembled for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyptx import cache, kernels
from pyptx._call import specialize
from pyptx.kernels import GemmProblem
from pyptx.kernels.gemm_choice import Sizes, choose
from pyptx.kernels.gemm_kernel import build_gemm
from pyptx.kernels.norms import build_norm
from pyptx.kernels.norms_backward import build_norm_backward
from support import row_references as reference
from support.packages import need

torch = need("torch")


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """How often a kernel's body ran, by its name."""
    counts: Counter[str] = Counter()
    run = specialize.Specializer._run

    def counted(self: Any, *arguments: Any) -> Any:
        counts[self.signature.name] += 1
        return run(self, *arguments)

    monkeypatch.setattr(specialize.Specializer, "_run", counted)
    return counts


#: Two hundred from 1 to 4096, half of them up to 100.
SIZES = [*range(1, 101), *np.geomspace(101, 4096, 100).round().astype(int).tolist()]


def near(got: Any, expected: Any, tolerance: float) -> None:
    np.testing.assert_allclose(got.double().numpy(), expected, rtol=tolerance, atol=tolerance)


def test_row_kernels_are_traced_once(traced: Counter[str]) -> None:
    """Columns that no other test has: kernels are kept."""
    columns = 44
    rng = np.random.default_rng(0)
    w, b = (rng.standard_normal(columns) for _ in range(2))
    weights = [torch.from_numpy(each).float() for each in (w, b)]
    for rows in SIZES:
        x = rng.standard_normal((rows, columns)).astype(np.float32)
        wide, mine = x.astype(np.float64), torch.from_numpy(x)
        near(kernels.rms_norm(mine, weights[0], eps=1e-5), reference.rms_norm(wide, w), 1e-5)
        near(kernels.layer_norm(mine, *weights), reference.layer_norm(wide, w, b), 1e-4)
        near(kernels.softmax(mine), reference.softmax(wide), 1e-5)
        near(kernels.swiglu(mine, mine), reference.swiglu(wide, wide), 1e-5)
        targets = torch.from_numpy(rng.integers(0, columns, rows))
        losses = reference.cross_entropy(wide, targets.numpy(), np.ones(rows))[0]
        near(kernels.cross_entropy(mine, targets), losses, 1e-5)
        q, scales = kernels.quantise_fp8(mine)
        near(q.float() * scales[:, None], wide, 0.2)
    assert traced == dict.fromkeys(
        ("rms_norm", "layer_norm", "softmax", "swiglu", "cross_entropy", "quantise"), 1
    )


def test_gradients_of_rows_are_traced_once(traced: Counter[str]) -> None:
    columns = 36
    rng = np.random.default_rng(0)
    w = rng.standard_normal(columns)
    for rows in SIZES[::20]:
        x, g = rng.standard_normal((2, rows, columns))
        mine = [torch.from_numpy(each).float().requires_grad_() for each in (x, w)]
        y = kernels.rms_norm(*mine, eps=1e-5)
        found = torch.autograd.grad(y, mine, torch.from_numpy(g).float())
        dx, dw, _ = reference.norm_gradients("rms", x, w, g)
        near(found[0], dx, 1e-4)
        near(found[1], dw, 1e-3)
    assert traced == {"rms_norm": 1, "rms_norm_backward": 1, "column_sums": 1}


def test_rotary_is_traced_once(traced: Counter[str]) -> None:
    rng = np.random.default_rng(0)
    for batch, positions in rng.integers(1, 20, (40, 2)):
        x = rng.standard_normal((batch, positions, 3, 10))
        angle = rng.standard_normal((positions, 5))
        given = [torch.from_numpy(each).float() for each in (x, np.cos(angle), np.sin(angle))]
        expected = reference.rotary(x, np.cos(angle), np.sin(angle), False)
        near(kernels.rotary(*given), expected, 1e-5)
    assert traced == {"rotary": 1}


def test_rows_are_assembled_once(tmp_path: Path) -> None:
    """On disk there is one kernel for all numbers of rows, and of parts that leave sums."""
    made = [
        (build_norm("layer", 4096, "bf16", eps=1e-5, arch="sm_90a"), {}),
        (build_norm_backward("layer", 4096, "bf16", eps=1e-5, arch="sm_90a").kernel, {"P": 1}),
    ]
    cache.set_global_cache(cache.CubinCache(str(tmp_path)))
    try:
        for k, others in made:
            assert len({k.cubin(B=rows, **others) for rows in (1, 2, 7, 4096, 100_001)}) == 1
    finally:
        cache.set_global_cache(None)
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == len(made)


#: One that no other test has: kernels are kept.
PROBLEM = GemmProblem("f16", "f32", b_major="N", bias="f16", activation="silu")


def product(m: int, n: int, k: int, seed: int) -> tuple[Any, bool]:
    """Compare a product; return its configuration, and whether N has no edge in it."""
    rng = np.random.default_rng(seed)
    a, b, bias = (torch.from_numpy(rng.standard_normal(s)).half() for s in ((m, k), (k, n), (n,)))
    z = a.double() @ b.double() + bias.double()
    found = kernels.matmul(a, b, bias=bias, activation="silu", out_dtype="f32")
    near(found, (z * z.sigmoid()).numpy(), 1e-4)
    config = choose(PROBLEM, Sizes(m, n, k))
    return config, not config.swap and n % (config.tile[1] * config.cluster[1]) == 0


def test_products_are_traced_once_for_a_configuration(traced: Counter[str]) -> None:
    """As many rows as a server may see, and other shapes."""
    shapes = [(m, 72, 40) for m in SIZES]
    others = np.random.default_rng(4).integers(1, 40, (40, 3))
    shapes += [(int(m), 8 * int(n), 8 * int(k)) for m, n, k in others]
    kinds = {product(*shape, seed) for seed, shape in enumerate(shapes)}
    assert traced == {"gemm_bias": len(kinds)}
    assert len(kinds) < len(shapes) // 10


def test_a_product_is_assembled_once(tmp_path: Path) -> None:
    config = choose(GemmProblem(), Sizes(4096, 4096, 4096))
    k = build_gemm(GemmProblem(), config)
    cache.set_global_cache(cache.CubinCache(str(tmp_path)))
    try:
        assert len({k.cubin(M=m, N=m, K=m) for m in (8, 200, 4096)}) == 1
        baked = build_gemm(GemmProblem(), config, baked=True)
        assert len({baked.cubin(M=m, N=m, K=m) for m in (8, 200)}) == 2
    finally:
        cache.set_global_cache(None)
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 3


@pytest.mark.parametrize("baked", [False, True])
def test_a_batch_of_one(baked: bool) -> None:
    problem, sizes = GemmProblem(batched=True), Sizes(24, 16, 40)
    a, b = torch.randn(1, 24, 40).bfloat16(), torch.randn(1, 16, 40).bfloat16()
    found = build_gemm(problem, choose(problem, sizes), baked=baked)(a, b)
    near(found, (a.double() @ b.double().mT).numpy(), 0.02)
