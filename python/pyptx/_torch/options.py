# SPDX-License-Identifier: Apache-2.0
"""Keywords of a call as a graph has them: written out."""

from __future__ import annotations

import ast
from typing import Any

from pyptx._call.refusals import refuse


def parse_options(options: str) -> dict[str, Any]:
    """Return the keywords that a graph has as text."""
    try:
        return dict(ast.literal_eval(options)) if options else {}
    except (ValueError, SyntaxError):
        refuse(
            "GraphCall",
            f"template values of a kernel in a compiled graph are written out as literals, and "
            f"these are not: {options}",
            "call it with numbers, strings, tuples, lists or dicts",
        )
