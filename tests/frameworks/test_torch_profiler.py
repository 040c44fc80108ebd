# SPDX-License-Identifier: Apache-2.0
"""What torch's profiler shows of kernels: their names, eager and compiled."""

from __future__ import annotations

from typing import Any

import pytest

from pyptx import kernels
from pyptx._errors import Error
from support.packages import need
from support.processes import run_python
from support.transformer import COLUMNS, build_norm, build_weigh

torch = need("torch")

from torch.profiler import ProfilerActivity, profile  # noqa: E402

X, W = torch.randn(4, COLUMNS), torch.randn(COLUMNS)


def shown(call: Any, **options: Any) -> list[Any]:
    """Return what a profile has of ours."""
    with profile(activities=[ProfilerActivity.CPU], **options) as seen:
        call()
    ours = [e for e in seen.events() if "weigh" in e.name or "rms" in e.name or "scale" in e.name]
    return [(e.name, e.input_shapes) if options else e.name for e in ours]


def test_an_eager_call_has_the_kernels_name() -> None:
    k = build_weigh()
    for _ in range(2):  # the first is traced and assembled, the second is one C call
        assert shown(lambda: k(X, W)) == ["pyptx::weigh"]
    assert shown(lambda: k(X, W, out=torch.empty_like(X))) == ["pyptx::weigh"]
    named = build_weigh(op="profiled::weigh")
    assert shown(lambda: named(X, W)) == ["profiled::weigh"]
    assert shown(lambda: kernels.rms_norm(X, W))[0] == "pyptx::rms_norm"


def test_shapes_are_those_of_the_inputs() -> None:
    k = build_weigh()
    assert shown(lambda: k(X, W), record_shapes=True) == [
        ("pyptx::weigh", [[4, COLUMNS], [COLUMNS]])
    ]


def test_gradients_too() -> None:
    pair, x = build_norm(), X.clone().requires_grad_()
    assert shown(lambda: pair(x, W).sum().backward()) == ["pyptx::weigh"] * 2


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_a_compiled_call_has_it(backend: str) -> None:
    k = build_weigh()
    call = torch.compile(lambda x, w: k(x * 2, w).relu(), fullgraph=True, backend=backend)
    call(X, W)
    [name] = shown(lambda: call(X, W))
    assert name.startswith("pyptx::weigh")


def test_an_error_leaves_the_profile_in_order() -> None:
    k = build_weigh()

    def fail() -> None:
        with pytest.raises(Error):
            k(X, W[:3])
        torch.ones(3)

    with profile(activities=[ProfilerActivity.CPU]) as seen:
        fail()
    parents = {event.name: event.cpu_parent for event in seen.events()}
    assert parents["pyptx::weigh"] is None
    assert parents["aten::ones"] is None


def test_the_first_call_of_a_process_also_without_torch_s_internals() -> None:
    program = """
import torch
from pyptx.types import f32
from support.transformer import build_weigh
k = build_weigh(autocast=f32)
x, w = torch.ones(2, 32), torch.ones(32)
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
    k(x, w)
with torch.autocast("cpu", dtype=torch.bfloat16):
    assert k(x.bfloat16(), w).dtype == torch.float32
print([e.name for e in seen.events() if "weigh" in e.name])
"""
    assert run_python("-c", program, PYPTX_TORCH_INTERNALS="0") == "['pyptx::weigh']"


def test_ranges_of_nvtx_are_pushed_and_popped() -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    k = build_weigh()
    with torch.autograd.profiler.emit_nvtx():
        assert torch.equal(k(X.cuda(), W.cuda()).cpu(), X * W)
