# SPDX-License-Identifier: Apache-2.0
"""Clocks and power of a GPU from NVIDIA's management library, where it is installed.

The library is opened when it is asked for; without it, or where it refuses an answer, there is
none, and nothing fails.
"""

from __future__ import annotations

import ctypes
from typing import Any

_SM_CLOCK = 1  # NVML_CLOCK_SM


class Sensors:
    """The clock of the SMs in MHz and the power in watts of one GPU; None where unknown."""

    def __init__(self, uuid: str | None = None, *, library: str = "libnvidia-ml.so.1") -> None:
        self._device = ctypes.c_void_p()
        self._library: Any = None
        try:
            found = ctypes.CDLL(library)
        except OSError:
            return
        if found.nvmlInit_v2() != 0:
            return
        device = ctypes.byref(self._device)
        status = -1
        if uuid is not None:
            status = found.nvmlDeviceGetHandleByUUID(uuid.encode(), device)
        if status != 0:
            status = found.nvmlDeviceGetHandleByIndex_v2(0, device)
        if status == 0:
            self._library = found

    def clock(self) -> float | None:
        """Return the clock of the SMs now, in MHz."""
        if self._library is None:
            return None
        return self._asked(self._library.nvmlDeviceGetClockInfo, _SM_CLOCK)

    def power(self) -> float | None:
        """Return the power now, in watts; the driver averages it over some milliseconds."""
        if self._library is None:
            return None
        milliwatts = self._asked(self._library.nvmlDeviceGetPowerUsage)
        return None if milliwatts is None else milliwatts / 1000

    def _asked(self, question: Any, *arguments: int) -> float | None:
        answer = ctypes.c_uint()
        status = question(self._device, *arguments, ctypes.byref(answer))
        return float(answer.value) if status == 0 else None
