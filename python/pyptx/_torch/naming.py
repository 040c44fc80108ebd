# SPDX-License-Identifier: Apache-2.0
"""Which operator stands for a kernel: named by what the kernel is, the same in every process.

Kernels of one content share an operator, so that twelve layers with a kernel each are one compiled
function. It launches the first of them, and follows what that one reads: a change compiles nothing
again. Another of them that no longer equals it gets an operator of its own; its name changes, which
torch.compile sees. A kernel that has its operator to itself is not watched: the name stays.

An operator that its author has named (`op=`) has that name, and no other kernel may have it. What
graphs call it by says the content too, `mylib::rms_norm#0123456789ab`: caches of another process
must not take it for what it was before a change.
"""

from __future__ import annotations

import itertools
import os
import re
import threading
from typing import TYPE_CHECKING, Any, NoReturn

from pyptx import _core
from pyptx._call.content import Content
from pyptx._call.refusals import is_read_by_dynamo, refuse
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
    operator = _operators.get(name.partition("#")[0])
    if operator is None:
        refuse(
            "GraphCall",
            f"a graph calls the operator {name!r}, which stands for no kernel of this process",
            "import what defines the kernel before; torch.export puts the kernel into the program "
            "only with strict=False",
        )
    if is_read_by_dynamo():
        operator.tell_inductor()
    operator.tell_dtensor()
    return operator


def name_kernel(kernel: Kernel) -> str:
    """Return the name of the kernel's operator, which is made where there is none."""
    with _lock:
        operator = _of_kernel(kernel)
        return kernel._watch_operator(operator.graph_name, watched(kernel))


def watched(kernel: Kernel) -> tuple[_core.Guards, ...]:
    """Return what the kernel's operator depends on."""
    operator = kernel._operator
    if operator is None or not operator.others:
        return ()
    both = {id(k): _captures(k).guards for k in (operator.kernel, kernel)}
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
            operator = _made(name, kernel, Rule(kernel.signature.name))
            if name == kernel.op:
                operator.content = Content(declaration(kernel), _captures(kernel).key).digest
            break
        if operator.rule.pair is None and _are_equal(operator.kernel, kernel):
            operator.others.add(kernel)
            # It was not watched while it was alone.
            operator.kernel._forget_operator()
            break
        if name == kernel.op:
            _refuse_second(name, kernel.signature.name)
    assert operator is not None
    kernel._operator = operator
    return operator


def _made(name: str, kernel: Kernel, rule: Rule) -> KernelOperator:
    try:
        operator = KernelOperator(name, kernel, rule)
    except RuntimeError as error:  # somebody has defined it in another way
        why = f"cannot be had, because torch has it already or refuses it: {error}".splitlines()[0]
        refuse("DeclarationValue", f"kernel {kernel.signature.name!r}: op={name!r}", why)
    return _operators.setdefault(name, operator)


def _refuse_second(op: str, name: str) -> NoReturn:
    refuse(
        "DeclarationValue",
        f"kernel {name!r}: op={op!r}",
        f"is the operator of another kernel, or of this one as it was declared otherwise; name "
        f"what differs too, as in op=f'{op}_{{columns}}', or make the kernel once and share it",
    )


def _captures(kernel: Kernel) -> Captures:
    return kernel._refreshed().captures


def _leave(operator: KernelOperator, kernel: Kernel) -> None:
    operator.others.discard(kernel)
    kernel._operator = None
    kernel._forget_operator()


def _are_equal(one: Kernel, other: Kernel) -> bool:
    """Whether two kernels are the same to whoever calls them."""
    if declaration(one) != declaration(other):
        return False
    first, second = _captures(one), _captures(other)
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
        len(signature.inout_specs),
        signature.out_init,
        signature.raw_params,
        signature.batch,
        signature.dynamic,
        tuple(signature.multiple_of.items()),
        kernel.op,
        kernel.autocast_types,
    )


def _names(kernel: Kernel) -> Any:
    """Yield names that the operator may have, the first of which it has in every process."""
    captures = _captures(kernel)
    if kernel.op is not None:
        yield kernel.op
    mark = "_" if kernel.signature.writes_inputs else ""
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
    guards = {id(forward): _captures(forward).guards}
    guards |= {id(guard): guard for guard in watched(forward)}
    parts: list[Any] = [name, *pair.facts()]
    if isinstance(pair.backward, _core.OperatorBase):
        content = Content(*parts, pair.backward)
    else:
        captures = Captures(pair.backward)
        guards[id(captures)] = captures.guards
        content = Content(*parts, captures.key)
        content.is_exact &= not captures.is_opaque
    if pair.op is not None:
        _name_as_declared(pair.op, pair, content)
    if not content.is_exact:
        return pair._watch_operator("", tuple(guards.values()))
    for kernel in content.operated:
        guards |= {id(guard): guard for guard in _watched_by(kernel)}
    name = pair.op or f"{_base(forward)}_{content.digest}"
    if name not in _operators:
        _made(name, forward, PairRule(pair))
    return pair._watch_operator(_operators[name].graph_name, tuple(guards.values()))


def _name_as_declared(op: str, pair: DifferentiableKernel, content: Content) -> None:
    """See that the operator of the author's name is this pair's, or one of the same content."""
    operator = _operators.get(op)
    if operator is None:
        operator = _made(op, pair.forward, PairRule(pair))
    owner = operator.rule.pair
    if operator.content == "" or owner is pair:
        operator.content = content.digest  # its backward may have changed
        return
    if owner is not None:
        name_pair(owner)
    if owner is None or not content.is_exact or operator.content != content.digest:
        _refuse_second(op, pair.forward.signature.name)


def _watched_by(operated: Any) -> tuple[_core.Guards, ...]:
    if hasattr(operated, "specializer"):
        return (_captures(operated).guards, *watched(operated))
    return ()
