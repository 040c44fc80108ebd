# SPDX-License-Identifier: Apache-2.0
"""Every instruction of the table that maps registers to registers, in its legal spellings.

The spellings and their operands come from the table by way of tools/certify, so a new row brings
its own vectors. Instructions that talk to other lanes, to memory or to the condition code have
sets of their own.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from certify.batch import REGISTERS, Machine
from certify.fit import Fitter
from certify.instance import cover, draw, instance
from certify.legal import Availability, Bound
from isagen.resolve import is_there, types_of
from isagen.table import Form, Operand
from record.cases import VERSION, Case, Use, grouped, table
from record.launch import Launch
from record.stream import Stream

_FILES = (
    "comparison_and_selection", "conversion", "conversion_half", "conversion_narrow",
    "data_movement_registers", "floating_point", "floating_point_functions", "fp8_arithmetic",
    "half_precision", "half_precision_comparison", "integer_arithmetic", "integer_bit_field",
    "logic_and_shift", "mixed_precision", "simd_video", "video",
)  # fmt: skip
# They look at more than registers, or at addresses.
_ELSEWHERE = {"shfl", "cvta", "isspacep", "istypep", "mapa", "getctarank"}
# A form with more spellings is covered by some of them: few where every word acts on its own.
_MANY = 260
_FEW = 36
_ALIKE = ("set", "v")
# Operands whose other values the manual leaves undefined: by position among the sources.
_CONFINED = {"fns": {1: "and.b32 {0}, {0}, 31"}}
_TYPES = {prefix: name for name, prefix in REGISTERS.items()}
_REGISTER = re.compile(r"%([a-z]+)(\d+)")


def scalar_forms() -> list[Form]:
    """Return the forms whose operands are all registers, predicates and literals."""
    return [form for form in table().forms if _is_scalar(form)]


def _is_scalar(form: Form) -> bool:
    if form.file.removesuffix(".toml") not in _FILES or form.opcode in _ELSEWHERE:
        return False
    leaves = [leaf for operand in form.operands for leaf in operand.leaves()]
    takes = [{"reg", "pred", "vec", "imm", "sel"} & {*leaf.text.kinds} for leaf in leaves]
    return all(takes) and any(leaf.text.role != "in" for leaf in leaves)


class _Maker:
    """Makes the cases of one form on one machine."""

    def __init__(self, form: Form, target: str) -> None:
        self.form = form
        self.fitter = Fitter(table(), form)
        self.has = Availability(table(), Machine(target, VERSION)).has
        self.slots = {slot.name for slot in form.slots}
        self.stream = Stream(f"scalar {form.where}")

    def cases(self) -> Iterator[Case]:
        limit = _FEW if self.form.opcode.startswith(_ALIKE) else _MANY
        bounds = draw(self.form, self.has, limit + 1)
        if len(bounds) > limit:
            bounds = cover(self.form, self.has, limit // 2)
        for bound in bounds:
            for operands in self._literals(self.fitter.plain(bound)):
                yield from self._case(bound, operands)
        for bound in bounds[:: max(1, len(bounds) // 4)]:
            full = self.fitter.full(bound)
            if full != self.fitter.plain(bound):
                yield from self._case(bound, full)
            for operands in itertools.islice(filter(_is_selected, self.fitter.variants(bound)), 6):
                yield from self._case(bound, operands)

    def _literals(self, operands: list[str]) -> Iterator[list[str]]:
        """Several literals in the place of an operand that takes nothing else."""
        yield operands
        for index, operand in enumerate(self.form.operands):
            text = operand.text
            if {*text.kinds} & {"reg", "pred", "vec", "sel"} or "imm" not in text.kinds:
                continue
            low, high = text.minimum or 0, text.maximum if text.maximum is not None else 255
            for word in self.stream.below(high - low + 1, 6 if high > low else 0):
                changed = list(operands)
                if index < len(changed) and re.fullmatch(r"-?\d+", changed[index]):
                    changed[index] = str(low + int(word))
                    yield changed

    def _case(self, bound: Bound, operands: list[str]) -> Iterator[Case]:
        """Make the case, where it is clear which operands are there."""
        inputs: list[Use] = []
        outputs: list[Use] = []
        written = self._written(bound, operands)
        if written is None:
            return
        position = 0
        for operand, text in written:
            for leaf, piece in zip(operand.leaves(), text.split("|"), strict=False):
                is_output = leaf.text.role != "in"
                found = [
                    self._use(leaf, bound, match, position + element)
                    for element, match in enumerate(_REGISTER.finditer(piece))
                ]
                (outputs if is_output else inputs).extend(found)
                if leaf.text.role == "inout":
                    inputs.extend(found)
                position += 0 if is_output else 1
        spelled = instance(self.form, bound, operands).text
        for name, change in _CONFINED.get(self.form.opcode, {}).items():
            confined = [use.name for use in inputs if use.position == name]
            spelled = "; ".join([*(change.format(one) for one in confined), spelled])
        yield Case(spelled, tuple(inputs), tuple(dict.fromkeys(outputs)))

    def _written(self, bound: Bound, operands: list[str]) -> list[tuple[Operand, str]] | None:
        """Pair the operands of the row with the texts of those that are there."""
        there = [
            operand
            for operand in self.form.operands
            if not operand.text.condition or is_there(operand.text, bound)
        ]
        if len(operands) < len(there):
            there = [operand for operand in there if not operand.use.optional]
        if len(operands) != len(there):  # some of the optional ones: others show as much
            return None
        return list(zip(there, operands, strict=True))

    def _use(self, leaf: Operand, bound: Bound, match: re.Match[str], position: int) -> Use:
        storage = _TYPES[match[1]]
        names = types_of(table(), leaf.text, bound, self.slots) if leaf.text.types else []
        known = {entry.name: entry for entry in table().types}
        fitting = [n for n in names if n in known and known[n].storage == storage]
        kind = fitting[0] if fitting else storage
        return Use(match[0], storage, kind, position)


def _is_selected(operands: list[str]) -> bool:
    """Say whether a variant changes the value of an operand: a selector, a sign, a negation."""
    return any(re.search(r"%\w+\.[bh]|-%|!%p\d", text) for text in operands)


class ScalarSet:
    """Registers to registers."""

    name = "scalar"
    about = "every instruction of the table that maps registers to registers"
    # sm_89 for the forms that were its own before sm_90 had them.
    targets: tuple[str, ...] = ("sm_90a", "sm_80", "sm_89")

    def launches(self, target: str) -> Iterator[Launch]:
        """Group the cases by opcode."""
        by_opcode: dict[str, list[Case]] = {}
        for form in scalar_forms():
            if target == "sm_89" and not any(rule.sm == 89 for rule in form.needs.targets):
                continue
            cases = (case for case in _Maker(form, target).cases() if case.outputs)
            by_opcode.setdefault(form.opcode, []).extend(cases)
        for opcode, listed in by_opcode.items():
            yield from grouped(opcode, listed, target)
