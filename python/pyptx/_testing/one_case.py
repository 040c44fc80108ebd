# SPDX-License-Identifier: Apache-2.0
"""One case of a check: its inputs, what is expected, and every way in which it is run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyptx._call.element_types import ptx_name
from pyptx._call.refusals import refuse
from pyptx._errors import EmulatorError, EmulatorWarning, Error
from pyptx._testing import runs, values
from pyptx._testing.cases import DTYPE, Case, asked, cannot, read_only, shown
from pyptx._testing.compare import compare
from pyptx._testing.report import Failure, call_text, finding


@dataclass(frozen=True)
class Rules:
    """How a check runs its cases, and what it lets pass."""

    order: Sequence[runs.Schedule]
    frameworks: Sequence[str]
    tolerance: float | Mapping[str, float] | None = None
    checks: str = "races"
    ignore: str | Sequence[str] = ()
    deterministic: bool = True
    has_named: bool = True  # the author, which frameworks; others are left out where they cannot

    def allowed(self, output: str) -> float | None:
        """Return what elements of an output may be off; None: what its type says."""
        found = self.tolerance
        found = found.get(output) if isinstance(found, Mapping) else found
        if found is not None and not (isinstance(found, (int, float)) and found > 0):
            refuse("OptionValue", "tolerance", "a number above 0", f"not {found!r}")
        return found

    def unlike_default(self) -> dict[str, Any]:
        """Return what a call has to say so that it checks by the same rules."""
        given = {
            "tolerance": self.tolerance,
            "checks": self.checks,
            "ignore": self.ignore,
            "deterministic": self.deterministic,
        }
        usual = {"tolerance": None, "checks": "races", "ignore": (), "deterministic": True}
        return {name: value for name, value in given.items() if value != usual[name]}


class OneCase:
    """A case, ready to run: the reference has been asked."""

    def __init__(
        self, case: Case, kernel: Any, reference: Callable[..., Any], rules: Rules
    ) -> None:
        self.case = case
        self.kernel = case.kernel
        self.rules = rules
        self.given = (kernel, reference)
        self.inputs = case.arrays()
        # What is written: in-out tensors, the last ones that a call takes, then outputs.
        self.names = self.kernel.signature.tensors[self.case.read_only :]
        with np.errstate(all="ignore"):
            exact = [values.exact(array) for array in self.inputs]
            self.expected = runs.as_tuple(asked(reference, exact, case.named()))
        if len(self.expected) != len(self.names):
            words = f"returns {len(self.expected)} arrays for {len(self.names)} that are written"
            refuse("CheckReference", self.kernel.signature.name, words)
        for name in self.rules.tolerance if isinstance(self.rules.tolerance, Mapping) else ():
            if name not in self.names:
                cannot(self.kernel, f"tolerance= has a {name!r}, which is no output of it")

    def run(self) -> Failure | None:
        """Return the first thing that is wrong; None where all is right."""
        return next(self._failures(), None)

    def _failures(self) -> Iterator[Failure]:
        if "numpy" in self.rules.frameworks:
            yield from self._on_emulator()
        if "torch" in self.rules.frameworks:
            yield from self._through_torch()
        if "jax" in self.rules.frameworks:
            yield from self._through_jax()

    def _on_emulator(self) -> Iterator[Failure]:
        first: tuple[Any, ...] | None = None
        options = {"checks": self.rules.checks, "ignore": self.rules.ignore}
        for schedule in self.rules.order:
            where = f"on the emulator with schedule {schedule}"
            alone: dict[str, Any] = {"schedules": [schedule], "frameworks": "numpy"}
            try:
                found = runs.emulated(
                    self.kernel,
                    self.inputs,
                    schedule,
                    inouts=self.case.inouts,
                    **options,
                    **self.case.keywords,
                )
            except (EmulatorError, EmulatorWarning) as stopped:
                yield self._failure(_told(stopped), where, alone)
                return
            yield from self._wrong(found, where, alone)
            first = found if first is None else first
            for index, (left, right) in enumerate(zip(first, found, strict=True)):
                if self.rules.deterministic and runs.bits(left) != runs.bits(right):
                    words = words_on_bits(self.kernel, index, schedule, self.rules.order[0])
                    alone["schedules"] = [self.rules.order[0], schedule]
                    yield self._failure(finding("PTX0961", words), where, alone)

    def _through_torch(self) -> Iterator[Failure]:
        like, keywords = self._outputs(), self.case.keywords
        alone = {"frameworks": "torch"}
        through = runs.through_torch(
            self.kernel, self.inputs, like, keywords, inouts=self.case.inouts
        )
        for place, found, unwritten in through:
            for name, left in zip(self.names[self.case.inouts :], unwritten, strict=False):
                if left.any() and "PTX0940" not in self.rules.ignore:
                    first = [int(part) for part in np.argwhere(left)[0]]
                    words = f"output {name!r} has no value in {int(left.sum())} of {left.size} "
                    words += f"elements when the kernel ends; the first is {first}"
                    what = finding("PTX0960", [self.kernel.signature.name, words])
                    yield self._failure(what, f"through {place}", alone)
            yield from self._wrong(found, f"through {place}", alone)

    def _through_jax(self) -> Iterator[Failure]:
        try:
            place, found = runs.through_jax(self.kernel, self.inputs, self.case.keywords)
        except Error as refused:  # JAX has elements of 64 bits where it is told to
            is_of_elements = [one.code for one in refused.diagnostics] == [runs.NO_SUCH_ELEMENTS]
            if self.rules.has_named or not is_of_elements:
                raise
            return
        yield from self._wrong(found, f"through {place}", {"frameworks": "jax"})

    def _wrong(self, found: Sequence[Any], where: str, alone: dict[str, Any]) -> Iterator[Failure]:
        for name, got, expected in zip(self.names, found, self.expected, strict=True):
            if np.shape(expected) != np.shape(got):
                words = f"returns shape {np.shape(expected)} for output {name!r}, which has shape "
                refuse("CheckReference", self.kernel.signature.name, f"{words}{np.shape(got)}")
            wrong = compare(got, np.ma.asanyarray(expected), self.rules.allowed(name))
            if wrong is not None:
                words = f"output {name!r} is {wrong.headline}"
                what = finding("PTX0960", [self.kernel.signature.name, words])
                yield self._failure(what, where, alone, wrong.lines)

    def _outputs(self) -> list[Any]:
        """Return arrays of the types and shapes of the outputs."""
        named, made = self.case.named(), []
        outputs = self.expected[self.case.inouts :]
        for tile, expected in zip(self.kernel.out_specs, outputs, strict=True):
            is_given = tile.type_name is not None or tile.dtype is None
            kind = named[tile.type_name or DTYPE] if is_given else tile.dtype
            made.append(np.empty(np.shape(expected), values.numpy_type(ptx_name(kind))))
        return made

    def _failure(
        self,
        what: tuple[str, list[Any]],
        where: str,
        alone: dict[str, Any],
        lines: Sequence[str] = (),
    ) -> Failure:
        text, diagnostics = what
        options = {**alone, **self.rules.unlike_default()}
        call = call_text([shown(one) for one in self.given], self.case, options)
        return Failure(self.case, where, text, diagnostics, list(lines), call)


def _told(stopped: EmulatorError | EmulatorWarning) -> tuple[str, list[Any]]:
    """Return what stopped a run, as text and as diagnostics."""
    if isinstance(stopped, EmulatorError):
        return str(stopped), stopped.diagnostics
    return str(stopped.diagnostic), [stopped.diagnostic]


def words_on_bits(
    kernel: Any, output: int, schedule: runs.Schedule, first: runs.Schedule
) -> list[str]:
    """Return what PTX0961 says of an output."""
    name = kernel.signature.tensors[read_only(kernel) + output]
    return [kernel.signature.name, name, f"with schedule {schedule}", f"with {first}"]
