# SPDX-License-Identifier: Apache-2.0
"""Instances of the table's forms: spellings sampled over every slot value, operands that fit, and
one-step mutations of both. Rules and availability are ignored on purpose: both judges must notice.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ptxas import REGISTERS

from isagen.layout import derived_type
from isagen.model import Form, Operand, Table, TableError


@dataclass
class Instance:
    """An instruction in pieces."""

    opcode: str
    modifiers: list[str]
    operands: list[str]

    @property
    def text(self) -> str:
        """``add.u32 %r1, %r2, %r3``."""
        head = ".".join([self.opcode, *self.modifiers])
        return f"{head} {', '.join(self.operands)}".strip()


class Sampler:
    """Draws instances of one form, the same ones for the same seed."""

    def __init__(self, table: Table, form: Form, seed: int) -> None:
        self.table = table
        self.form = form
        self.random = random.Random(f"{seed} {form.syntax}")

    def choices(self, rounds: int) -> Iterator[dict[str, str]]:
        """Slot assignments: each value of each slot `rounds` times, the rest at random."""
        for _ in range(rounds):
            yield {slot.name: slot.values[0].text for slot in self.form.slots if not slot.optional}
        for slot in self.form.slots:
            for value in slot.values:
                for density in (0.0, 0.3)[:rounds] + (0.3,) * (rounds - 2):
                    bound = {slot.name: value.text}
                    for other in self.form.slots:
                        is_used = not other.optional or self.random.random() < density
                        if other.name not in bound and is_used:
                            bound[other.name] = self.random.choice(other.values).text
                    yield bound

    def instances(self, rounds: int) -> Iterator[Instance]:
        """Well-formed instances."""
        for bound in self.choices(rounds):
            modifiers = [bound[slot.name] for slot in self.form.slots if slot.name in bound]
            operands = []
            for number, operand in enumerate(self.form.operands):
                if operand.text.condition:
                    if operand.text.condition not in bound:
                        continue
                elif operand.use.optional and self.random.random() < 0.5:
                    continue
                operands.append(self.operand(operand, bound, number))
            yield Instance(self.form.opcode, modifiers, operands)

    def operand(self, operand: Operand, bound: dict[str, str], number: int) -> str:
        """An operand that fits the description."""
        text = operand.text
        type_name = self.type_of(text.type, bound) if text.type else "b32"
        count = self.count_of(text.count, bound)
        if "addr" in text.kinds:
            return self.address(operand, bound, number)
        if count:
            prefix = self.register(type_name)
            start = number * 130 % 150 + 1
            return "{" + ", ".join(f"%{prefix}{start + i}" for i in range(count)) + "}"
        kinds = [kind for kind in text.kinds if kind not in ("vec", "special", "sym", "notpred")]
        entry = self.table.type_named(type_name)
        is_float = entry is not None and entry.kind == "float"
        if is_float or type_name == "pred":
            kinds = [kind for kind in kinds if kind != "imm"]
        if not is_float:
            kinds = [kind for kind in kinds if kind != "fimm"]
        if type_name != "pred":
            kinds = [kind for kind in kinds if kind != "pred"]
        kind = self.random.choice(kinds) if self.random.random() < 0.3 else kinds[0]
        if kind == "imm":
            literals = text.literals or (text.minimum if text.minimum is not None else 1,)
            return str(self.random.choice(literals))
        if kind == "fimm":
            return "0d3FF0000000000000" if type_name == "f64" else "0f3F800000"
        if kind in ("sink", "label"):
            return {"sink": "_", "label": "L0"}[kind]
        register = f"%{self.register(type_name)}{number + 1}"
        return f"{register}|%p9" if kind == "pipe" else register

    def address(self, operand: Operand, bound: dict[str, str], number: int) -> str:
        """``[%rd1]``, or ``[%rd1, {%r1, %r2}]`` with coordinates."""
        space = bound.get(operand.text.space, "")
        slots = {slot.name for slot in self.form.slots}
        if operand.text.space and operand.text.space not in slots:
            space = operand.text.space
        base = f"%r{number + 1}" if space.startswith(("shared", "local")) else f"%rd{number + 1}"
        if not operand.text.coordinates:
            return f"[{base}]"
        coordinates = self.count_of(operand.text.coordinates, bound)
        return f"[{base}, {{{', '.join(f'%r{20 + i}' for i in range(coordinates))}}}]"

    def type_of(self, text: str, bound: dict[str, str]) -> str:
        """The type that an expression such as ``wide(type)`` gives."""
        match = re.fullmatch(r"(?:(\w+)\()?([\w:]+)(?:,(\d+))?\)?", text)
        if not match or match[2] not in bound:
            return text
        return derived_type(self.table, bound[match[2]], match[1] or "", int(match[3] or 1))

    def count_of(self, text: str, bound: dict[str, str]) -> int:
        """The number that an expression such as ``shape.n/2`` gives; 0: not a vector."""
        if not text or text.isdigit():
            return int(text or 0)
        match = re.fullmatch(r"([\w:]+)(?:\.([a-z]))?(?:/(\d+))?", text)
        if not match or match[1] not in bound:
            return 0
        found = re.search(rf"{match[2] or ''}(\d+)", bound[match[1]])
        return int(found[1]) // int(match[3] or 1) if found else 0

    def register(self, type_name: str) -> str:
        """The prefix of a register that holds `type_name`."""
        entry = self.table.type_named(type_name)
        if entry is None:
            raise TableError(f"'{type_name}' is no type")
        return REGISTERS[entry.storage]


def mutate(instance: Instance, words: list[str], random_source: random.Random) -> Instance:
    """One step away: a modifier dropped, replaced, added or moved; an operand changed."""
    modifiers, operands = list(instance.modifiers), list(instance.operands)
    step = random_source.randrange(8)
    if step in (0, 1, 2) and modifiers:
        modifiers[random_source.randrange(len(modifiers))] = random_source.choice(words)
    elif step == 3 and modifiers:
        del modifiers[random_source.randrange(len(modifiers))]
    elif step == 4 and words:
        modifiers.insert(random_source.randrange(len(modifiers) + 1), random_source.choice(words))
    elif step == 5 and len(operands) > 1:
        del operands[random_source.randrange(len(operands))]
    elif operands:
        index = random_source.randrange(len(operands))
        if operands[index].startswith("%"):
            prefix = random_source.choice(sorted(set(REGISTERS.values()) - {"hh"}))
            operands[index] = f"%{prefix}{index + 1}"
    return Instance(instance.opcode, modifiers, operands)
