# SPDX-License-Identifier: Apache-2.0
"""Disks of a few kilobytes, for programs that fill them."""

from __future__ import annotations

import functools
import shutil
import subprocess
from pathlib import Path

import pytest


@functools.cache
def no_small_disk() -> str | None:
    """Why no small file system can be made here, or None."""
    if shutil.which("unshare") is None:
        return "there is no unshare command"
    trial = "mount -t tmpfs -o size=64k tmpfs /mnt && umount /mnt"
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", trial], capture_output=True, text=True, check=False
    )
    return None if done.returncode == 0 else f"nothing can be mounted here: {done.stderr.strip()}"


def on_small_disk(folder: Path, before: str, kilobytes: int) -> tuple[str, ...]:
    """The words that run a program with `folder` on a disk of its own, prepared by `before`."""
    reason = no_small_disk()
    if reason is not None:
        pytest.skip(reason)
    folder.mkdir(mode=0o700)
    mount = f'mount -t tmpfs -o size={kilobytes}k,mode=700 tmpfs "$0" && {before} && exec "$@"'
    return ("unshare", "-rm", "sh", "-c", mount, str(folder))
