# SPDX-License-Identifier: Apache-2.0
"""The schedules on which a correct kernel has to be found correct: at least a hundred."""

from __future__ import annotations

from functools import partial

from pyptx import testing
from pyptx._testing.runs import schedules_of

SCHEDULES = schedules_of(102, 0)
FEW = SCHEDULES[:4]  # for a kernel that differs from another one in nothing that threads share

#: What a kernel gives on these schedules, with all checks: always the same bits.
emulated = partial(testing.emulate, schedules=SCHEDULES)
