# SPDX-License-Identifier: Apache-2.0
"""The table in memory: plain records, no reading and no printing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .notation import Needs, Rule, Value
from .operand_text import OperandText
from .syntax_line import OperandUse


class TableError(ValueError):
    """The table is wrong; the message says where."""


@dataclass(frozen=True)
class TypeEntry:
    """A PTX type, in registers and as an element of a tensor; empty: there is none."""

    name: str
    kind: str
    bits: int
    is_register: bool
    storage: str
    lanes: int
    element: int  # bits in memory
    framework: str
    dlpack: int
    stored: str
    map: str


Limit = int | tuple[int, ...]


@dataclass(frozen=True)
class TargetEntry:
    """One target with its minimum version; family 0: none. `limits` are those of isa::Limits."""

    sm: int
    suffix: str
    version: tuple[int, int]
    family: int
    limits: dict[str, Limit]


@dataclass(frozen=True)
class SpecialEntry:
    """A special register, without the percent sign."""

    name: str
    type: str
    is_vector: bool
    sizes: tuple[int, ...]  # bits by which it may be read
    needs: Needs
    emulated: str = ""  # warp, lane, clock


@dataclass(frozen=True)
class DirectiveEntry:
    """A directive in one group of places; `arguments` is none, own, integers or strings."""

    name: str
    manual: str
    places: tuple[str, ...]
    arguments: str
    minimum: int
    maximum: int
    needs: Needs


@dataclass(frozen=True)
class PragmaEntry:
    """A pragma by its first word."""

    name: str
    manual: str
    places: tuple[str, ...]
    takes_value: bool
    is_checked: bool  # elsewhere it is an error, not a warning
    needs: Needs


@dataclass(frozen=True)
class TargetOptionEntry:
    """A word after the target in .target; those of a group exclude each other."""

    name: str
    group: str
    needs: Needs


IGNORED = "ignored"  # the slot of words that ptxas drops; no syntax line has it


@dataclass(frozen=True)
class Slot:
    """A slot of a form with the values it takes."""

    name: str
    optional: bool
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Operand:
    """An operand of a form: where it stands and what it must be.

    An address with parts and a pair list their parts, the first included; `text` is the first's.
    """

    use: OperandUse
    text: OperandText
    parts: tuple[Operand, ...] = ()

    def leaves(self) -> Iterator[Operand]:
        """Return the operand itself, or its parts."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves()


@dataclass(frozen=True)
class Example:
    """An example instruction; `code` is the diagnostic of a rejected one, empty when accepted."""

    text: str
    code: str


@dataclass
class Form:
    """One row."""

    opcode: str
    syntax: str  # as ptxas takes it
    manual: str
    sem: str  # empty when the emulator has none: `reason` says why
    reason: str
    beyond: str  # why ptxas takes what the manual lacks; empty: the manual has it
    needs: Needs
    slots: tuple[Slot, ...]
    operands: tuple[Operand, ...]
    rules: tuple[Rule, ...]
    examples: tuple[Example, ...]
    where: str
    line: str = ""  # the manual's syntax line
    head: int = 0  # slots of the compound opcode: written first, in this order
    flow: str = "next"  # where execution goes on: next, jump, end, call
    ordered: tuple[tuple[str, ...], ...] = ()  # groups of slots that keep their order
    stated_effect: str = ""  # what the row says of its effect: reads, acts

    @property
    def gives(self) -> bool:
        """Whether it writes a register."""
        leaves = (leaf for operand in self.operands for leaf in operand.leaves())
        return any(leaf.text.role != "in" for leaf in leaves)

    @property
    def names_memory(self) -> bool:
        """Whether an operand is an address in brackets."""
        return any(operand.use.shape == "address" for operand in self.operands)

    @property
    def effect(self) -> str:
        """What it does besides giving its results: none, reads, acts."""
        is_computation = self.flow == "next" and self.gives and not self.names_memory
        return self.stated_effect or ("none" if is_computation else "acts")

    @property
    def file(self) -> str:
        """The file of isa/instructions that holds it."""
        return self.where.partition(":")[0]

    def slot_number(self, name: str) -> int:
        """Return the position of the slot called `name`."""
        for index, slot in enumerate(self.slots):
            if slot.name == name:
                return index
        raise TableError(f"no slot '{name}'")


@dataclass
class Table:
    """Everything under isa/."""

    types: list[TypeEntry] = field(default_factory=list)
    versions: list[tuple[int, int]] = field(default_factory=list)
    targets: list[TargetEntry] = field(default_factory=list)
    specials: list[SpecialEntry] = field(default_factory=list)
    directives: list[DirectiveEntry] = field(default_factory=list)
    pragmas: list[PragmaEntry] = field(default_factory=list)
    target_options: list[TargetOptionEntry] = field(default_factory=list)
    sets: dict[str, str] = field(default_factory=dict)
    repeatable: list[str] = field(default_factory=list)
    words: dict[str, Needs] = field(default_factory=dict)
    forms: list[Form] = field(default_factory=list)

    @property
    def sems(self) -> list[str]:
        """The semantics that rows name; each has a handler in src/emu/sem, or nothing links."""
        return sorted({form.sem for form in self.forms if form.sem})

    def type_named(self, name: str) -> TypeEntry | None:
        """Return the type called `name`."""
        return next((t for t in self.types if t.name == name), None)
