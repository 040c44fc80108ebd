# SPDX-License-Identifier: Apache-2.0
"""The timeline of a page: the trace of a run, read back."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from pyptx._view import timeline
from support.viewed_kernels import gemm_view


def test_stages_of_a_ring_are_phases_of_their_mbarriers() -> None:
    """A consumer waits until `full` has its phase; a phase begins where the one before it ended."""
    data = gemm_view().data["timeline"]
    tracks = data["tracks"]
    names = [track["name"] for track in tracks if track["barrier"]][:8]
    assert names == [*(f"full[{n}]" for n in range(4)), *(f"empty[{n}]" for n in range(4))]
    for track in tracks:
        rows = [track["phases"][i : i + 6] for i in range(0, len(track["phases"]), 6)]
        assert [row[2] for row in rows] == list(range(len(rows)))
        for before, after in itertools.pairwise(rows):
            assert before[0] + before[1] == after[0]
    waits = [
        (data["names"][track["waits"][i + 3]], track["waits"][i] + track["waits"][i + 1])
        for track in tracks[:12]
        for i in range(0, len(track["waits"]), 7)
    ]
    ends = {
        (track["name"], track["phases"][i] + track["phases"][i + 1])
        for track in tracks[:20]
        if track["barrier"]
        for i in range(0, len(track["phases"]), 6)
    }
    for name, end in waits:
        if name.startswith("mbarrier "):
            assert (name.removeprefix("mbarrier "), end) in ends


def test_copies_end_the_waits_for_what_they_bring() -> None:
    data = gemm_view().data
    lines, tracks = data["ptx"]["lines"], data["timeline"]["tracks"]
    full = next(track for track in tracks if track["name"] == "full[0]")
    for i in range(0, len(full["phases"]), 6):
        by, row, is_copy = full["phases"][i + 3 : i + 6]
        assert tracks[by]["name"] == "warp 0"
        assert is_copy
        assert "cp.async.bulk.tensor" in lines[row]
    empty = next(track for track in tracks if track["name"] == "empty[0]")
    by, row, is_copy = empty["phases"][3:6]
    assert tracks[by]["name"] in {f"warp {n}" for n in range(4, 12)}
    assert not is_copy
    assert "mbarrier.arrive" in lines[row]


def test_steps_and_flights_name_their_instructions() -> None:
    data = gemm_view().data
    lines, tracks = data["ptx"]["lines"], data["timeline"]["tracks"]
    producer, consumer = tracks[0], tracks[4]
    assert {lines[row].strip()[:13] for row in producer["flights"][2::4]} == {"cp.async.bulk"}
    assert sum(producer["flights"][3::4]) == 4 * 2 * 128 * 64 * 2  # tiles of A and B
    assert {lines[row].strip()[:15] for row in consumer["flights"][2::4]} == {"wgmma.mma_async"}
    assert all(row >= 0 for row in consumer["steps"][2::3])
    assert consumer["steps"][0::3] == sorted(consumer["steps"][0::3])


def _event(pid: int, step: int) -> str:
    return json.dumps(
        {"ph": "X", "cat": "instruction", "name": "mov.u32", "ts": step, "dur": 1, "pid": pid}
        | {"tid": 0, "args": {"line": "", "pc": 0, "lanes": 32}}
    )


def test_of_a_long_trace_the_first_ctas_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline, "MOST_EVENTS", 10)
    lines = []
    for pid in range(4):
        for name, shown in (("process_name", f"CTA ({pid},0,0)"), ("thread_name", "warp 0")):
            lines.append(
                json.dumps({"ph": "M", "name": name, "pid": pid, "tid": 0, "args": {"name": shown}})
            )
        lines += [_event(pid, step) for step in range(6)]
    path = tmp_path / "t.json"
    path.write_text(
        '{"displayTimeUnit":"ns","traceEvents":[\n'
        + ",\n".join(lines)
        + '\n],"otherData":{"events_left_out":7}}\n'
    )
    found = timeline.read(path)
    assert found is not None
    assert [track.cta for track in found.tracks] == ["CTA (0,0,0)", "CTA (1,0,0)"]
    assert (found.ctas, found.dropped, found.end) == (4, 7, 6)
    path.write_text('{"displayTimeUnit":"ns","traceEvents":[\n')
    assert timeline.read(path) is None
