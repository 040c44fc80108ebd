# SPDX-License-Identifier: Apache-2.0
"""The disk cache under processes that use it at once while its files are being damaged."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from assembling import needs_assembler
from pyptx import _core
from test_runtime import ADD

PROCESSES = 8
ROUNDS = 25
# Damages an entry, then assembles; prints each result's digest. Its own file names are random.
WORKER = """
import hashlib, random, sys
from pathlib import Path
from pyptx import _core, _toolchain

_toolchain.announce_folders()
folder, rounds, seed, texts = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
dice = random.Random(seed)
for _ in range(rounds):
    files = sorted(folder.glob("*.cubin"))
    for file in dice.sample(files, k=min(len(files), dice.randrange(2))):
        try:
            data = bytearray(file.read_bytes())
            if dice.random() < 0.5:
                del data[dice.randrange(len(data)) :]
            else:
                data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
            if dice.random() < 0.5:
                file.write_bytes(data)  # in place, under the eyes of readers
            else:
                other = folder / f"damage{seed}.tmp"
                other.write_bytes(data)
                other.rename(file)
        except (OSError, ValueError):
            pass  # another process removed or emptied it
    index = dice.randrange(len(texts))
    cubin, _, _ = _core.assemble(texts[index], "sm_90a")
    print(index, hashlib.sha256(cubin).hexdigest())
"""


@needs_assembler
def test_damage_is_never_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "cache"
    monkeypatch.setenv("PYPTX_CACHE_DIR", str(folder))
    texts = [ADD, ADD.replace("add.f32", "sub.f32"), ADD.replace("add.f32", "mul.f32")]
    expected = [hashlib.sha256(_core.assemble(t, "sm_90a")[0]).hexdigest() for t in texts]
    assert len(set(expected)) == len(texts)
    assert len(list(folder.glob("*.cubin"))) == len(texts)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(folder), str(ROUNDS), str(seed), *texts],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
        )
        for seed in range(PROCESSES)
    ]
    for worker in workers:
        out, err = worker.communicate(timeout=60)
        assert worker.returncode == 0, err
        rows = [line.split() for line in out.splitlines()]
        assert len(rows) == ROUNDS
        assert [digest for _, digest in rows] == [expected[int(index)] for index, _ in rows]
    assert not [f for f in folder.iterdir() if f.suffix == ".tmp" and "damage" not in f.name]
