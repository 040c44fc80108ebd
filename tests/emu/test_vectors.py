# SPDX-License-Identifier: Apache-2.0
"""The emulator against what a GPU answered: every recorded vector set, bit for bit."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from record import store
from record.check import Known, Outcome, check, load_known
from record.compare import difference
from record.launch import Launch, Part
from record.run import on_emulator
from record.sets import SETS
from support.tree import ROOT

VECTORS = ROOT / "tests/data/vectors"
KNOWN = load_known(VECTORS / "differences.toml")
MOST_SHOWN = 20

PAIRS = [(one.name, target) for one in SETS.values() for target in one.targets]


# What has only worked results (tests/emu/test_worked_vectors.py), and why.
UNRECORDED = {
    "calls": (".*", "not recorded yet; its results are worked out by hand"),
    "sync": (
        r"fence\.proxy\.tensormap::generic\.acq_rel\..*",
        "the recording machine's assembler, CUDA 13.0, does not know it",
    ),
}


@cache
def outcome_of(name: str, target: str) -> Outcome | None:
    """Run a recorded set on the emulator; nothing for a set that is not recorded."""
    path = VECTORS / store.file_name(name, target)
    if not path.exists() and UNRECORDED.get(name, ("",))[0] == ".*":
        return None
    recording = store.read(path)
    assert recording.device != store.EMULATED, f"{path.name} was not recorded on hardware"
    return check(SETS[name], recording)


@pytest.mark.parametrize(("name", "target"), PAIRS)
def test_the_emulator_gives_the_recorded_bits(name: str, target: str):
    outcome = outcome_of(name, target)
    pattern, why = UNRECORDED.get(name, ("", ""))
    if outcome is None:
        pytest.skip(why)
    missing = [key for key in outcome.missing if not re.fullmatch(pattern, key)]
    assert not missing, f"record them: python -m record {name}, on a machine with a GPU"
    problems = outcome.problems(name, KNOWN)
    shown = "\n".join(problems[:MOST_SHOWN])
    assert not problems, f"{len(problems)} parts differ\n{shown}"
    assert outcome.equal, "nothing ran"


@pytest.mark.parametrize("name", SETS)
def test_no_known_difference_is_gone(name: str):
    outcomes = [outcome_of(name, target) for target in SETS[name].targets]
    unneeded = [set(one.unneeded(name, KNOWN)) for one in outcomes if one is not None]
    assert not unneeded or not set.intersection(*unneeded)


def test_every_known_difference_names_a_set():
    assert {entry.set_name for entry in KNOWN} <= SETS.keys()
    assert all(entry.why for entry in KNOWN)


# --- the framework itself -----------------------------------------------------------------------

TEXT = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {
.reg .u64 %rd<6>;
.reg .u32 %r<4>;
ld.param.u64 %rd1, [in];
ld.param.u64 %rd2, [out];
mov.u32 %r1, %tid.x;
mad.wide.u32 %rd3, %r1, 4, %rd1;
mad.wide.u32 %rd4, %r1, 4, %rd2;
ld.global.u32 %r2, [%rd3];
add.u32 %r3, %r2, 1;
st.global.u32 [%rd4], %r3;
ret;
}
"""


def increments() -> Launch:
    values = np.arange(32, dtype=np.uint32).view(np.uint8)
    part = Part("add.u32", 1, 0, 4, 32, lambda case: f"%r2 = {case}")
    return Launch("increments", "sm_90a", [values, np.zeros(128, np.uint8)], [part], TEXT)


def test_a_recording_comes_back_from_its_file(tmp_path):
    launch = increments()
    part = launch.parts[0]
    results = part.of(on_emulator(launch))
    assert results.view(np.uint32).ravel().tolist() == list(range(1, 33))
    recording = store.Recording("made", "sm_90a", store.EMULATED)
    recording.records[part.key] = store.record_of(part, results)
    again = store.read(store.write(recording, tmp_path))
    assert again == recording
    assert difference(part, results, again.records[part.key]) is None


def test_a_changed_result_is_found_and_shown():
    launch = increments()
    part = launch.parts[0]
    results = part.of(on_emulator(launch))
    record = store.record_of(part, results)
    wrong = results.copy()
    wrong[5, 0] ^= 0x40
    found = difference(part, wrong, record)
    assert found is not None
    assert "%r2 = 5" in str(found)
    assert "expected 0x00000006" in str(found)
    assert "got      0x00000046" in str(found)


def test_a_case_that_is_not_stored_counts_by_its_checksum():
    part = replace(increments().parts[0], keep=4)
    results = part.of(on_emulator(increments()))
    record = store.record_of(part, results)
    wrong = results.copy()
    wrong[5, 0] ^= 0x40
    found = difference(part, wrong, record)
    assert found is not None
    assert "cases 4 to 7" in str(found)


def test_known_differences_hide_themselves_only():
    outcome = Outcome(refused={"vadd.u32 %r1": "not emulated", "add.u32 %r1": "not emulated"})
    known = [Known("scalar", r"vadd\..*", "why"), Known("scalar", r"vsub\..*", "why")]
    assert len(outcome.problems("scalar", known)) == 1
    assert outcome.unneeded("scalar", known) == known[1:]
