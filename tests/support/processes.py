# SPDX-License-Identifier: Apache-2.0
"""Programs that a test runs in a process of their own, with the package and these tests at hand."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import pyptx
from support.tree import TESTS

#: Longer than any of them takes, on a machine that is busy.
MOST_SECONDS = 300
_FOLDERS = [str(Path(pyptx.__file__).parent.parent), str(TESTS)]


def run_python(*command: str, **environment: str) -> str:
    """Return what `python COMMAND` prints last; fails the test where it fails."""
    paths = {"PYTHONPATH": os.pathsep.join([*_FOLDERS, *sys.path])}
    done = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=MOST_SECONDS,
        env={**os.environ, **paths, **environment},
    )
    assert done.returncode == 0, done.stderr
    return (done.stdout.splitlines() or [""])[-1]


def local_address() -> str:
    """Return an address by which processes of this machine meet; skips where there is none."""
    try:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return f"127.0.0.1:{probe.getsockname()[1]}"
    except OSError as error:
        pytest.skip(f"no local sockets here: {error}")
