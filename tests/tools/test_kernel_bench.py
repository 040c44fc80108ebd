# SPDX-License-Identifier: Apache-2.0
"""The kernel bench runs every kernel on the emulator, and believes no arm that is wrong."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from pyptx import kernels
from support.packages import need
from support.tree import ROOT

torch = need("torch")

BENCH = ROOT / "bench"
# One of each variant; the other types take the same way.
ONCE = r"f32 .*sustained$|matmul (plain|NN|bias . silu|batched).*bf16.*sustained$"


@pytest.fixture(autouse=True)
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(BENCH)
    return importlib.import_module


@pytest.fixture
def run_bench(module: Any) -> Any:
    return lambda *arguments: module("kernels").main(["--device", "cpu", *map(str, arguments)])


def test_every_kernel_runs(run_bench: Any, tmp_path: Path, capsys: Any) -> None:
    parts = [tmp_path / "1.json", tmp_path / "2.json"]
    for index, path in enumerate(parts, 1):
        options = ("--quick", "--rounds", 1, "--part", f"{index}/2", "--json", path)
        assert run_bench("--only", ONCE, *options) == 0
    both = tmp_path / "a new folder" / "both.json"
    assert run_bench("--merge", *parts, "--json", both) == 0
    record = json.loads(both.read_text(encoding="utf-8"))
    assert record["failed"] == {}
    assert record["left_out"] == []
    assert len(record["seed"]) == 2
    names = {row["name"] for row in record["rows"]}
    capsys.readouterr()
    assert run_bench("--quick", "--list", "--only", ONCE) == 0
    assert names == set(capsys.readouterr().out.splitlines())
    for row in record["rows"]:
        assert row["error"] < 1
        assert {"torch", "cuBLAS"} & (set(row["arms"]) | set(row["absent"])), row["name"]
        assert row["absent"].get("Triton") in ("needs a GPU", *PLAIN), row["name"]
        for arm in row["arms"].values():
            assert 0 < arm["us_10%"] <= arm["us"] <= arm["us_90%"]
            assert arm["ours_10%"] <= arm["ours"] <= arm["ours_90%"]
        assert row["arms"]["pyptx"]["ours"] == 1.0


PLAIN = ("written for K-major bf16 without an epilogue",)


def test_every_kernel_has_cases_for_an_h200(module: Any) -> None:
    cases = module("kernels").all_cases("cuda", quick=False)
    functions = {name for name in kernels.__all__ if name[0].islower() and "build" not in name}
    covered = {case.kernel for case in cases}
    assert covered | {"cross_entropy_and_gradient"} == functions
    assert any(case.variant == "loss and gradient" for case in cases)
    assert len({case.name for case in cases}) == len(cases)
    models = [case for case in cases if case.variant == "model"]
    assert len(models) == 32
    assert min(case.shape[0] for case in models) == 1
    for kernel in ("rms_norm", "softmax", "cross_entropy", "swiglu"):
        for dtype in ("bf16", "f32"):
            widths = {c.shape[1] for c in cases if c.kernel == kernel and c.dtype == dtype}
            assert {1024, 4096, 16384, 65536} <= widths
    assert all(case.first for case in cases[: len(models)])


def softmax_case(module: Any, **arms: Any) -> Any:
    found = module("kernels").all_cases("cpu", quick=True)
    case = next(each for each in found if each.name.startswith("softmax forward f32"))
    case.arms.update({name: module("kernel_cases").plain(arm) for name, arm in arms.items()})
    return case


def test_a_wrong_result_of_ours_is_a_failure(module: Any) -> None:
    bench = module("kernels")
    machine = bench.Machine("cpu", 1, True)
    case = softmax_case(module, pyptx=lambda x: torch.softmax(x, -1) * 1.001)
    with pytest.raises(bench.WrongError, match="of what is allowed"):
        bench.measure(case, machine, 1)
    case = softmax_case(module, pyptx=lambda x: torch.softmax(x, -1) * float("nan"))
    with pytest.raises(bench.WrongError, match="inf"):
        bench.measure(case, machine, 1)


def test_a_peer_that_is_wrong_or_fails_is_absent(module: Any) -> None:
    def broken(x: Any) -> Any:
        raise RuntimeError("no such thing\nand more")

    bench = module("kernels")
    case = softmax_case(module, torch=lambda x: x, Triton=broken)
    row = bench.measure(case, bench.Machine("cpu", 1, True), 1)
    assert set(row["arms"]) == {"pyptx", "copy"}
    assert row["absent"]["Triton"] == "RuntimeError: no such thing"
    assert row["absent"]["torch"].startswith("WrongError: the error is")


def test_what_there_is_no_time_for_is_left_out(run_bench: Any, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "none.json"
    assert run_bench("--minutes", 0, "--only", "softmax", "--json", path) == 0
    assert "no time for 4 of 4 cases" in capsys.readouterr().err
    assert not json.loads(path.read_text(encoding="utf-8"))["rows"]


def record(module: Any, *names: str, **changed: Any) -> dict[str, Any]:
    rows = [
        {"name": name, "kernel": name, "variant": "", "dtype": "f32", "shape": [1], "mode": "burst"}
        for name in names
    ]
    made = module("kernel_record").new_record(torch, "cpu", quick=False, seed=[1])
    return {**made, "rows": rows, **changed}


def test_records_are_put_together(module: Any) -> None:
    merged = module("kernel_record").merged
    early = record(module, "a", "b", failed={"b": "why"}, date="2001-02-03", counters=[1])
    late = record(module, "b", failed={"c": "why"}, left_out=["a", "d"], date="2001-02-05")
    found = merged([early, late])
    assert [row["name"] for row in found["rows"]] == ["a", "b"]
    assert [row["date"] for row in found["rows"]] == ["2001-02-03", "2001-02-05"]
    assert merged([found, late])["rows"] == found["rows"]
    assert found["counters"] == [1]
    assert found["failed"] == {"c": "why"}
    assert found["left_out"] == ["d"]


def test_records_of_different_machines_are_refused(
    module: Any, run_bench: Any, tmp_path: Path, capsys: Any
) -> None:
    paths = [tmp_path / "1.json", tmp_path / "2.json"]
    for path, device in zip(paths, ({"name": "H100"}, {"name": "H200"}), strict=True):
        path.write_text(json.dumps(record(module, "a", device=device)), encoding="utf-8")
    assert run_bench("--merge", *paths, "--json", tmp_path / "3.json") == 1
    assert "records differ in device" in capsys.readouterr().err


@pytest.mark.parametrize("part", ["0/2", "3/2", "half"])
def test_a_part_is_one_of_so_many(run_bench: Any, part: str, capsys: Any) -> None:
    with pytest.raises(SystemExit):
        run_bench("--part", part)
    assert "a part is 1/2 or 2/2" in capsys.readouterr().err
