# SPDX-License-Identifier: Apache-2.0
"""Occupancy against cuda_occupancy.h, NVIDIA's own calculator, over every target."""

from __future__ import annotations

import ctypes
import itertools
import shutil
import subprocess
from pathlib import Path

import pytest

from pyptx import _core
from support.assembling import find_ptxas

SOURCE = r"""
#include <climits>
#include <cstddef>
#include "cuda_occupancy.h"

extern "C" int ctas(int sm, int warps, int shared, int cta_shared, int reserved, int registers,
                    int regs, int smem, int threads, int barriers) {
  cudaOccDeviceProp device;
  device.computeMajor = sm / 10;
  device.computeMinor = sm % 10;
  device.maxThreadsPerBlock = 1024;
  device.maxThreadsPerMultiprocessor = warps * 32;
  device.regsPerBlock = device.regsPerMultiprocessor = registers;
  device.warpSize = 32;
  device.sharedMemPerBlock = 48 << 10;
  device.sharedMemPerMultiprocessor = shared;
  device.numSms = 1;
  device.sharedMemPerBlockOptin = cta_shared;
  device.reservedSharedMemPerBlock = reserved;
  cudaOccFuncAttributes kernel;
  kernel.maxThreadsPerBlock = 1024;
  kernel.numRegs = regs;
  kernel.sharedSizeBytes = 0;
  kernel.partitionedGCConfig = PARTITIONED_GC_OFF;
  kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  kernel.maxDynamicSharedSizeBytes = smem;
  kernel.numBlockBarriers = barriers;
  cudaOccDeviceState state;
  state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
  cudaOccResult result;
  if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, threads, smem)) {
    return -1;
  }
  return result.activeBlocksPerMultiprocessor;
}
"""


@pytest.fixture(scope="module")
def calculator(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The header, compiled."""
    compiler = shutil.which("c++")
    ptxas = find_ptxas()  # the newest: older headers do not know every target
    include = None if ptxas is None else ptxas.parent.parent / "include"
    if compiler is None or include is None or not (include / "cuda_occupancy.h").exists():
        pytest.skip("no C++ compiler, or no cuda_occupancy.h: install nvidia-cuda-runtime")
    folder: Path = tmp_path_factory.mktemp("occupancy")
    (folder / "ctas.cpp").write_text(SOURCE)
    built = [compiler, "-shared", "-fPIC", "-w", "-I", str(include), "ctas.cpp", "-o", "ctas.so"]
    subprocess.run(built, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "ctas.so"))


@pytest.mark.parametrize("target", [name for name in _core.target_names() if name[-1].isdigit()])
def test_as_nvidias(target: str, calculator: ctypes.CDLL) -> None:
    limits = _core.limits(target)
    assert limits is not None
    of_device = (limits.warps, limits.shared, limits.cta_shared, limits.shared_reserved)
    for registers, shared, threads, barriers in itertools.product(
        (16, 33, 90, 128, 255),
        (0, 1, 4992, 9000, 20000, 48 << 10, limits.cta_shared, limits.cta_shared + 1),
        (1, 32, 96, 128, 384, 1000, 1024),
        (0, 1, 3, 16),
    ):
        expected = calculator.ctas(
            int(target[3:]), *of_device, limits.registers, registers, shared, threads, barriers
        )
        found = _core.occupancy(target, registers, shared, threads, barriers)
        assert found is not None
        assert found[0] == expected, (registers, shared, threads, barriers)
