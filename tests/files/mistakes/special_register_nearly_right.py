# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def where():
    ptx.special.lane_id()
    ptx.ret()


where.ptx()
