# SPDX-License-Identifier: Apache-2.0
"""What Python itself refuses, each by a kind of the registry (pyptx/diag/kinds.def).

What arrays, tiles and launches are checked against is decided in C++ (pyptx/interop), which raises
the same errors. They are also the ones that Python has for such arguments: TypeError, ValueError.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

from pyptx import _core
from pyptx._errors import Error


def refuse(kind: str, *words: object, notes: Sequence[str] = ()) -> NoReturn:
    """Raise the error of a kind; the words go into its format."""
    try:
        _core.refuse(kind, [str(word) for word in words], notes, None)
    except Error as error:
        raise error from None  # what it was found by says less
    raise AssertionError(kind)


def is_read_by_dynamo() -> bool:
    """Whether torch.compile is reading the caller; it runs this itself and keeps the answer."""
    guards = sys.modules.get("torch._guards")
    if guards is None or guards.TracingContext.try_get() is None:
        return False
    if not sys.modules["torch"].compiler.is_exporting():
        return True
    # torch.export runs a program in a context of that kind; only where it is strict, Dynamo reads.
    dynamo = sys.modules.get("torch._dynamo.symbolic_convert")
    return getattr(getattr(dynamo, "tls", None), "current_tx", None) is not None


# What torch.compiler.assume_constant_result() sets; done here because torch may not be loaded.
# Dynamo runs such a function while it traces, and shows what that raises.
refuse._dynamo_marked_constant = True  # type: ignore[attr-defined]
is_read_by_dynamo._dynamo_marked_constant = True  # type: ignore[attr-defined]
