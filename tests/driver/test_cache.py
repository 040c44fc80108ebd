# SPDX-License-Identifier: Apache-2.0
"""`pyptx.cache`: keys, entries, folders, and which cache kernels use."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyptx import cache, kernel, ptx
from support.assembling import needs_assembler

KEY = cache.CacheKey("some text", "sm_90a", ("-O1",), "an assembler 1.0")
ENTRY = cache.CacheEntry(b"\x7fELF\0 and more", "4 registers\n", "an assembler 1.0")


@kernel(arch="sm_90a", grid=(1, 1, 1))
def idle() -> None:
    ptx.ret()


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[cache.CubinCache]:
    """A cache of the test's own, which kernels use while it runs."""
    own = cache.CubinCache(tmp_path / "cubins", 1 << 20)
    cache.set_global_cache(own)
    yield own
    cache.set_global_cache(None)


def test_entries_are_kept(kept: cache.CubinCache) -> None:
    assert kept.get(KEY) is None
    assert KEY not in kept
    assert kept.put(KEY, ENTRY)
    assert kept.get(KEY) == ENTRY
    assert KEY in kept
    assert len(kept) == 1
    assert kept.folder is not None
    (file,) = kept.folder.iterdir()
    assert file.name == f"{KEY.digest}.cubin"
    assert file.stat().st_size == kept.size
    assert file.stat().st_mode & 0o777 == 0o600
    assert kept.folder.stat().st_mode & 0o777 == 0o700
    assert kept.clear() == 1
    assert kept.get(KEY) is None


@pytest.mark.parametrize(
    "change",
    [
        {"ptx": "some texT"},
        {"target": "sm_90"},
        {"options": ()},
        {"options": ("-O", "1")},
        {"compiler": "an assembler 1.1"},
    ],
)
def test_every_part_of_the_key_matters(kept: cache.CubinCache, change: dict[str, object]) -> None:
    kept.put(KEY, ENTRY)
    other = dataclasses.replace(KEY, **change)
    assert other.digest != KEY.digest
    assert kept.get(other) is None


def test_a_damaged_entry_is_none(kept: cache.CubinCache) -> None:
    kept.put(KEY, ENTRY)
    assert kept.folder is not None
    (file,) = kept.folder.iterdir()
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    assert kept.get(KEY) is None
    assert not file.exists()


def test_a_folder_that_is_of_no_use(tmp_path: Path, kept: cache.CubinCache) -> None:
    assert kept.problem is None
    assert kept.folder is not None
    kept.folder.chmod(0o777)
    assert "chmod o-w" in (kept.problem or "")
    assert not kept.put(KEY, ENTRY)
    (tmp_path / "file").write_text("in the way")
    blocked = cache.CubinCache(tmp_path / "file" / "cubins")
    assert "cannot be made" in (blocked.problem or "")
    assert not blocked.put(KEY, ENTRY)
    assert len(blocked) == 0
    assert cache.CubinCache("").folder is None


def test_the_environment_chooses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTX_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("PYPTX_CACHE_SIZE", "3K")
    assert cache.get_global_cache().folder == tmp_path
    assert cache.get_global_cache().size_limit == 3072
    assert repr(cache.CubinCache()) == f"CubinCache({str(tmp_path)!r}, size_limit=3072)"
    monkeypatch.setenv("PYPTX_CACHE", "0")
    assert cache.get_global_cache().folder is None
    assert "PYPTX_CACHE=0" in (cache.get_global_cache().problem or "")


def test_the_default_folder(tmp_path: Path) -> None:
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PYPTX_CACHE_DIR": "/elsewhere"}
    code = "from pyptx import cache; print(cache.DEFAULT_CACHE_DIR)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(tmp_path / "pyptx")


@needs_assembler
def test_kernels_use_it(kept: cache.CubinCache) -> None:
    cubin = idle.cubin()
    key = cache.CacheKey(idle.ptx(), "sm_90a", ("-lineinfo",))
    entry = kept.get(key)
    assert entry is not None
    assert entry.cubin == cubin
    assert key.compiler
    assert entry.compiler.split()[0] in ("nvJitLink", "ptxas", "the")


# Prints what of the compilers a kernel has loaded or run.
WARM = """
import sys
from pyptx import kernel, ptx

@kernel(arch="sm_90a", grid=(1, 1, 1))
def idle():
    ptx.ret()

started = []
sys.addaudithook(lambda event, args: started.append(event) if "subprocess" in event else None)
idle.cubin()
maps = open("/proc/self/maps").read()
print("libnvJitLink" in maps, started)
"""


@needs_assembler
def test_a_hit_opens_no_compiler(tmp_path: Path) -> None:
    """Opening nvJitLink takes longer than all the rest of a kernel's first call."""
    folder = tmp_path / "cubins"
    program = tmp_path / "program.py"
    program.write_text(WARM)
    env = {**os.environ, "PYPTX_CACHE_DIR": str(folder)}
    command = [sys.executable, str(program)]

    def run() -> str:
        return subprocess.run(
            command, env=env, capture_output=True, text=True, check=True
        ).stdout.strip()

    first = run()
    (entry,) = folder.iterdir()
    assert run() == "False []"
    # The other way round: what a miss does, the test can see.
    entry.unlink()
    if first.startswith("True"):
        assert run() == first
