# SPDX-License-Identifier: Apache-2.0
"""How the C entry learns to read torch's tensors, and what it does where it cannot learn."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from pyptx import Tile, _core, kernel, ptx
from pyptx._errors import LaunchError
from pyptx.types import f32
from support import sample_kernels
from support.packages import need

torch = need("torch")

from pyptx._torch import samples  # noqa: E402

LIES = {
    "the place of a tensor in its object was not found": "(row[0], row[1] + 8, *row[2:])",
    "the place of a tensor's dispatch keys was not found": "(*row[:2], row[2] ^ 1, *row[3:])",
    "sample 0 is read differently by the exchange API": "(*row[:3], not row[3], *row[4:])",
    "": "(*row[:5], 0, not row[6])",  # torch is asked for what was not found
}

PROGRAM = """
import sys
sys.path[:0] = {path!r}
import torch
from pyptx import _core
from pyptx._torch import samples
true_facts = samples.facts
samples.facts = lambda tensor: (lambda row: {lie})(true_facts(tensor))
from support import sample_kernels
k = sample_kernels.build_vector_add()
for n in (8, 8, 9, 8):
    x, y = torch.randn(n), torch.randn(n)
    assert torch.equal(k(x, y), x + y)
    assert torch.equal(k(x, y, out=torch.empty(n)), x + y)
assert k._live.entry.hits == 6, k._live.entry.hits
print(_core.torch_indirect(None))
"""


@pytest.mark.parametrize("reason", LIES)
def test_where_a_sample_is_not_as_told_the_exchange_api_serves(reason: str) -> None:
    code = PROGRAM.format(path=sys.path, lie=LIES[reason])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == reason


def test_this_torch_is_read_directly() -> None:
    assert _core.torch_indirect(None) == ""


@pytest.mark.parametrize("rank", range(8))
def test_every_rank_is_read(rank: int) -> None:
    """Shapes beyond five dimensions lie elsewhere."""
    tile = Tile(*range(1, rank + 1), f32)

    @kernel(in_specs=(tile,), out_specs=(tile,), block=(1, 1, 1))
    def nothing(X: Any, Y: Any) -> None:
        ptx.ret()

    x = torch.zeros(tuple(range(1, rank + 1)))
    for _ in range(2):
        assert nothing(x).shape == x.shape
    hits = nothing._live.entry.hits
    assert hits == 1
    if rank >= 3:
        with pytest.raises(LaunchError, match="strides"):
            nothing(torch.zeros(*reversed(x.shape)).permute(*reversed(range(rank))))
    assert nothing._live.entry.hits == hits


def test_strides_of_single_elements_are_free() -> None:
    tile = Tile(1, 2, f32)

    @kernel(in_specs=(tile,), out_specs=(tile,), block=(1, 1, 1))
    def nothing(X: Any, Y: Any) -> None:
        ptx.ret()

    x = torch.zeros(8)
    for strides in ((2, 1), (77, 1), (0, 1)):
        nothing(x.as_strided((1, 2), strides), out=x.as_strided((1, 2), strides, 4))
    assert (nothing._live.entry.hits, nothing._live.entry.misses) == (2, 1)
    with pytest.raises(LaunchError, match="strides"):
        nothing(x.as_strided((1, 2), (2, 2)))


def test_peculiar_tensors_are_left_to_the_slow_path() -> None:
    k = sample_kernels.build_vector_add()
    x = torch.randn(2)
    k(x, x)
    hits = k._live.entry.hits
    outcomes = []
    for tensor, *_ in samples.peculiar():
        try:
            k(tensor, x)
            outcomes.append("ran")
        except (LaunchError, RuntimeError) as error:
            outcomes.append(str(error))
    assert k._live.entry.hits == hits
    conjugated, negated, meta, sparse, functional, batched = outcomes
    assert negated == "ran"
    assert "is on meta" in meta
    assert "complex64" in conjugated
    assert "sparse" in sparse
    assert "has no memory of its own" in functional
    assert "has no memory of its own" in batched


class Watching(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def test_a_default_device_does_not_slow_a_call_down() -> None:
    """It is a function mode, but says only where new tensors go."""
    k = sample_kernels.build_vector_add()
    x = torch.randn(8)
    k(x, x)
    entry = k._live.entry
    with torch.device("cpu"), torch.device("meta"):
        for hits in (1, 2):
            assert k(x, x).device == x.device
            assert (entry.hits, entry.misses) == (hits, 1)
    with Watching(), torch.device("cpu"):
        k(x, x)
        assert entry.misses == 2


def test_a_warm_call_is_seen_by_a_jit_trace() -> None:
    k, x = sample_kernels.build_vector_add(), torch.randn(8)
    k(x, x)
    traced = torch.jit.trace(lambda y: y + k(y, y), (x,), check_trace=False)
    torch.testing.assert_close(traced(2 * x), 6 * x)
