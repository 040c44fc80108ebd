# SPDX-License-Identifier: Apache-2.0
"""A model with kernels on two processes of torch.distributed: each function here is one way.

As a program, `torch_on_two_processes.py RANK STORE DEVICE`, it runs them all, and prints what each
of them came to as JSON: "" where it is right.
"""

from __future__ import annotations

import json
import sys
import traceback
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.experimental import register_sharding
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

from pyptx import differentiable_kernel, kernels
from pyptx.kernels.norms import build_norm
from pyptx.kernels.norms_backward import build_norm_backward
from pyptx.types import f32
from support.model import (
    Mlp,
    Norm,
    assert_close,
    expected,
    gradients,
    in_float64,
    loss_of,
    made,
    tokens_for,
)
from support.model_kernels import WIDTH, rms_forward, rms_norm
from support.partial_kernels import build_weighted, build_weighted_backward
from support.transformer import COLUMNS, build_weigh

COUNT = 2


class Place:
    """Which of the processes this is, and its devices."""

    def __init__(self, rank: int, device: str) -> None:
        self.rank, self.device = rank, device
        self.mesh = init_device_mesh(device, (COUNT,))

    def tokens(self) -> tuple[Any, Any]:
        """Return the tokens of all, and those of this process."""
        tokens = tokens_for(2 * COUNT, 6, self.device)
        return tokens, tokens.chunk(COUNT)[self.rank]

    def random(self, *shape: int, seed: int = 0) -> Any:
        generator = torch.Generator().manual_seed(seed)
        return torch.randn(shape, generator=generator).to(self.device)

    def spread(self, tensor: Any, placement: Any) -> Any:
        """Return a DTensor that is divided so."""
        return distribute_tensor(tensor.clone(), self.mesh, [placement])


def whole(found: dict[str, Any]) -> dict[str, Any]:
    """Return tensors with all their parts."""
    return {n: x.full_tensor() if isinstance(x, DTensor) else x for n, x in found.items()}


def mean_loss(loss: Any) -> Any:
    total = loss.detach().clone()
    dist.all_reduce(total)
    return total / COUNT


# --- the batch is divided -------------------------------------------------------------------------


def data_parallel(place: Place) -> None:
    model = made(place.device)
    tokens, mine = place.tokens()
    wrapped = DistributedDataParallel(model)
    loss = loss_of(wrapped, mine)
    loss.backward()
    found = {n: p.grad for n, p in model.named_parameters()} | {"loss": mean_loss(loss)}
    assert_close(found, expected(model, tokens))


def data_parallel_compiled(place: Place) -> None:
    model = made(place.device)
    tokens, mine = place.tokens()
    wrapped = torch.compile(DistributedDataParallel(model), backend="aot_eager")
    loss = loss_of(wrapped, mine)
    loss.backward()
    found = {n: p.grad for n, p in model.named_parameters()} | {"loss": mean_loss(loss)}
    assert_close(found, expected(model, tokens))


