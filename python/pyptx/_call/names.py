# SPDX-License-Identifier: Apache-2.0
"""Names: which ones two things have, and the one by which another process finds a kernel."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pyptx._call.refusals import refuse

if TYPE_CHECKING:
    from pyptx._call.signature import Signature
    from pyptx.kernel import Kernel

Taken = Mapping[str, frozenset[str]]


def entry_name(name: str) -> str:
    """Return the name as PTX takes one for an entry; the same for the same name, always.

    A lambda is `lambda`; of what is no letter, digit or underscore the number is written.
    """
    plain = name.strip("<>") if name.startswith("<") else name
    legal = "".join(
        c if c.isascii() and (c.isalnum() or c == "_") else f"_{ord(c):x}_" for c in plain
    )
    legal = f"_{legal}" if legal[:1].isdigit() or not legal else legal
    return legal if len(legal) > 1 or legal.isalpha() else f"{legal}_"


def taken_keywords(*methods: Callable[..., Any]) -> Taken:
    """Return the keywords that ways to run a kernel take for themselves, by the way."""
    ways = {method.__name__: frozenset(_parameters(method)) for method in methods}
    return ways | {"__call__": frozenset({"out"})}


def _parameters(method: Callable[..., Any]) -> tuple[str, ...]:
    code = method.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def clashes(signature: Signature, taken: Taken) -> dict[str, str]:
    """Return what to say of each way that has a keyword of its own named like one of ours."""
    ours = dict.fromkeys(signature.dims, "dimension")
    ours |= dict.fromkeys(signature.type_names, "element type")
    ours |= {name: "raw parameter" for _, name in signature.raw_params}
    ours |= dict.fromkeys(signature.template_params, "template parameter")
    return {
        way: f"{what} {name!r} cannot be passed to Kernel.{way}, which has an argument of "
        f"that name; rename it"
        for way, keywords in taken.items()
        for name, what in ours.items()
        if name in keywords
    }


def name_for_others(kernel: Kernel) -> str:
    """Return the name by which pickle finds a kernel again; refuses one that has none."""
    module, name = kernel.__module__, str(vars(kernel)["__qualname__"])
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not kernel:
        why = "was made inside a function" if "<locals>" in name else "is not there by that name"
        refuse(
            "ArgumentKind",
            f"kernel {kernel.signature.name!r}",
            f"cannot be pickled, as another process finds it as {module}.{name}, and it {why}; "
            f"make it at module level under its own name, pickle k.bind(...), or k.save() a file",
        )
    return name
