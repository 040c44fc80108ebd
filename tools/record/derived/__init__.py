# SPDX-License-Identifier: Apache-2.0
"""Worked sets for what the recording machine cannot run. A new one is a module and a line below."""

from __future__ import annotations

from record.worked import WorkedSet

from .arithmetic import ArithmeticSet
from .later import LaterSet
from .matrices import MatricesSet
from .narrow import NarrowSet

DERIVED: tuple[WorkedSet, ...] = (NarrowSet(), ArithmeticSet(), MatricesSet(), LaterSet())
