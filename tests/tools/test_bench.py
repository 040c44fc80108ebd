# SPDX-License-Identifier: Apache-2.0
"""The launch bench runs, every arm of it, and says what the samples say."""

from __future__ import annotations

import importlib
import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.packages import need
from support.tree import ROOT

BENCH = ROOT / "bench"
# Compiling takes half a minute; the same kernels are compiled in test_torch_graphs.py.
QUICK = r"^(?!.*torch\.compile)"


def run_bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    # On the CPU also where there is a GPU, so that it is the same everywhere.
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, str(BENCH / "launch.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(BENCH)
    return importlib.import_module


def test_every_arm_runs(module: Any, tmp_path: Path) -> None:
    torch = need("torch")
    need("jax")
    file = tmp_path / "launch.json"
    done = run_bench("--rounds", "1", "--calls", "2", "--only", QUICK, "--json", str(file))
    assert done.returncode == 0, done.stderr
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found["failed"] == {}
    assert set(found["left_out"].values()) == {"needs a GPU"}
    ran = {arm["name"] for arm in found["arms"]}
    groups = module("launch").all_arms(module("arms").Machine(torch, on_gpu=False))
    listed = {arm.name for arms in groups.values() for arm in arms}
    compiled = {name for name in listed if not re.search(QUICK, name)}
    assert len(compiled) == 10
    assert ran | set(found["left_out"]) == listed - compiled
    for name in ("gemm, maps by pointer, out=, fresh tensors", "vector_add, out=, 4 threads"):
        assert name in ran
    for arm in found["arms"]:
        assert len(arm["samples"]) >= max(1, len(arm["against"])), arm["name"]
        for peer in arm["against"]:
            assert peer["peer"] in ran, arm["name"]
            assert len(peer["ratios"]) == 1, arm["name"]
        assert arm["name"] in done.stdout


def test_a_peer_is_an_arm(module: Any) -> None:
    torch = need("torch")
    machine = module("arms").Machine(torch, on_gpu=True)  # nothing is made
    arms = [arm for group in module("launch").all_arms(machine).values() for arm in group]
    names = {arm.name for arm in arms}
    assert len(names) == len(arms)
    assert {peer.peer for arm in arms for peer in arm.against} <= names
    goals = {peer.goal for arm in arms for peer in arm.against}
    assert goals == {None, 0.85, 1.0, 1.02, 1.2, 1.25, 1.3}


def test_an_arm_that_fails_leaves_the_others(
    module: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    launch, arms = module("launch"), module("arms")
    rounds: list[int] = []

    def late(count: int) -> float:
        rounds.append(count)
        if len(rounds) > 2:
            raise RuntimeError("in the second round")
        return 1.0

    def refuse() -> Any:
        raise arms.LeftOutError("not here")

    bench = launch.Bench()
    listed = [
        arms.Arm("good", lambda: lambda count: 2.0),
        arms.Arm("bad", lambda: 1 / 0),
        arms.Arm("late", lambda: late, (arms.Against("good"),)),
        arms.Arm("absent", refuse),
    ]
    bench.make(listed, 5)
    bench.time(listed, 3, 5)
    assert set(bench.samples) == {"good"}
    assert set(bench.samples["good"]) == {2.0}
    assert bench.ratios == {("late", "good"): [0.5]}
    assert bench.left_out == {"absent": "not here"}
    assert bench.failed == {
        "bad": "ZeroDivisionError: division by zero",
        "late": "RuntimeError: in the second round",
    }
    assert "left out, not here: absent" in capsys.readouterr().err


def test_ratios_are_those_of_pairs(module: Any) -> None:
    launch, arms = module("launch"), module("arms")
    # A slow phase in the second round: the medians alone would say 1.0.
    times = {"ours": iter([2.0, 30.0, 6.0]), "theirs": iter([1.0, 10.0, 6.0])}

    def run(name: str) -> Any:
        return lambda: lambda count: next(times[name]) if count else 0.0

    peers = (arms.Against("theirs", 1.5), arms.Against("absent", 1.0))
    listed = [arms.Arm("ours", run("ours"), peers[:1]), arms.Arm("theirs", run("theirs"))]
    bench = launch.Bench()
    bench.make(listed, 0)
    bench.time(listed, 3, 1)
    groups = {"all": [arms.Arm("ours", lambda: None, peers), listed[1]]}
    ours, theirs = launch.results(groups, bench)
    assert ours["seconds"][0] == 6.0
    assert ours["against"][0]["ratios"] == [2.0, 3.0, 1.0]
    assert ours["against"][0]["ratio"][0] == 2.0
    assert ours["against"][0]["met"] is False
    assert "ratio" not in ours["against"][1]
    assert theirs["against"] == []


def test_parameters_of_the_bare_launch(module: Any) -> None:
    torch = need("torch")
    bare, examples, calls = module("bare"), module("arms_examples"), module("arms_calls")
    machine = module("arms").Machine(torch, on_gpu=False)

    def contents(case: Any, outputs: int) -> tuple[Any, list[bytes], list[bytes]]:
        saved = bare.saved_kernel(case.kernel, case.inputs, case.keywords)
        tensors = (*case.inputs, *(torch.empty(1) for _ in range(outputs)))
        addresses = [struct.pack("<Q", tensor.data_ptr()) for tensor in tensors]
        return saved.image.plan, bare.parameter_bytes(case.kernel, saved, tensors), addresses

    plan, found, addresses = contents(examples.clustered_gemm(machine, "value"), 1)
    assert (plan.grid, plan.cluster) == ((2, 1, 1), (2, 1, 1))
    assert found[:3] == addresses
    assert [len(content) for content in found] == [8, 8, 8, 128, 128]
    _, found, _ = contents(examples.gemm(machine, "pointer"), 1)
    assert [len(content) for content in found] == [8, 8, 8, 8, 8]
    _, found, addresses = contents(calls.scaled(machine), 1)
    assert found == [*addresses, struct.pack("<f", calls.ALPHA)]
    laid_out = bare.Parameters(found).addresses
    assert [place % 64 for place in laid_out] == [0, 0, 0]
