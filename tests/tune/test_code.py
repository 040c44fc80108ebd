# SPDX-License-Identifier: Apache-2.0
"""What a tuning reads in a configuration's text: declarations and instructions, not lines."""

from __future__ import annotations

from pyptx._tune.build import _Code

TEXT = """.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 128 .b8 dyn[];
.shared .v4 .f32 wide[4];
.visible .entry k()
{
/*
.shared .b8 none[1024];
setmaxnreg.dec.sync.aligned.u32 24;
*/
.shared .align 16 .b8 left[32]; .shared .b8 right[32];
setmaxnreg.dec.sync.aligned.u32 40; setmaxnreg.inc.sync.aligned.u32
232;
ret;
}
"""


def test_what_is_commented_out_is_not_there_and_what_shares_a_line_is() -> None:
    code = _Code(TEXT)
    assert code.static_shared == 64 + 32 + 32
    assert code.changes == [40, 232]
    assert code.most is None
    assert _Code(TEXT.replace("k()", "k() .maxnreg 96")).most == 96
