# SPDX-License-Identifier: Apache-2.0
"""PTX text to modules."""

from __future__ import annotations

from pyptx import _core

__all__ = ["parse"]


def parse(text: str, file: str = "<ptx>") -> _core.Module:
    """Read PTX text. ``parse(text).text == text``, byte for byte.

    Raises `PtxSyntaxError` with every syntax error found; `file` is the name it shows. Whether
    the instructions are legal is `pyptx.verify`'s business.
    """
    return _core.parse(text, file)
