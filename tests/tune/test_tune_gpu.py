# SPDX-License-Identifier: Apache-2.0
"""`pyptx.tune` on a GPU: the clock, and that neither a hang nor a fault reaches this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pyptx
from pyptx import _core
from support.packages import need
from support.tuned_kernels import build, doubled

torch = need("torch")
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


@pytest.fixture
def x() -> Any:
    return torch.arange(1, (1 << 22) + 1, device="cuda", dtype=torch.float32)


def test_the_fastest_is_timed_and_remembered(x: Any, tmp_path: Path) -> None:
    # One CTA of 32 threads for each 32 elements is far from the speed of memory.
    space = {"THREADS": [32, 256], "ITEMS": [1, 4]}
    found = pyptx.tune(build, space, (x,), remember=tmp_path)
    assert found.how == "timed"
    assert found.config["THREADS"] == 256
    assert all(trial.time for trial in found.trials if trial.status == "timed")
    assert torch.equal(found(x), 2 * x)
    again = pyptx.tune(build, space, (x,), remember=tmp_path)
    assert (again.how, again.config) == ("remembered", found.config)


@pytest.mark.parametrize("search", ["halving", "exhaustive"])
def test_a_hang_and_a_fault_stay_in_their_process(x: Any, search: str) -> None:
    space = [{"ITEMS": 1}, {"FAULT": "hang"}, {"FAULT": "outside"}, {"FAULT": "wrong"}]
    space.append({"ITEMS": 2})
    found = pyptx.tune(build, space, (x,), timeout=2, search=search, remember=False)
    assert [trial.status for trial in found.trials][1:4] == ["failed", "failed", "wrong"]
    assert "in 2 s" in found.trials[1].why
    assert "PTX0702" in found.trials[2].why
    assert found.best.time is not None
    assert torch.equal(found(x), 2 * x)  # this context has seen nothing of it


def test_in_this_process_and_with_a_warm_cache(x: Any) -> None:
    small = x[: 1 << 16]
    options: dict[str, Any] = {"isolate": False, "remember": False, "search": "exhaustive"}
    cold = pyptx.tune(doubled, {"ITEMS": [1, 2]}, (small,), **options)
    warm = pyptx.tune(doubled, {"ITEMS": [1, 2]}, (small,), cold=False, **options)
    assert warm.best.time is not None
    assert cold.best.time is not None
    assert warm.best.time < cold.best.time


def test_deterministic_is_the_same_without_a_clock(x: Any) -> None:
    space = {"THREADS": [32, 256], "ITEMS": [1, 4]}
    found = [pyptx.tune(build, space, (x,), deterministic=True, remember=False) for _ in range(2)]
    assert [each.how for each in found] == ["static", "static"]
    assert found[0].config == found[1].config
    assert not any(trial.seconds for trial in found[0].trials)


def test_arrays_of_jax(x: Any) -> None:
    jax = need("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX has no GPU")
    array = jax.numpy.arange(1 << 16, dtype=jax.numpy.float32)
    found = pyptx.tune(doubled, {"ITEMS": [1, 2]}, (array,), remember=False)
    assert found.how == "timed"
    assert (found(array) == 2 * array).all()


def test_memory_streams_and_events() -> None:
    """What the worker is made of."""
    stream = _core.Stream.create(0)
    memory = _core.DeviceMemory.allocate(0, 1 << 20)
    data = bytes(range(256)) * 4096
    start, end = _core.Event.create(0), _core.Event.create(0)
    stream.record(start)
    memory.write(data, stream)
    stream.record(end)
    assert memory.read(stream) == data
    stream.synchronize()
    assert end.milliseconds_since(start) > 0
    with pytest.raises(ValueError, match="another size"):
        memory.write(b"", stream)
