# SPDX-License-Identifier: Apache-2.0
"""The code that Inductor writes calls the C entry of a kernel, and sees what has changed."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32
from support import scale_kernel
from support.packages import need
from support.tree import ROOT

torch = need("torch")

from torch._inductor.utils import run_and_get_code  # noqa: E402

from pyptx._torch import inductor  # noqa: E402

SETTINGS = {"factor": 2.0}


def make_times() -> Any:
    @kernel(in_specs=(Tile(1, f32),), out_specs=(Tile(1, f32),), block=(1, 1, 1))
    def times(X, Y):
        store(X, Y)

    return times


def make_powers() -> Any:
    @kernel(in_specs=(Tile(1, f32),), out_specs=(Tile(1, f32),) * 2, block=(1, 1, 1))
    def powers(X, Y, Z):
        store(X, Y, Z)

    return powers


def store(X: Any, *outputs: Any) -> None:
    px, *places = ptx.global_ptrs(X, *outputs)
    value = reg.scalar(f32)
    ptx.inst.ld.global_.f32(value, ptx.addr(px))
    for place in places:
        ptx.inst.mul.f32(value, value, SETTINGS["factor"])
        ptx.inst.st.global_.f32(ptx.addr(place), value)
    ptx.ret()


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Compile anew: a cached graph's code may be older than what writes it."""
    monkeypatch.setitem(SETTINGS, "factor", 2.0)
    torch._dynamo.reset()
    with torch._inductor.config.patch(force_disable_caches=True):
        yield
    torch._dynamo.reset()


def compiled(function: Any, *args: Any, dynamic: bool | None = None) -> tuple[Any, str]:
    """Return the compiled function, called once, and the code that Inductor wrote."""
    made = torch.compile(function, fullgraph=True, dynamic=dynamic)
    _, codes = run_and_get_code(made, *args)
    return made, "\n".join(codes)


def entry_of(k: Any) -> Any:
    """The entry that the code calls: it may be that of another kernel of the same content."""
    return inductor.kernel_of(k._operator_name)._entry


@pytest.mark.parametrize("dynamic", [False, True])
def test_one_output_several_and_out(dynamic: bool) -> None:
    x, out = torch.ones(1), torch.zeros(1)
    one, two = make_times(), make_powers()

    def write(x: Any, out: Any) -> Any:
        one(x, out=out)
        return out + 1

    for function, args, k, expected in (
        (lambda x: one(x) + 1, (x,), one, 3.0),
        (lambda x: sum(two(x)), (x,), two, 6.0),
        (write, (x, out), one, 3.0),
    ):
        made, code = compiled(function, *args, dynamic=dynamic)
        assert f" {k._operator_name}(arg" in code
        assert re.search(r"^\s*(\w+ = )?torch\.ops\.pyptx", code, re.MULTILINE) is None
        entry = entry_of(k)
        hits = entry.hits
        for _ in range(3):
            assert float(made(*args)) == expected
        assert entry.hits == hits + 3


@pytest.mark.parametrize("given", ["alpha", "count", "both"])
def test_scalars_and_template_values(given: str) -> None:
    k = scale_kernel.make_scale()
    fixed = {"alpha": {"count": 7}, "count": {"alpha": 0.5}, "both": {}}[given]
    values = [{"alpha": a, "count": n} for a, n in ((0.5, 7), (2.0, 9), (-1.0, 40))]

    def run(x: Any, options: dict[str, Any]) -> Any:
        return k(x, **options, **fixed)

    x = torch.from_numpy(scale_kernel.X)
    for value in values:
        options = {name: v for name, v in value.items() if name not in fixed}
        made, code = compiled(run, x, options, dynamic=True)
        assert re.search(r"^\s*(\w+ = )?torch\.ops\.pyptx", code, re.MULTILINE) is None
        both = {**options, **fixed}
        wanted = scale_kernel.expected(scale_kernel.X, both["alpha"], both["count"])
        assert (made(x, options).numpy() == wanted).all()


def test_a_change_is_seen_and_learnt() -> None:
    x = torch.ones(1)
    k = make_times()
    made, _ = compiled(k, x)
    for factor in (2.0, 3.0, 5.0):
        SETTINGS["factor"] = factor
        assert float(made(x)) == factor
        entry = entry_of(k)
        asked = entry.misses + entry.stale_calls
        hits = entry.hits
        for _ in range(3):
            assert float(made(x)) == factor
        assert (entry.misses + entry.stale_calls, entry.hits) == (asked, hits + 3)


def test_tensors_are_read_directly_after_a_compiled_call_came_first() -> None:
    # Learning how torch lays out tensors must not look at fake ones.
    program = """
import torch
from vector_add import vector_add
from pyptx import _core
x = torch.ones(1024)
assert torch.equal(torch.compile(vector_add)(x, x), x + x)
assert _core.torch_indirect(None) == "", _core.torch_indirect(None)
"""
    examples = str(ROOT / "examples")
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {examples!r})\n{program}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
