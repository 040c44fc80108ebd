# SPDX-License-Identifier: Apache-2.0
"""From a configuration to a launch, and which launches are worth assembling.

Tracing takes about a millisecond, assembling a hundred times that: what the verifier, the launch
plan or the target's limits refuse, and what another configuration does better by the numbers that
the text alone gives, is dropped here.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pyptx import _core
from pyptx._call import settle
from pyptx._call.bound_kernel import Settled
from pyptx._errors import Error
from pyptx._report.costs import occupancy
from pyptx._tune.arguments import Arguments
from pyptx._tune.errors import first_line, wrong_argument
from pyptx._tune.result import Trial
from pyptx._tune.space import Configuration
from pyptx.kernel import Kernel
from pyptx.parser import parse

#: What a builder says of a configuration that it does not have. Anything else is a fault in it.
REFUSALS = (Error, ValueError, AssertionError)
#: Registers of a multiprocessor, and in which steps a thread gets them.
_REGISTERS, _STEP = 65536, 8
#: How many times as much of a resource in use is plainly more.
MARGIN = 1.25


@dataclass(eq=False)
class Candidate:
    """A configuration on its way through a tuning."""

    index: int
    configuration: Configuration
    trial: Trial
    kernel: Any = None  # what is called with the arguments
    settled: Settled | None = None
    digest: str = ""
    by: Candidate | None = None  # what it was pruned for
    declared: int = 1  # registers of a thread as far as the text tells

    @property
    def image(self) -> _core.KernelImage:
        """The kernel that would be launched."""
        assert self.settled is not None
        assert self.settled.image is not None
        return self.settled.image

    @property
    def is_alive(self) -> bool:
        """Whether it may still be chosen."""
        return self.trial.status == "checked"

    def drop(self, status: str, why: str) -> None:
        """Leave it out from here on."""
        self.trial.status, self.trial.why = status, why


def build(candidate: Candidate, kernel: Any, arguments: Arguments) -> None:
    """Trace a configuration's kernel on these arguments, and see that the target can run it."""
    point, trial = candidate.configuration, candidate.trial
    keywords = dict(arguments.keywords)
    try:
        if isinstance(kernel, Kernel):
            made: Any = kernel
            keywords |= point.value
        else:
            made = point.give(kernel)
        candidate.kernel = made
        forward = getattr(made, "forward", made)  # of a differentiable kernel
        settled = None
        if isinstance(forward, Kernel):
            captures, ordinal = forward._refreshed().captures, arguments.ordinal
            settled = settle.settle_arrays(
                forward, captures, arguments.arrays, None, keywords, ordinal
            )
    except Exception as error:
        if _is_of_a_configuration(error):
            candidate.drop("refused", first_line(error))
            return
        error.add_note(f"in the configuration {point} of a tuning")
        raise
    if settled is None:
        what = f"{type(made).__name__} for {point}"
        wrong_argument("what the function builds", "a pyptx kernel", what)
    if settled.image is None:
        candidate.drop("refused", "its grid is empty")
        return
    candidate.settled = settled
    candidate.digest = _digest(settled)
    plan = settled.image.plan
    trial.threads = math.prod(plan.block)
    code = _Code(settled.image.ptx)
    trial.shared = plan.dynamic_shared + code.static_shared
    _check_limits(candidate, code)


def _is_of_a_configuration(error: Exception) -> bool:
    """Whether another configuration may do; what is given to all of them is no one's fault."""
    if not isinstance(error, Error) or not isinstance(error, TypeError):
        return isinstance(error, REFUSALS)
    return error.diagnostics[0].kind in ("ArrayElements", "FrameworkElements")