def fully_sharded(place: Place) -> None:
    model = made(place.device)
    tokens, mine = place.tokens()
    wanted = expected(model, tokens)
    for block in model.blocks:
        fully_shard(block, mesh=place.mesh)
    fully_shard(model, mesh=place.mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for step in range(3):
        optimizer.zero_grad()
        loss = loss_of(model, mine)
        loss.backward()
        if step == 0:
            grads = {n: p.grad for n, p in model.named_parameters()}
            assert all(isinstance(grad, DTensor) for grad in grads.values())
            assert_close(whole(grads) | {"loss": mean_loss(loss)}, wanted)
        optimizer.step()
        losses.append(mean_loss(loss).item())
    assert losses[0] > losses[1] > losses[2], losses


# --- DTensors -------------------------------------------------------------------------------------


class Residual(nn.Module):
    """The part of a block that works on tokens alone."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.mlp = Norm(), Mlp()

    def forward(self, x: Any) -> Any:
        return x + self.mlp(self.norm(x))


def sequence_and_tensor_parallel(place: Place) -> None:
    torch.manual_seed(0)
    model = Residual().to(place.device)
    twin, x = in_float64_of(model), place.random(6, WIDTH)
    wanted = gradients(twin, twin(x.double()).square().sum())
    rows: dict[str, Any] = {"use_local_output": False}
    plan = {
        "up": ColwiseParallel(input_layouts=Shard(0), output_layouts=Shard(0), **rows),
        "down": RowwiseParallel(input_layouts=Shard(0), output_layouts=Shard(0), **rows),
    }
    parallelize_module(model.mlp, place.mesh, plan)
    model.norm.weight = nn.Parameter(place.spread(model.norm.weight.detach(), Replicate()))
    y = model(place.spread(x, Shard(0)))
    assert y.placements == (Shard(0),)
    found = gradients(model, y.square().sum())
    assert_close(whole(found), wanted)


def in_float64_of(module: Any) -> Any:
    module.checkpoint = None
    return in_float64(module)


def a_divided_batch_moves_nothing(place: Place) -> None:
    x, w = place.spread(place.random(6, WIDTH), Shard(0)), place.random(WIDTH)
    w = place.spread(w, Replicate())
    with CommDebugMode() as moved:
        y, r = rms_forward(x, w)
        z = rms_norm(x.requires_grad_(), w.requires_grad_())
        dx, dw = torch.autograd.grad(z, (x, w), torch.ones_like(z))
    assert moved.get_total_counts() == 0, moved.get_comm_counts()
    assert y.placements == r.placements == z.placements == dx.placements == (Shard(0),)
    assert dw.placements == (Partial(),)
    assert y.shape == (6, WIDTH)
    assert r.shape == (6,)
    # A batch that does not divide evenly.
    y, _ = rms_forward(place.spread(place.random(5, WIDTH), Shard(0)), w.detach())
    assert y.placements == (Shard(0),)
    torch.testing.assert_close(
        y.full_tensor(), rms_forward(place.random(5, WIDTH), w.to_local().detach())[0]
    )


def other_dimensions_are_gathered(place: Place) -> None:
    x, w = place.random(6, COLUMNS), place.random(COLUMNS)
    for k in (build_weighted(), build_weigh()):
        y = k(place.spread(x, Shard(1)), place.spread(w, Shard(0)))
        assert y.placements == (Replicate(),)
        assert torch.equal(y.full_tensor(), x * w)
    y = build_weigh()(place.spread(x, Shard(0)), place.spread(w, Replicate()))  # without batch=
    assert y.placements == (Replicate(),)
    assert torch.equal(y.full_tensor(), x * w)


def a_sum_that_is_waiting_is_added_up(place: Place) -> None:
    w = place.random(COLUMNS)
    part = DTensor.from_local(place.random(6, COLUMNS), place.mesh, [Partial()])
    y = build_weighted()(part, place.spread(w, Replicate()))
    torch.testing.assert_close(y.full_tensor(), place.random(6, COLUMNS) * COUNT * w)


def sums_over_the_batch_are_partial(place: Place) -> None:
    x, g, w = place.random(6, COLUMNS), place.random(6, COLUMNS, seed=1), place.random(COLUMNS)
    given = [place.spread(x, Shard(0)), place.spread(w, Replicate()), place.spread(g, Shard(0))]
    dx, dw = build_weighted_backward()(*given)
    assert dx.placements == (Shard(0),)
    assert dw.placements == (Partial(),)
    torch.testing.assert_close(dw.full_tensor(), (x * g).sum(0))


def backwards_of_several_launches(place: Place) -> None:
    """Those of the library: their parts of a sum cross no devices."""
    x, w = place.random(6, 64), place.random(64)
    pair = kernels_pair()
    leaves = [place.spread(x, Shard(0)), place.spread(w, Replicate())]
    for leaf in leaves:
        leaf.requires_grad_()
    with CommDebugMode() as moved:
        y = pair(*leaves)
        dx, dw = torch.autograd.grad(y, leaves, torch.ones_like(y))
    assert moved.get_total_counts() == 0, moved.get_comm_counts()
    assert (dx.placements, dw.placements) == ((Shard(0),), (Partial(),))
    alone = [x.clone().requires_grad_(), w.clone().requires_grad_()]
    y = pair(*alone)
    wanted = torch.autograd.grad(y, alone, torch.ones_like(y))
    torch.testing.assert_close((dx.full_tensor(), dw.full_tensor()), wanted)


def kernels_pair() -> Any:
    """Return RMSNorm as the library builds it, for 64 columns."""
    built = build_norm("rms", 64, f32, eps=1e-6), build_norm_backward("rms", 64, f32, eps=1e-6)
    return differentiable_kernel(*built)


def functions_over_rows(place: Place) -> None:
    """The library's: tokens stay where they are, whichever dimension of them is divided."""
    x, w, g = place.random(2, 4, 64), place.random(64), place.random(2, 4, 64, seed=1)
    targets = torch.arange(8, device=place.device).view(2, 4)
    cases: list[tuple[Any, list[Any]]] = [
        (kernels.rms_norm, [x, w]),
        (lambda x, w, r: kernels.rms_norm(x, w, residual=r)[0], [x, w, g]),
        (kernels.layer_norm, [x, w, w]),
        (kernels.softmax, [x]),
        (kernels.swiglu, [x, g]),
        (kernels.cross_entropy, [x, targets]),
    ]
    for function, arrays in cases:
        for placement in (Shard(0), Shard(1)):
            spread = [place.spread(a, Replicate() if a is w else placement) for a in arrays]
            alone = [a.clone() for a in arrays]
            assert_same_gradients(function, spread, alone, placement)
    with CommDebugMode() as moved:
        y = kernels.softmax(place.spread(x, Shard(2)))
    assert y.placements == (Replicate(),)
    assert moved.get_total_counts() > 0


def assert_same_gradients(function: Any, spread: Any, alone: Any, placement: Any) -> None:
    results = []
    for arrays in (spread, alone):
        leaves = [a.requires_grad_() for a in arrays if a.is_floating_point()]
        with CommDebugMode() as moved:
            y = function(*arrays)
            found = torch.autograd.grad(y, leaves, torch.ones_like(y))
        assert moved.get_total_counts() == 0, moved.get_comm_counts()
        results.append((y, *found))
    assert results[0][0].placements == (placement,)
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one.full_tensor(), other)


