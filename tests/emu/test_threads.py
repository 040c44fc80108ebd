# SPDX-License-Identifier: Apache-2.0
"""The same seed gives the same bits and the same reports on one, two and four host threads."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from pyptx import EmulatorError, Tile, kernel, ptx, reg
from pyptx.types import f32, u32
from support.example_modules import example
from support.packages import need
from support.planted.bugs import Planted, run
from support.planted.cases import CASES

THREADS = (1, 2, 4)
SCHEDULES = (("latest", 0), ("random", 5))


def floats(*shape: int) -> Any:
    """Random numbers, the same each time."""
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


def bits_of(result: Any) -> list[bytes]:
    """The bytes of one output or several."""
    outputs = result if isinstance(result, tuple) else (result,)
    return [np.ascontiguousarray(np.asarray(one)).tobytes() for one in outputs]


def assert_same_everywhere(k: Any, *inputs: Any) -> None:
    """Run on every number of threads; outputs and counts must not differ."""
    for schedule, seed in SCHEDULES:
        for checks, numerics in (("basic", "fast"), ("races", "exact")):
            runs = []
            for threads in THREADS:
                result, report = k.emulate(
                    *inputs,
                    seed=seed,
                    schedule=schedule,
                    threads=threads,
                    checks=checks,
                    numerics=numerics,
                    report=True,
                )
                runs.append((bits_of(result), report))
            assert runs[0] == runs[1] == runs[2], (schedule, checks)


@pytest.mark.parametrize("name", ["rms_norm", "layer_norm", "softmax", "swiglu"])
def test_rows(name: str) -> None:
    columns = 512 if name == "rms_norm" else 500
    x, w = floats(12, columns), floats(columns)
    inputs = {"rms_norm": [x, w], "layer_norm": [x, w, w], "softmax": [x], "swiglu": [x, x]}
    build = getattr(example(f"hopper/{name}"), f"build_{name}")
    assert_same_everywhere(build(12, columns), *inputs[name])


@pytest.mark.parametrize("path", ["ampere/gemm", "hopper/gemm", "hopper/clustered_gemm"])
def test_products(path: str) -> None:
    torch = need("torch")
    build = getattr(example(path), f"build_{path.split('/')[1]}")
    a, b = (torch.from_numpy(floats(rows, 136)).to(torch.bfloat16) for rows in (300, 200))
    assert_same_everywhere(build(), a, b)


def test_grouped_products() -> None:
    torch = need("torch")
    sizes, n, k = (5, 0, 130, 1), 72, 136
    offsets = torch.tensor([0, *np.cumsum(sizes)], dtype=torch.int32)
    grouped = example("hopper/grouped_gemm").build_grouped_gemm(len(sizes))
    x = torch.from_numpy(floats(sum(sizes), k)).to(torch.bfloat16)
    w = torch.from_numpy(floats(len(sizes), n, k)).to(torch.bfloat16)
    assert_same_everywhere(grouped, x, w, offsets)


def test_atomics_and_polling() -> None:
    """A sum whose order shows, and CTAs that wait for the flag of the one behind them."""

    @kernel(
        in_specs=(Tile(1024, f32),),
        out_specs=(Tile(32, f32), Tile(32, u32)),
        grid=(32, 1, 1),
        block=(32, 1, 1),
    )
    def chain(X, Y, F):
        px, py, pf = ptx.global_ptrs(X, Y, F)
        lane = reg.from_(ptx.special.tid.x(), u32)
        cta = reg.from_(ptx.special.ctaid.x(), u32)
        value = reg.scalar(f32)
        ptx.inst.ld.global_.f32(value, ptx.addr(px + (cta * 32 + lane) * 4))
        ptx.inst.red.global_.add.f32(ptx.addr(py), value)
        flag = pf + cta * 4
        with ptx.if_(lane == 0):
            seen = reg.scalar(u32, init=0)
            with ptx.if_(cta < 31):
                ptx.label("POLL")
                ptx.inst.ld.acquire.gpu.global_.u32(seen, ptx.addr(flag, 4))
                ptx.bra("POLL", pred=seen == 0)
            ptx.inst.st.release.gpu.global_.u32(ptx.addr(flag), seen + 1)
        ptx.ret()

    zeros = np.zeros(32, np.float32), np.zeros(32, np.uint32)
    for threads in THREADS:
        outs = [one.copy() for one in zeros]
        chain.emulate(floats(1024), out=outs, threads=threads, seed=3)
        if threads == 1:
            first = bits_of(tuple(outs))
            assert outs[1].tolist() == list(range(32, 0, -1))
        assert bits_of(tuple(outs)) == first


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reports(case: Planted) -> None:
    k = case.build(broken=True)
    told = set()
    for threads in THREADS:
        with pytest.raises(EmulatorError) as caught:
            run(case, k, seed=5, schedule="random", threads=threads)
        # Outputs lie where the host has room for them.
        told.add(re.sub(r"0x[0-9a-f]{9,}|byte \d+", "", str(caught.value)))
    assert len(told) == 1
