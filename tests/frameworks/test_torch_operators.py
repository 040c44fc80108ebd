# SPDX-License-Identifier: Apache-2.0
"""Each kernel's own operator: its name, who shares it, and what torch's caches find again."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pyptx import Tile, differentiable_kernel, kernel
from pyptx.types import f32
from support import sample_kernels
from support.packages import need
from support.processes import run_python
from support.tree import TESTS

torch = need("torch")

from torch._dynamo.utils import counters  # noqa: E402

from pyptx._torch.kernel_operator import packet_of  # noqa: E402
from support import transformer  # noqa: E402


@pytest.fixture(autouse=True)
def _fresh_graphs() -> Any:
    torch.manual_seed(0)
    torch._dynamo.reset()
    counters.clear()


def build(settings: Any, name: str = "scale") -> Any:
    """Return a kernel that reads a number of an object which it captures."""

    def scale(X: Any, Y: Any) -> None:
        sample_kernels.scaled_copy(X, Y, settings.factor)

    scale.__name__ = name
    options = {"in_specs": (Tile(32, f32),), "out_specs": (Tile(32, f32),), "block": (32, 1, 1)}
    return kernel(scale, **options)


# --- names ----------------------------------------------------------------------------------------

NAMES = """
import json
from support import sample_kernels, transformer
kernels = (sample_kernels.build_vector_add(), sample_kernels.build_rms_norm(8, 64),
           sample_kernels.build_scale(2.0), sample_kernels.build_scale(3.0),
           sample_kernels.build_tma_axpy(), transformer.build_norm(), transformer.build_norm(2.0))
