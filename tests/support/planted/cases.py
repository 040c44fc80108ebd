# SPDX-License-Identifier: Apache-2.0
"""Every planted pair: each module registers its own."""

from __future__ import annotations

from support.planted import (  # noqa: F401 - each registers its cases
    copies,
    global_memory,
    launch_control,
    maps,
    matrices,
    peers,
    reports,
    tensor_memory,
    threads,
    values,
)
from support.planted.bugs import CASES

__all__ = ["CASES"]
