# SPDX-License-Identifier: Apache-2.0
"""Every planted pair: each module registers its own."""

from __future__ import annotations

import planted_copies  # noqa: F401 - each registers its cases
import planted_global  # noqa: F401
import planted_launch_control  # noqa: F401
import planted_maps  # noqa: F401
import planted_matrices  # noqa: F401
import planted_peers  # noqa: F401
import planted_reports  # noqa: F401
import planted_tensor_memory  # noqa: F401
import planted_threads  # noqa: F401
import planted_values  # noqa: F401
from planted_bugs import CASES

__all__ = ["CASES"]
