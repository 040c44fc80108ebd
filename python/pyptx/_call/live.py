# SPDX-License-Identifier: Apache-2.0
"""The C entry of a kernel, as long as what its body reads is what it was.

What the entry does not know, or finds changed, comes back to the kernel through here. Neither the
entry nor this keeps the kernel alive.
"""

from __future__ import annotations

import functools
import weakref
from typing import TYPE_CHECKING, Any

from pyptx import _core
from pyptx._call import first_call
from pyptx._traceback import shortened

if TYPE_CHECKING:
    from pyptx._captures.captures import Captures
    from pyptx._jax.eager import EagerCalls
    from pyptx.kernel import Kernel


class Live:
    """The C entry that is valid while the captured values are what they were."""

    __slots__ = ("_stale", "captures", "entry", "jax_calls")

    def __init__(self, owner: Kernel, captures: Captures) -> None:
        # Weak, so that the entry does not keep the kernel that holds it.
        scalars = [(name, kind) for kind, name in owner.signature.free_params]
        self.entry = _core.Entry(functools.partial(_slow_path, weakref.ref(owner)), scalars)
        #: What answers for calls on JAX arrays, once there was one (`_jax.eager`).
        self.jax_calls: EagerCalls | None = None
        self._stale = functools.partial(_stale, weakref.ref(owner))
        self.watch(captures)

    def watch(self, captures: Captures) -> None:
        """Hold as long as these do; their content is that of the ones before."""
        self.captures = captures
        self.entry.watch(captures.guards, self._stale)


def _owner(owner: weakref.ref[Kernel]) -> Kernel:
    kernel_object = owner()
    if kernel_object is None:
        raise ReferenceError("the kernel of this entry is gone")
    return kernel_object


@shortened
def _stale(owner: weakref.ref[Kernel], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call again after something that the body reads may have changed."""
    return _owner(owner)._refreshed().entry.run(*args, **kwargs)


@shortened
def _slow_path(owner: weakref.ref[Kernel], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    kernel_object = _owner(owner)
    live = kernel_object._refreshed()
    if live.jax_calls is not None:
        function = live.jax_calls.find(args, kwargs)
        if function is not None:
            return function(*args)
    captures = live.captures
    if not kernel_object._has_warned:
        kernel_object._has_warned = captures.warn(kernel_object.signature.name)
    return first_call.call(kernel_object, captures, args, kwargs)
