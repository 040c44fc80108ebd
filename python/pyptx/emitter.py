# SPDX-License-Identifier: Apache-2.0
"""Modules to PTX text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyptx._core import Module

__all__ = ["emit"]


def emit(module: Module) -> str:
    """Return the text of a module: a parsed one as it was read, a traced one in canonical form."""
    return module.text
