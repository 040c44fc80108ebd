# SPDX-License-Identifier: Apache-2.0
from pyptx._core.ptx import *  # noqa: F403
