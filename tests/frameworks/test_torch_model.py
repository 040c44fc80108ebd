# SPDX-License-Identifier: Apache-2.0
"""A transformer with kernels in it, trained in each way that torch has, against float64.

Several processes are in test_torch_processes.py, Inductor and its caches in
test_torch_operators.py.
"""

from __future__ import annotations

import copy
import functools
import io
import pickle
from typing import Any

import pytest

from pyptx._errors import Error
from support import model_kernels
from support.model import (
    Model,
    assert_close,
    expected,
    gradients,
    in_float64,
    loss_of,
    made,
    tokens_for,
)
from support.packages import need
from support.processes import run_python
from support.tree import TESTS

torch = need("torch")

from torch.profiler import ProfilerActivity, profile  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402


@pytest.fixture(params=["cpu", "cuda"])
def device(request: Any) -> str:
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    torch._dynamo.reset()
    return str(request.param)


@pytest.fixture(autouse=True)
def _one_thread() -> Any:
    """Sizes are small, and threads that wait for each other cost more than they do."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def compiled(model: Any, **options: Any) -> Any:
    """Return the model for graphs that AOTAutograd makes, whoever runs them."""
    return torch.compile(model, fullgraph=True, backend="aot_eager", **options)


def test_eager(device: str) -> None:
    model, tokens = made(device), tokens_for(2, 7, device)
    assert_close(gradients(model, loss_of(model, tokens)), expected(model, tokens))


def test_compiled_for_any_batch_and_length(device: str) -> None:
    """One graph for fifty sizes; the first two are compiled, as torch takes a first for special."""
    model = made(device)
    call = compiled(model, dynamic=True)
    sizes = [(rows, length) for rows in range(2, 7) for length in range(3, 13)]
    gradients(model, loss_of(call, tokens_for(3, 5, device)))
    with torch._dynamo.config.patch(error_on_recompile=True):
        for seed, (rows, length) in enumerate(sizes):
            tokens = tokens_for(rows, length, device, seed)
            found = gradients(model, loss_of(call, tokens))
            if seed % 10 == 0:
                assert_close(found, expected(model, tokens))
    assert len(sizes) == 50


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpointed(device: str, reentrant: bool) -> None:
    model = made(device, functools.partial(checkpoint, use_reentrant=reentrant))
    tokens = tokens_for(2, 5, device)
    loss = loss_of(model, tokens)
    if reentrant:  # it takes .backward() alone, and inputs that require gradients, as these do
        loss.backward()
        found = {n: p.grad for n, p in model.named_parameters()} | {"loss": loss.detach()}
    else:
        found = gradients(model, loss)
    assert_close(found, expected(model, tokens))


def test_checkpointed_and_compiled(device: str) -> None:
    model = made(device, functools.partial(checkpoint, use_reentrant=False))
    tokens = tokens_for(2, 5, device)
    found = gradients(model, loss_of(compiled(model), tokens))
    assert_close(found, expected(model, tokens))


def test_gradients_of_torch_func(device: str) -> None:
    model, tokens = made(device), tokens_for(3, 5, device)
    weights = {n: p.detach() for n, p in model.named_parameters()}

    def loss(weights: Any, tokens: Any) -> Any:
        return loss_of(lambda t: torch.func.functional_call(model, weights, (t,)), tokens)

    found, value = torch.func.grad_and_value(loss)(weights, tokens)
    assert_close({"loss": value, **found}, expected(model, tokens))
    # The gradients of each sentence: their mean is that of all.
    each = torch.func.vmap(torch.func.grad(lambda w, t: loss(w, t[None])), in_dims=(None, 0))
    means = {name: part.mean(0) for name, part in each(weights, tokens).items()}
    assert_close({"loss": value, **means}, expected(model, tokens))


@pytest.mark.parametrize("how", ["eager", "compiled"])
def test_autocast(device: str, how: str) -> None:
    """The linear maps in bf16, the kernels in f32; weights and their gradients stay f32."""
    model, tokens = made(device), tokens_for(2, 5, device)
    call = compiled(model) if how == "compiled" else model
    with torch.autocast(device, dtype=torch.bfloat16):
        loss = loss_of(call, tokens)
    found = gradients(model, loss)
    assert {x.dtype for x in found.values()} == {torch.float32}
    assert_close(found, expected(model, tokens), tolerance=0.05)


def test_an_optimiser_takes_the_same_way(device: str) -> None:
    model = made(device)
    twin = in_float64(model)
    tokens = tokens_for(4, 6, device)
    losses: dict[Any, list[float]] = {model: [], twin: []}
    for each, seen in losses.items():
        optimizer = torch.optim.AdamW(each.parameters(), lr=3e-3, eps=1e-4)
        for _ in range(10):
            optimizer.zero_grad()
            loss = loss_of(each, tokens)
            loss.backward()
            optimizer.step()
            seen.append(loss.item())
    assert losses[model] == pytest.approx(losses[twin], rel=1e-4)
    assert losses[model][-1] < 0.8 * losses[model][0]


def test_copies_and_files(device: str) -> None:
    model, tokens = made(device), tokens_for(2, 5, device)
    wanted = model(tokens)
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    other = Model().to(device)
    other.load_state_dict(torch.load(file))
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), other):
        assert torch.equal(twin(tokens), wanted)
    pair = pickle.loads(pickle.dumps(model_kernels.rms_norm))
    assert pair.forward is model_kernels.rms_forward
    assert pair.op == "model::rms_norm"


def test_exported(device: str) -> None:
    model, tokens = made(device), tokens_for(2, 5, device)
    program = torch.export.export(model, (tokens,))
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    with torch.no_grad():
        found = torch.export.load(file).module()(tokens)
    torch.testing.assert_close(found, model(tokens))
    ours = [str(node.target) for node in program.graph.nodes if "launch" in str(node.target)]
    assert len(ours) == 7  # the program carries its kernels, by whatever name they are called here
    assert not any(str(node.target).startswith("model.") for node in program.graph.nodes)
    # It knows no gradients of theirs, and says so.
    loss = program.module()(tokens).sum()
    with pytest.raises(Error, match="'rms_forward' has no gradient in this program") as caught:
        loss.backward()
    assert caught.value.diagnostics[0].code == "PTX0862"


def test_a_profile_has_the_names(device: str) -> None:
    model, tokens = made(device), tokens_for(2, 5, device)
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        gradients(model, loss_of(model, tokens))
    counts = {e.key: e.count for e in seen.key_averages() if "rms" in e.key or "swiglu" in e.key}
    assert counts == {
        "model::rms_forward": 5,
        "pyptx::rms_backward": 5,
        "model::swiglu_forward": 2,
        "pyptx::swiglu_backward": 2,
    }


def test_many_steps_and_sizes_hold_no_memory(device: str) -> None:
    """As tests/gpu/model_soak.py, which takes more of both."""
    program = str(TESTS / "gpu" / "model_soak.py")
    run_python(program, "--device", device, "--steps", "200", "--sizes", "560")


def test_graphs_of_cuda() -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    model, tokens = made("cuda"), tokens_for(2, 7, "cuda")
    wanted = expected(model, tokens)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            gradients(model, loss_of(model, tokens))
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = gradients(model, loss_of(model, tokens))
    graph.replay()
    assert_close(found, wanted)
    other = tokens_for(2, 7, "cuda", seed=1)
    tokens.copy_(other)
    graph.replay()
    assert_close(found, expected(model, other))
    call = torch.compile(model, fullgraph=True, mode="reduce-overhead")
    for _ in range(3):
        again = gradients(model, loss_of(call, tokens))
    assert_close(again, expected(model, other))
