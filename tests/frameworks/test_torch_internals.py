# SPDX-License-Identifier: Apache-2.0
"""PYPTX_TORCH_INTERNALS=0: calls know torch by what it publishes alone, and do the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from support.packages import need
from support.tree import TESTS

need("torch")

OFF = {**os.environ, "PYPTX_TORCH_INTERNALS": "0"}

PROGRAM = """
import sys
sys.path[:0] = {path!r}
import torch
from pyptx import _core
from pyptx._torch import samples
from pyptx._errors import LaunchError

looked_into = []
samples.facts = lambda tensor: looked_into.append(tensor)
from support import sample_kernels
k = sample_kernels.build_vector_add()
x, y = torch.randn(8), torch.randn(8)
for _ in range(3):
    assert torch.equal(k(x, y), x + y)
    assert torch.equal(k(x, y, out=torch.empty(8)), x + y)
assert k._live.entry.hits == 5, k._live.entry.hits  # the C entry takes them nevertheless
assert torch.equal(k(x[:], y), x + y)

freed = torch.randn(8)
freed.untyped_storage().resize_(16)
try:
    k(x, freed)
except LaunchError as error:
    assert "freed or shrunk" in str(error), error
else:
    raise AssertionError("memory that is gone was read")

saved = torch.randn(8)
loss = (torch.randn(8, requires_grad=True) * saved).sum()
with torch.no_grad():
    k(x, y, out=saved)
try:
    loss.backward()
except RuntimeError as error:
    assert "modified by an inplace operation" in str(error), error
else:
    raise AssertionError("autograd was not told")

traced = torch.jit.trace(lambda a: a + k(a, a), (x,), check_trace=False)
torch.testing.assert_close(traced(2 * x), 6 * x)
for allowed in (None, True):
    assert _core.torch_indirect(allowed) == "PYPTX_TORCH_INTERNALS=0"
assert not looked_into
"""


def test_calls_are_the_same_without_torchs_internals() -> None:
    code = PROGRAM.format(path=sys.path)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=OFF
    )
    assert done.returncode == 0, done.stderr


def test_the_tests_of_calls_hold_without_torchs_internals() -> None:
    """Those of the C entry and of torch's transforms; not those that ask for the direct way."""
    files = [
        TESTS / "call/test_runtime_entry.py",
        TESTS / "frameworks/test_torch_transforms.py",
        TESTS / "frameworks/test_torch_in_place.py",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-k", "not direct", *map(str, files)],
        capture_output=True,
        text=True,
        check=False,
        env=OFF,
    )
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize(
    ("value", "state", "words"),
    [
        ("0", "absent", "slower: PYPTX_TORCH_INTERNALS=0"),
        ("1", "good", "passed its self-test; PYPTX_TORCH_INTERNALS=0"),
    ],
)
def test_the_doctor_names_the_switch(value: str, state: str, words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pyptx", "doctor", "--json"],
        capture_output=True,
        text=True,
        check=False,
        env={**OFF, "PYPTX_TORCH_INTERNALS": value},
    )
    found = {one["subject"]: one for one in json.loads(done.stdout)["findings"]}["torch entry"]
    assert found["state"] == state, found
    assert words in found["detail"]
