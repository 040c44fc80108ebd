# SPDX-License-Identifier: Apache-2.0
"""Which operator stands for a kernel: named by what the kernel is, the same in every process.

Kernels of one content share an operator, so that twelve layers with a kernel each are one compiled
function. It launches the first of them, and follows what that one reads: a change compiles nothing
again. Another of them that no longer equals it gets an operator of its own; its name changes, which
torch.compile sees. A kernel that has its operator to itself is not watched: the name stays.
"""

from __future__ import annotations

import itertools
import os
import re
import threading
from typing import TYPE_CHECKING, Any

from pyptx import _core
from pyptx._call.content import Content
from pyptx._call.refusals import refuse
from pyptx._captures.captures import Captures
from pyptx._torch.kernel_operator import KernelOperator
from pyptx._torch.pair_rule import PairRule
from pyptx._torch.recording import Rule

if TYPE_CHECKING:
    from pyptx._call.autograd import DifferentiableKernel
    from pyptx.kernel import Kernel

#: Those of the process, by name. Graphs name them, so they stay.
_operators: dict[str, KernelOperator] = {}
#: Reentrant: a backward leads to the kernels that it calls.
_lock = threading.RLock()
#: In names that are not the same elsewhere: a graph of another process must name none of ours.
_TOKEN = os.urandom(6).hex()
_local_numbers = itertools.count()
#: Pairs that are being named: one that its backward leads to is not told from others.
_under_way: set[int] = set()
_NO_IDENTIFIER = re.compile(r"\W", re.ASCII)


def operator_of(name: str) -> KernelOperator:
    """Return the operator of this name."""
    operator = _operators.get(name)
    if operator is None:
        refuse(
            "GraphCall",
            f"a graph calls the operator {name!r}, which stands for no kernel of this process",
            "import what defines the kernel before; torch.export puts the kernel into the program "
            "only with strict=False",
        )
    return operator


def name_kernel(kernel: Kernel) -> str:
    """Return the name of the kernel's operator, which is made where there is none."""
    with _lock:
        operator = _of_kernel(kernel)
        return kernel._watch_operator(operator.name, watched(kernel))


def watched(kernel: Kernel) -> tuple[_core.Guards, ...]:
    """Return what the kernel's operator depends on."""
    operator = kernel._operator
    if operator is None or not operator.others:
        return ()
    both = {id(k): k._refreshed().captures.guards for k in (operator.kernel, kernel)}
    return tuple(both.values())


def _of_kernel(kernel: Kernel) -> KernelOperator:
    operator: KernelOperator | None = kernel._operator
    if operator is not None and operator.kernel is kernel:
        for other in tuple(operator.others):
            if not _are_equal(other, kernel):
                _leave(operator, other)
        return operator
    if operator is not None:
        if _are_equal(kernel, operator.kernel):
            return operator
        _leave(operator, kernel)
    for name in _names(kernel):
        operator = _operators.get(name)
        if operator is None:
            operator = _operators[name] = KernelOperator(name, kernel, Rule(kernel.signature.name))
            break
        if operator.rule.pair is None and _are_equal(operator.kernel, kernel):
            operator.others.add(kernel)
            # It was not watched while it was alone.
            operator.kernel._forget_operator()
            break
    assert operator is not None
    kernel._operator = operator
    return operator


def _leave(operator: KernelOperator, kernel: Kernel) -> None:
    operator.others.discard(kernel)
    kernel._operator = None
    kernel._forget_operator()


def _are_equal(one: Kernel, other: Kernel) -> bool:
    """Whether two kernels are the same to whoever calls them."""
    if declaration(one) != declaration(other):
        return False
    first, second = (kernel._refreshed().captures for kernel in (one, other))
    return not (first.is_opaque or second.is_opaque) and bool(first.key == second.key)


def declaration(kernel: Kernel) -> tuple[Any, ...]:
    """Return what the decorator was given but for the grid, which is among the captures."""
    signature = kernel.signature
    return (
        kernel.arch,
        repr(kernel.specializer.options),
        signature.tensors,
        repr(signature.in_specs),
        repr(signature.out_specs),
        signature.raw_params,
        signature.batch,
        signature.dynamic,
        tuple(signature.multiple_of.items()),
    )


def _names(kernel: Kernel) -> Any:
    """Yield names that the operator may have, the first of which it has in every process."""
    captures = kernel._refreshed().captures
    mark = "" if kernel.out_specs else "_"
    if captures.is_opaque:  # nobody can tell whether it is the same elsewhere
        yield f"{_base(kernel)}_local{_TOKEN}{next(_local_numbers)}{mark}"
    digest = Content(declaration(kernel), captures.key).digest
    yield f"{_base(kernel)}_{digest}{mark}"
    for number in itertools.count(1):
        yield f"{_base(kernel)}_{digest}_{number}{mark}"


def _base(kernel: Kernel) -> str:
    return _NO_IDENTIFIER.sub("_", kernel.signature.name)


def name_pair(pair: DifferentiableKernel) -> str:
    """Return the name of a pair's operator; "" where its backward cannot be told from others.

    A graph holds what the backward does, so the name says that as well.
    """
    with _lock:
        if id(pair) in _under_way:
            return ""
        _under_way.add(id(pair))
        try:
            return _name_pair(pair)
        finally:
            _under_way.discard(id(pair))


def _name_pair(pair: DifferentiableKernel) -> str:
    forward: Kernel = pair.forward
    name = forward._operator_name
    guards = {id(forward): forward._refreshed().captures.guards}
    guards |= {id(guard): guard for guard in watched(forward)}
    parts: list[Any] = [name, *pair.facts()]
    if isinstance(pair.backward, _core.OperatorBase):
        content = Content(*parts, pair.backward)
    else:
        captures = Captures(pair.backward)
        guards[id(captures)] = captures.guards
        content = Content(*parts, captures.key)
        content.is_exact &= not captures.is_opaque
    if not content.is_exact:
        return pair._watch_operator("", tuple(guards.values()))
    for kernel in content.operated:
        guards |= {id(guard): guard for guard in _watched_by(kernel)}
    made = f"{_base(forward)}_{content.digest}"
    if made not in _operators:
        _operators[made] = KernelOperator(made, forward, PairRule(pair))
    return pair._watch_operator(made, tuple(guards.values()))


def _watched_by(operated: Any) -> tuple[_core.Guards, ...]:
    if hasattr(operated, "specializer"):
        return (operated._refreshed().captures.guards, *watched(operated))
    return ()
