# SPDX-License-Identifier: Apache-2.0
from pyptx import kernel, ptx


@kernel
def split():
    lane = ptx.special.laneid()
    lane += lane % -4
    ptx.ret()


split.ptx()