def compiled_on_dtensors(place: Place) -> None:
    x, w = place.random(6, WIDTH), place.random(WIDTH)
    leaves = [place.spread(x, Shard(0)), place.spread(w, Replicate())]
    for leaf in leaves:
        leaf.requires_grad_()
    call = torch.compile(lambda x, w: rms_norm(x, w) * 2, fullgraph=True, backend="aot_eager")
    y = call(*leaves)
    found = torch.autograd.grad(y.sum(), leaves)
    alone = [x.clone().requires_grad_(), w.clone().requires_grad_()]
    wanted = torch.autograd.grad((rms_norm(*alone) * 2).sum(), alone)
    torch.testing.assert_close(tuple(f.full_tensor() for f in found), wanted)
    call = torch.compile(kernels.rms_norm, fullgraph=True, backend="aot_eager")
    tokens = place.random(2, 4, WIDTH)
    y = call(place.spread(tokens, Shard(1)), leaves[1])
    assert y.placements == (Shard(1),)
    torch.testing.assert_close(y.full_tensor(), kernels.rms_norm(tokens, w))


def a_strategy_of_the_author_s_own(place: Place) -> None:
    k = build_weigh(op="two::weigh")

    @register_sharding(torch.ops.two.weigh.default)
    def columns(x: Any, w: Any, **_: Any) -> Any:
        return [([Replicate()], [Replicate(), Replicate()]), ([Shard(0)], [Shard(0), Replicate()])]

    x, w = place.random(6, COLUMNS), place.random(COLUMNS)
    y = k(place.spread(x, Shard(0)), place.spread(w, Replicate()))
    assert y.placements == (Shard(0),)
    assert torch.equal(y.full_tensor(), x * w)


def what_cannot_be_is_said(place: Place) -> None:
    x, w = place.spread(place.random(6, COLUMNS), Shard(0)), place.random(COLUMNS)
    k = build_weighted()
    for words, call in (
        ("a call that writes its arguments takes no DTensor", lambda: k(x, x, out=x)),
        ("got mixed torch.Tensor and DTensor", lambda: k(x, w)),
        ("argument 'W'", lambda: k(x, place.spread(w[:-1], Replicate()))),
    ):
        with pytest.raises(Exception, match=words):
            call()


WAYS = (
    data_parallel,
    data_parallel_compiled,
    fully_sharded,
    sequence_and_tensor_parallel,
    a_divided_batch_moves_nothing,
    other_dimensions_are_gathered,
    a_sum_that_is_waiting_is_added_up,
    sums_over_the_batch_are_partial,
    backwards_of_several_launches,
    functions_over_rows,
    compiled_on_dtensors,
    a_strategy_of_the_author_s_own,
    what_cannot_be_is_said,
)


def main(rank: int, store: str, device: str) -> None:
    torch.set_num_threads(1)
    if device == "cuda":
        torch.cuda.set_device(rank)
    backend = "nccl" if device == "cuda" else "gloo"
    dist.init_process_group(backend, init_method=f"file://{store}", rank=rank, world_size=COUNT)
    place, found = Place(rank, device), {}
    for way in WAYS:
        try:
            way(place)
            found[way.__name__] = ""
        except Exception:
            found[way.__name__] = traceback.format_exc()
    print(json.dumps(found), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3])
