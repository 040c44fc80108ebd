# SPDX-License-Identifier: Apache-2.0
"""The scripts around compute-sanitizer and ncu: what they call is right, what they get is read."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from support.packages import need
from support.tree import ROOT

torch = need("torch")


@pytest.fixture
def sanitize(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "tests/gpu")
    return importlib.import_module("sanitize")


@pytest.fixture
def profile(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "bench")
    return importlib.import_module("profile_kernels")


def test_every_call_is_right_on_the_emulator(sanitize: Any, capsys: Any) -> None:
    assert sanitize.main(["--calls", "--device", "cpu"]) == 0
    assert sanitize.DONE in capsys.readouterr().out


def test_every_kernel_is_called(sanitize: Any) -> None:
    from pyptx import kernels

    names = {name for name, _ in importlib.import_module("library_calls").calls(small=False)}
    for function in kernels.__all__:
        if function[0].islower() and "build" not in function:
            called = function.removesuffix("_and_gradient")
            assert any(name.startswith(called) for name in names), function


def test_calls_that_a_tool_cannot_judge_are_left_out(
    sanitize: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = importlib.import_module("library_calls")
    names = [name for name, _ in calls.calls(small=True)]
    made: list[Any] = []
    monkeypatch.setattr(calls, "calls", lambda small: ((name, made.append) for name in names))
    without = sanitize.LEFT_OUT["initcheck"]
    assert sanitize.main(["--calls", "--device", "cpu", "--without", without]) == 0
    assert 0 < len(made) < len(names)
    assert len(made) == sum(not name.startswith("matmul") for name in names)


def test_a_wrong_result_fails(sanitize: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    calls = importlib.import_module("library_calls")
    monkeypatch.setattr(calls.kernels, "quantise_fp8", lambda x: (x * 0, x.float()[:, 0] * 0))
    assert sanitize.main(["--calls", "--device", "cpu", "--only", "quantise"]) == 1
    assert "FAILED: quantise_fp8" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("========= ERROR SUMMARY: 0 errors", True),
        ("========= ERROR SUMMARY: 1 error", False),
        ("========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)", True),
        ("========= RACECHECK SUMMARY: 2 hazards displayed (0 errors, 2 warnings)", False),
        ("Device not supported", False),
    ],
)
def test_a_tool_is_clean_only_if_it_says_so(sanitize: Any, text: str, clean: bool) -> None:
    summary = sanitize.summary_of(f"before\n{text}\nafter\n")
    assert sanitize.Found("memcheck", 1.0, 0, summary).is_clean == clean
    assert not sanitize.Found("memcheck", 1.0, None, summary).is_clean


def test_without_a_sanitizer(sanitize: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(sanitize, "sanitizer", lambda: None)
    assert sanitize.main([]) == 2
    assert "COMPUTE_SANITIZER" in capsys.readouterr().err


RAW = """==PROF== Connected to process 7
"ID","thread Domain:Push/Pop_Range","Kernel Name","gpu__time_duration.sum",\
"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed","sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",\
"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",\
"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio"
"","","","ns","%","%","",""
"0","<default>:pyptx-bench|softmax forward|pyptx|:none","softmax","125,000","91.5","0","1.25","7.5"
"1","","nvjet","2,000","n/a","88.1","0","0.5"
"""


def test_counters_are_read(profile: Any, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "raw.csv"
    path.write_text(RAW, encoding="utf-8")
    assert profile.main(["--read", str(path)]) == 0
    heading, ours, theirs = capsys.readouterr().out.splitlines()
    assert re.split(r"\s{2,}", heading)[:4] == ["of", "kernel", "us", "dram %"]
    cells = re.split(r"\s{2,}", ours)
    assert cells[:4] == ["softmax forward, pyptx", "softmax", "125.0", "91.5"]
    assert cells[-1] == "long_scoreboard 7.5, barrier 1.2"
    cells = re.split(r"\s{2,}", theirs)
    assert cells[:4] == ["-", "nvjet", "2.0", "-"]
    assert cells[-2:] == ["88.1", "long_scoreboard 0.5, barrier 0.0"]


def test_counters_go_into_a_record(profile: Any, tmp_path: Path, capsys: Any) -> None:
    path, record = tmp_path / "raw.csv", tmp_path / "example.json"
    path.write_text(RAW, encoding="utf-8")
    record.write_text('{"rows": [1]}', encoding="utf-8")
    assert profile.main(["--read", str(path), "--into", str(record)]) == 0
    written = json.loads(record.read_text(encoding="utf-8"))
    assert written["rows"] == [1]
    ours, theirs = written["counters"]
    assert (ours["of"], ours["us"], ours["dram %"]) == ("softmax forward, pyptx", "125.0", "91.5")
    assert (theirs["kernel"], theirs["dram %"], theirs["tensor %"]) == ("nvjet", "-", "88.1")


def test_no_counters_are_an_error(profile: Any, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "raw.csv"
    path.write_text("==ERROR== The user does not have permission\n", encoding="utf-8")
    assert profile.main(["--read", str(path)]) == 1
    assert "counted no kernel" in capsys.readouterr().err


def test_the_calls_that_are_counted(profile: Any, capsys: Any) -> None:
    options = ["--calls", "--device", "cpu", "--only", "matmul NN|softmax forward f32"]
    assert profile.main([*options, "--arms", "pyptx", "cuBLAS", "copy"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "matmul NN bf16 72x136x88 sustained, pyptx",
        "matmul NN bf16 72x136x88 sustained, cuBLAS",
        "matmul NN bf16 72x136x88 sustained, copy",
        "softmax forward f32 4x264 sustained, pyptx",
        "softmax forward f32 4x264 sustained, copy",
    ]


def test_the_chosen_cases_are_cases(profile: Any) -> None:
    cases = importlib.import_module("kernels").all_cases("cuda", quick=False)
    chosen = [case.name for case in cases if re.search(profile.CHOSEN, case.name)]
    assert len(chosen) == 3 + 3 + 4 * 4 + 2 * 3 + 2