print(json.dumps([k._operator_name for k in kernels]))
"""


def run(*command: str, **environment: str) -> Any:
    """Return what another process prints last, as JSON."""
    return json.loads(run_python(*command, **environment))


def test_a_name_is_the_same_in_every_process() -> None:
    first, second = (run("-c", NAMES, PYTHONHASHSEED=seed) for seed in ("1", "2"))
    assert first == second
    assert len(set(first)) == len(first)
    assert first[0].startswith("vector_add_")


def test_another_value_is_another_operator_and_the_same_is_the_same() -> None:
    two, three, twin = (build(SimpleNamespace(factor=f)) for f in (2.0, 3.0, 2.0))
    assert two._operator_name == twin._operator_name != three._operator_name
    assert build(SimpleNamespace(factor=2.0), "other")._operator_name.startswith("other_")
    wider = kernel(
        two.__wrapped__, in_specs=two.in_specs, out_specs=two.out_specs, block=(64, 1, 1)
    )
    assert wider._operator_name != two._operator_name


def test_what_cannot_be_compared_has_a_name_of_this_process_alone() -> None:
    first, second = (sample_kernels.build_scale(iter(())) for _ in range(2))  # type: ignore[arg-type]
    assert first._operator_name == first._operator_name != second._operator_name
    assert "_local" in first._operator_name


# --- kernels of one content -----------------------------------------------------------------------


def compiled(function: Any) -> Any:
    return torch.compile(function, fullgraph=True, backend="aot_eager")


@pytest.mark.parametrize("changed", [0, 1, 2])
def test_twins_part_when_one_changes(changed: int) -> None:
    settings = [SimpleNamespace(factor=2.0) for _ in range(3)]
    kernels = [build(s) for s in settings]
    calls = [compiled(lambda x, k=k: k(x) + 1) for k in kernels]
    x = torch.randn(32)
    for call in calls:
        assert torch.equal(call(x), x * 2 + 1)
    assert len({k._operator_name for k in kernels}) == 1
    for factor in (3.0, 5.0, 2.0):
        settings[changed].factor = factor
        for _ in range(2):
            for call, s in zip(calls, settings, strict=True):
                assert torch.equal(call(x), x * s.factor + 1)


def test_a_change_that_all_share_compiles_nothing() -> None:
    settings = SimpleNamespace(factor=2.0)
    kernels = [build(settings, "together") for _ in range(3)]
    x = torch.randn(32)
    call = compiled(lambda x: [k(x) for k in kernels])
    call(x)
    with torch._dynamo.config.patch(error_on_recompile=True):
        for factor in (3.0, 4.0, 5.0, 2.0) * 4:
            settings.factor = factor
            assert all(torch.equal(y, x * factor) for y in call(x))


@pytest.mark.parametrize("way", ["each", "all"])
def test_twelve_layers_with_a_kernel_each_are_compiled_once(way: str) -> None:
    layers = [transformer.Block() for _ in range(12)]
    model = torch.nn.Sequential(*layers)
    x, mask = torch.randn(transformer.ROWS, transformer.COLUMNS), torch.zeros(8, 32)
    x.requires_grad_()  # as what comes out of a layer does

    def forward(x: Any) -> Any:
        for layer in model:
            x = layer(x, mask)
        return x

    expected = forward(x)
    with torch._dynamo.config.patch(error_on_recompile=True):
        if way == "each":
            for layer in layers:
                layer.compile(fullgraph=True, backend="aot_eager")
            found = forward(x)
        else:
            found = torch.compile(forward, fullgraph=True, backend="aot_eager")(x)
    torch.testing.assert_close(found, expected)
    assert counters["stats"]["unique_graphs"] == 1
    found.sum().backward()
    assert layers[0].weight.grad is not None


def test_a_backward_that_changes_is_compiled_again() -> None:
    k = build(SimpleNamespace(factor=1.0))
    settings = SimpleNamespace(factor=2.0)
    pair = differentiable_kernel(k, lambda x, g: g * settings.factor)
    call = compiled(lambda x: pair(x).sum())
    for factor in (2.0, 3.0, 3.0):
        settings.factor = factor
        x = torch.randn(32, requires_grad=True)
        call(x).backward()
        assert torch.equal(x.grad, torch.full((32,), factor))
    assert counters["stats"]["unique_graphs"] == 2


def test_a_backward_that_cannot_be_compared_is_read_by_dynamo() -> None:
    k = build(SimpleNamespace(factor=1.0))
    weight = torch.full((32,), 2.0)  # no text says what a tensor holds
    pair = differentiable_kernel(k, lambda x, g: g * weight)
    assert pair._operator_name == ""
    x = torch.randn(32, requires_grad=True)
    compiled(lambda x: pair(x).sum())(x).backward()
    assert torch.equal(x.grad, weight)


# --- caches ---------------------------------------------------------------------------------------


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    program = str(TESTS / "support" / "transformer.py")
    first, second = (run(program, TORCHINDUCTOR_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert first["autograd_cache_miss"] == first["autograd_cache_saved"] == 2
    assert second == {"autograd_cache_hit": 2, "fxgraph_cache_hit": first["fxgraph_cache_miss"]}


# --- what others hang on operators ----------------------------------------------------------------


def test_flops_are_counted_by_a_formula() -> None:
    from torch.utils.flop_counter import FlopCounterMode

    k = sample_kernels.build_vector_add()
    packet = packet_of(k._operator_name)

    def formula(first: Any, *rest: Any, out_shape: Any = None, **options: Any) -> int:
        return int(first[0])

    x = torch.ones(64)
    with FlopCounterMode(display=False, custom_mapping={packet: formula}) as counter:
        k(x, x)
        k(x, x, BLOCK=128)
    assert counter.get_total_flops() == 128


@pytest.mark.parametrize("is_compiled", [False, True])
def test_checkpoints_choose_by_operator(is_compiled: bool) -> None:
    from torch.utils.checkpoint import (
        CheckpointPolicy,
        checkpoint,
        create_selective_checkpoint_contexts,
    )

    pair = transformer.build_norm()
    x = torch.randn(transformer.ROWS, transformer.COLUMNS, requires_grad=True)
    w = torch.randn(transformer.COLUMNS, requires_grad=True)
    ran: list[str] = []

    def count(policy: Any) -> int:
        def choose(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
            if "pyptx::weigh" not in op._schema.name:
                return CheckpointPolicy.PREFER_RECOMPUTE
            ran.append(op._schema.name)
            return policy

        def contexts() -> Any:
            return create_selective_checkpoint_contexts(choose)

        def run_block(x: Any, w: Any) -> Any:
            return checkpoint(
                lambda x: torch.sigmoid(pair(x * 2, w)), x, use_reentrant=False, context_fn=contexts
            )

        calls = torch.compile(run_block, backend="aot_eager") if is_compiled else run_block
        found = torch.autograd.grad(calls(x, w).sum(), (x, w))
        wanted = torch.autograd.grad(torch.sigmoid(x * 2 * w).sum(), (x, w))
        torch.testing.assert_close(found, wanted)
        return len(ran)

    assert count(CheckpointPolicy.MUST_SAVE) > 0
    assert count(CheckpointPolicy.MUST_RECOMPUTE) > 0


# --- gradients ------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_gradients_of_torch_func_are_compiled(backend: str) -> None:
    pair = transformer.build_norm()
    x, w = torch.randn(transformer.ROWS, transformer.COLUMNS), torch.randn(transformer.COLUMNS)
    batch = torch.stack([x, x + 1])

    def loss(x: Any, w: Any) -> Any:
        return pair(x, w).square().sum()

    for function, args in (
        (torch.func.grad(loss, argnums=(0, 1)), (x, w)),
        (torch.func.vmap(torch.func.grad(loss), in_dims=(0, None)), (batch, w)),
        (lambda x, w: torch.func.vjp(pair, x, w)[1](torch.ones_like(x)), (x, w)),
    ):
        found = torch.compile(function, fullgraph=True, backend=backend)(*args)
        torch.testing.assert_close(found, function(*args))
    expected = 2 * x * w * w
    torch.testing.assert_close(
        torch.compile(torch.func.grad(loss), backend=backend)(x, w), expected
    )


def test_what_a_gradient_lacks_is_said_in_compiled_transforms() -> None:
    k, pair = sample_kernels.build_scale(2.0), transformer.build_norm()
    x, w = torch.randn(32), torch.randn(transformer.ROWS, transformer.COLUMNS)
    with pytest.raises(Exception, match="has no backward kernel; wrap it"):
        torch.compile(torch.func.grad(lambda x: k(x).sum()))(x)
    with pytest.raises(Exception, match="has no forward-mode derivative"):
        torch.compile(lambda w: torch.func.jvp(lambda w: pair(w, x), (w,), (w,)))(w)
