# SPDX-License-Identifier: Apache-2.0
"""Kernel.emulate: schedules, reports, traces, progress; and that a wrong word is said so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pyptx import EmulatorError, Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32
from support import sample_kernels

if TYPE_CHECKING:
    from pyptx.kernel import Kernel

ONES = np.ones(300, dtype=np.float32)


def build_transpose(pad: int) -> Kernel:
    """One warp writes a row of a 32-row tile in shared memory and reads a column."""

    @kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(32, f32),), grid=(1, 1, 1), block=(32, 1, 1))
    def transpose(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        tile = smem.alloc(f32, (32, 32 + pad))
        lane = reg.from_(ptx.special.tid.x(), u32)
        value = reg.scalar(f32)
        ptx.inst.ld.global_.f32(value, ptx.addr(px + lane * 4))
        tile[lane, 0] = value
        ptx.inst.mov.f32(value, tile[lane, 0])
        ptx.inst.st.global_.f32(ptx.addr(py + lane * 4), value)
        ptx.ret()

    return transpose


def report_of(k: Kernel, *args: Any, **options: Any) -> Any:
    return k.emulate(*args, report=True, **options)[1]


def test_a_column_of_shared_memory_conflicts_and_a_padded_one_does_not() -> None:
    x = np.arange(32, dtype=np.float32)
    plain = report_of(build_transpose(0), x)
    assert plain.total.bank_conflicts == 2 * 31
    assert report_of(build_transpose(1), x).total.bank_conflicts == 0
    assert plain.traffic["shared"] == (2, 128, 128)
    assert plain.traffic["global"] == (2, 128, 128)
    assert plain.average_lanes == 32


def test_lines_are_those_of_the_author() -> None:
    report = report_of(build_transpose(0), np.zeros(32, dtype=np.float32))
    source = Path(__file__).read_text().splitlines()
    worst = max(report.lines, key=lambda row: row.bank_conflicts)
    assert Path(worst.file).name == Path(__file__).name
    assert "tile[lane, 0]" in source[worst.line - 1]
    assert sum(row.executed for row in report.lines) == report.total.executed
    assert sum(row.executed for row in report.opcodes) == report.total.executed


def test_a_report_is_readable_and_plain() -> None:
    report = report_of(sample_kernels.build_vector_add(), ONES, ONES)
    text = str(report)
    assert "warp instructions" in text
    assert "global" in text
    assert "add.f32" in report.profile()
    plain = json.loads(json.dumps(report.as_dict()))
    assert plain["total"]["executed"] == report.total.executed
    assert plain["traffic"]["global"]["bytes_stored"] == ONES.nbytes
    assert plain["warp_instructions"] == report.total.executed + report.total.skipped


@pytest.mark.parametrize("schedule", ["earliest", "latest", "random"])
def test_watching_changes_no_bit(schedule: str, tmp_path: Path) -> None:
    k = sample_kernels.build_vector_add()
    plain = k.emulate(ONES, ONES, schedule=schedule, seed=3)
    traced = k.emulate(ONES, ONES, schedule=schedule, seed=3, trace=tmp_path / "t.json")
    np.testing.assert_array_equal(plain, traced)


def test_a_trace_is_json_with_a_track_per_warp(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    build_transpose(0).emulate(np.zeros(32, dtype=np.float32), trace=path)
    trace = json.loads(path.read_text())
    events = trace["traceEvents"]
    names = {e["args"]["name"] for e in events if e["ph"] == "M" and "name" in e["args"]}
    assert names == {"CTA (0,0,0)", "warp 0"}
    slices = [event for event in events if event["ph"] == "X"]
    assert [event["ts"] for event in slices] == list(range(len(slices)))
    assert any(Path(e["args"]["line"]).name.startswith("test_emulation.py:") for e in slices)
    assert trace["otherData"]["events_left_out"] == 0


def test_a_trace_that_cannot_be_written_is_an_os_error(tmp_path: Path) -> None:
    k = sample_kernels.build_vector_add()
    with pytest.raises(FileNotFoundError, match="nowhere"):
        k.emulate(ONES, ONES, trace=tmp_path / "nowhere" / "trace.json")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"schedule": "soon"}, "schedule is 'earliest', 'latest' or 'random', not 'soon'"),
        ({"numerics": "slow"}, "numerics is 'fast' or 'exact', not 'slow'"),
        ({"checks": "all"}, "checks is 'races' or 'basic', not 'all'"),
        ({"tensor_core": "volta"}, "tensor_core is 'target', 'turing'"),
        ({"ignore": "PTX0999"}, "ignore: there is no code 'PTX0999'"),
        ({"ignore": ("PTX0920", "PTX0904")}, "cannot go on behind PTX0904; .*: PTX0917, PTX0918"),
    ],
)
def test_a_wrong_word_is_said(option: dict[str, str], message: str) -> None:
    k = sample_kernels.build_vector_add()
    with pytest.raises(ValueError, match=message):
        k.emulate(ONES, ONES, **option)


def build_spin(turns: int) -> Kernel:
    @kernel(in_specs=(Tile(1, f32),), out_specs=(Tile(1, f32),), grid=(4, 1, 1), block=(32, 1, 1))
    def spin(X, Y):
        left = reg.scalar(u32, init=turns)
        with ptx.range_(0, turns):
            left -= 1
        ptx.ret()

    return spin


def test_progress_is_told_and_may_end_the_run() -> None:
    seen: list[tuple[int, int, float]] = []
    x = np.zeros(1, dtype=np.float32)
    k = build_spin(1_000_000)
    k.emulate(x, threads=1, checks="basic", progress=lambda *now: seen.append(now))
    assert seen
    assert all(total == 4 and 0 <= done <= 4 for done, total, _ in seen)
    assert [now[0] for now in seen] == sorted(now[0] for now in seen)

    def stop(done: int, total: int, seconds: float) -> None:
        raise TimeoutError("enough")

    with pytest.raises(TimeoutError, match="enough"):
        build_spin(400_000_000).emulate(x, progress=stop)


def build_talking(limit: int) -> Kernel:
    @kernel(in_specs=(Tile(4, f32),), out_specs=(Tile(4, f32),), grid=(2, 1, 1), block=(2, 1, 1))
    def talk(X, Y):
        thread = reg.from_(ptx.special.tid.x(), u32)
        cta = reg.from_(ptx.special.ctaid.x(), u32)
        ptx.printf("cta %u thread %u: %5.2f\n", cta, thread, reg.scalar(f32, init=1.5))
        ptx.assert_(thread < limit, "a small thread")  # noqa: PT009
        ptx.ret()

    return talk


def test_printf_appears_as_a_gpu_writes_it(capfd: pytest.CaptureFixture[str]) -> None:
    build_talking(2).emulate(np.zeros(4, dtype=np.float32))
    expected = [f"cta {cta} thread {thread}:  1.50" for cta in (0, 1) for thread in (0, 1)]
    assert capfd.readouterr().out.splitlines() == expected


def test_a_false_assertion_names_its_thread(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(EmulatorError, match="PTX0932") as caught:
        build_talking(1).emulate(np.zeros(4, dtype=np.float32), threads=1)
    text = str(caught.value)
    assert "assertion failed: a small thread" in text
    assert "block: [0,0,0], thread: [1,0,0] Assertion `a small thread` failed." in text
    assert "cta 0 thread 1:  1.50" in capfd.readouterr().out  # what was printed before is there


OPTIONS: dict[str, tuple[Any, str]] = {
    "schedule": (3, "schedule is 'earliest', 'latest' or 'random', not '3'"),
    "numerics": (1.5, "numerics is 'fast' or 'exact', not '1.5'"),
    "tensor_core": (True, "tensor_core is 'target', .* not 'True'"),
    "checks": (b"races", "checks is 'races' or 'basic', not 'b'races''"),
    "ignore": (3, r"ignore is a code or several of them \('PTX0931'\), not 3"),
    "seed": (-1, r"seed is a whole number from 0 to 2\*\*64 - 1, not -1"),
    "threads": (1.5, r"threads is a whole number from 0 to 2\*\*31 - 1, not 1.5"),
    "report": ("yes", "report is True or False, not 'yes'"),
    "progress": (3, "progress is True, False or a function, not 3"),
    "trace": (3, "trace is the name of a file, not 3"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_is_none_for_its_default_and_refused_by_name(name: str) -> None:
    k = sample_kernels.build_vector_add()
    assert (k.emulate(ONES, ONES, **{name: None}) == 2).all()
    value, message = OPTIONS[name]
    with pytest.raises((TypeError, ValueError), match=message):
        k.emulate(ONES, ONES, **{name: value})


def test_without_a_word_races_are_looked_for() -> None:
    @kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(32, f32),), block=(64, 1, 1))
    def racy(X, Y):
        tile = smem.alloc(u32, (1,))
        tile[0] = reg.from_(ptx.special.tid.x(), u32)
        ptx.ret()

    x = np.zeros(32, dtype=np.float32)
    racy.emulate(x, checks="basic")
    for words in ({}, {"checks": None}):
        with pytest.raises(EmulatorError):
            racy.emulate(x, **words)
