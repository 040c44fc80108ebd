# SPDX-License-Identifier: Apache-2.0
"""Calls on JAX arrays outside of `jax.jit`: one jitted function answers for the calls like it.

Finding out how arrays are mapped and sharded takes longer than a launch. JAX's own dispatch finds a
compiled program by the types of its arguments, so what is kept here is a function for the keywords
of a call, as long as what the body reads is what it was (`_call.live`). Whoever brings anything
but plain arrays and constants takes the way of a first call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax

from pyptx import _core
from pyptx._call import first_call
from pyptx._jax import batching
from pyptx._jax.call_site import PLATFORMS, Site, align
from pyptx._kept import Kept

if TYPE_CHECKING:
    from pyptx._call.live import Live

#: Functions of a kernel, one for the keywords of a call.
MOST_KEPT = 256
_CONSTANTS = (int, str, bool, type(None), _core.Type)


class EagerCalls:
    """The jitted functions of a kernel whose captures are what they were."""

    __slots__ = ("_array", "_functions")

    def __init__(self, array: type) -> None:
        self._array: Any = array
        self._functions: Kept[Any, Callable[..., Any]] = Kept(MOST_KEPT)

    def find(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> Callable[..., Any] | None:
        """Return the function for such a call, None where there is none."""
        for x in args:
            if type(x) is not self._array or x.platform() not in PLATFORMS:
                return None
        key = _key(keywords) if keywords else ()
        return self._functions.get(key) if key is not None and args else None

    def keep(self, key: Any, function: Callable[..., Any]) -> None:
        """Answer for calls with these keywords from now on."""
        self._functions.keep_first(key, function)


def teach(live: Live, site: Site, args: Sequence[Any]) -> None:
    """Keep a function for calls like this one, which has been made, where they can be told."""
    kind = type(args[0])
    is_plain = all(type(x) is kind for x in args) and not isinstance(args[0], jax.core.Tracer)
    key = _key(site.keywords)
    if not is_plain or site.aliases or key is None or site.captures.is_opaque:
        return
    if live.captures is not site.captures or not site.captures.is_current():
        return
    if live.jax_calls is None:
        live.jax_calls = EagerCalls(kind)

    def call(*args: Any) -> Any:
        return first_call.unpack(batching.run(site, align(args)))

    call.__name__ = site.kernel.signature.name
    live.jax_calls.keep(key, jax.jit(call))


def _key(keywords: Mapping[str, Any]) -> Any:
    """Return what tells the keywords of one call from others; None where they may change."""
    key: list[tuple[Any, ...]] = []
    for name, value in keywords.items():
        if type(value) is float:
            key.append((name, value.hex()))  # 0.0 is equal to -0.0, and a NaN to nothing
        elif type(value) in _CONSTANTS:
            key.append((name, type(value), value))
        else:
            return None
    return tuple(key)
