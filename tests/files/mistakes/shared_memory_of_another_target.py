# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel(arch="sm_86", smem=128 * 1024)
def tile():
    ptx.ret()


tile.ptx()
