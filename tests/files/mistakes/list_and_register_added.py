# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def shape():
    lane = ptx.special.laneid()
    tile = [64, 64]
    return tile + lane


shape.ptx()