def _digest(settled: Settled) -> str:
    """Return what stands for a launch: its text without line numbers, and its plan."""
    assert settled.image is not None
    lines = settled.image.ptx.splitlines(keepends=True)
    parts = (
        "".join(line for line in lines if not line.lstrip().startswith((".loc ", ".file "))),
        settled.image.plan.text,
        repr([scalar.bits for scalar in settled.scalars]),
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


class _Code:
    """What a text says of the shared memory and the registers that it takes."""

    def __init__(self, text: str) -> None:
        module = parse(text, recover=True)
        functions = module.functions
        parts = [*module.directives, *(part for function in functions for part in function.body)]
        variables = [part for part in parts if isinstance(part, _core.Variable)]
        #: Bytes that are declared with their size.
        self.static_shared = sum(v.size for v in variables if v.space == "shared")
        instructions = [part for function in functions for part in function.instructions]
        # one-place: how many registers a launch has is of no row's concern.
        changes = [i for i in instructions if i.opcode == "setmaxnreg"]
        #: The registers of a thread that its setmaxnreg leave or give it; empty: it has none.
        self.changes = [int(str(change.operands[0])) for change in changes]
        declared = [values for f in functions for name, values in f.directives if name == "maxnreg"]
        self.most = int(declared[0][0]) if declared else None


def _check_limits(candidate: Candidate, code: _Code) -> None:
    """Refuse what no multiprocessor of the target can hold; note what it holds otherwise."""
    trial, image = candidate.trial, candidate.image
    assert trial.threads is not None
    assert trial.shared is not None
    try:
        _core.check_shared("", image.target, trial.shared)
    except Error as error:
        candidate.drop("refused", first_line(error))
        return
    least = min(code.changes, default=0)
    if least * trial.threads > _REGISTERS:
        candidate.drop(
            "refused", f"setmaxnreg leaves {trial.threads} threads {least} registers each at least"
        )
        return
    candidate.declared = _declared_registers(code, trial.threads)
    note_occupancy(candidate, candidate.declared)
    if trial.ctas == 0:
        candidate.drop("refused", "a multiprocessor cannot hold one CTA of it")


def _declared_registers(code: _Code, threads: int) -> int:
    """Return the registers of a thread as far as the text tells; 1 where it does not."""
    if code.most is not None:
        return code.most
    if code.changes:  # launched with all that there are
        return _REGISTERS // threads // _STEP * _STEP
    return 1


def note_occupancy(candidate: Candidate, registers: int | None) -> None:
    """Note how many CTAs a multiprocessor holds."""
    trial = candidate.trial
    found = occupancy(candidate.image.target, registers, trial.shared or 0, trial.threads or 1)
    trial.ctas, trial.warps = (None, None) if found is None else (found.ctas, found.warps)


def drop_repeated(candidates: Iterable[Candidate]) -> None:
    """Leave out kernels that another configuration has given already."""
    first: dict[str, Candidate] = {}
    for candidate in candidates:
        if candidate.is_alive:
            other = first.setdefault(candidate.digest, candidate)
            if other is not candidate:
                candidate.drop("same", f"the same kernel as {other.configuration}")


def drop_costly(candidates: Sequence[Candidate], slack: float) -> None:
    """Leave out what the author's model expects to be slower than the best by a factor."""
    costs = [c.trial.cost for c in candidates if c.is_alive and c.trial.cost is not None]
    if not costs:
        return
    least = min(costs)
    for candidate in candidates:
        cost = candidate.trial.cost
        if candidate.is_alive and cost is not None and cost > least * slack:
            candidate.drop("pruned", f"the model expects {cost / least:.2f} times the best")


def drop_dominated(candidates: Sequence[Candidate], multiprocessors: int | None) -> None:
    """Leave out what another configuration of the same launch does better in every number.

    The same grid, block and cluster divide the work in the same way. A multiprocessor that then
    holds more CTAs of the other one, and has plainly more shared memory and registers in use by it,
    has more work and more loads under way. One that spills is left out for one that does not.
    """
    shapes: dict[Any, list[Candidate]] = {}
    for candidate in candidates:
        if candidate.is_alive and candidate.trial.ctas:
            plan = candidate.image.plan
            shapes.setdefault((plan.grid, plan.block, plan.cluster), []).append(candidate)
    for (grid, _, _), group in shapes.items():
        most = None
        if multiprocessors:
            most = -(-math.prod(grid) // multiprocessors)  # more would find no work
        for candidate in group:
            for other in group:
                why = None
                if other.is_alive and candidate.is_alive and other is not candidate:
                    why = _dominance(candidate, other, most)
                if why is not None:
                    candidate.by = other
                    candidate.drop("pruned", f"{why} than {other.configuration}")


def _dominance(candidate: Candidate, rival: Candidate, most: int | None) -> str | None:
    """Say in what a candidate is worse than another; None where it may be better."""
    own, other = candidate.trial, rival.trial
    ours, theirs = (min(t.ctas or 0, most or t.ctas or 0) for t in (own, other))
    if own.spills and other.spills == 0 and theirs >= ours:
        return f"spills {own.spills} bytes, and runs on no more CTAs at once"
    if theirs <= ours:
        return None
    used = [(own.shared or 0, other.shared or 0)]
    used.append((own.registers or candidate.declared, other.registers or rival.declared))
    if all(more * theirs >= less * ours * MARGIN for less, more in used):
        return f"a multiprocessor holds {ours} CTAs, fewer"
    return None
