# SPDX-License-Identifier: Apache-2.0
"""Operands that fit a spelling: registers by type, vectors by count, addresses by space.

The plain fit writes registers and leaves optional operands out. Each variant changes one operand:
another kind or type that its description lists, an address with an offset or a symbol, an optional
operand written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from isagen.operand_text import OperandText
from isagen.resolve import count_of, is_there, types_of
from isagen.table import Form, Operand, Table, TableError

from .batch import REGISTER_COUNT, REGISTERS
from .legal import Bound

# Kinds in the order of preference for the plain fit.
_PREFERENCE = (
    "vec", "reg", "pred", "addr", "sel", "neg", "imm", "fimm", "label", "sym", "special", "paren",
    "notpred", "sink",
)  # fmt: skip
# Variables of the frame by state space, and by opaque type.
_SYMBOLS = {
    "shared": "smem", "global": "gmem", "const": "cmem", "local": "lmem", "param": "param0",
    "texref": "tex0", "samplerref": "samp0", "surfref": "surf0",
}  # fmt: skip


@dataclass(frozen=True)
class Choice:
    """How to write the operand called `name`: a kind, and which of its spellings."""

    name: str = ""
    kind: str = ""
    number: int = 0


PLAIN = Choice()


@dataclass
class _Writing:
    """One fit under way."""

    bound: Bound
    choice: Choice = PLAIN
    written: frozenset[str] = frozenset()
    number: int = field(default=0)  # of the next register

    def of(self, operand: Operand) -> Choice:
        return self.choice if self.choice.name == operand.use.name else PLAIN


class Fitter:
    """Fits operands to the spellings of one form, for modules of one texture mode."""

    def __init__(self, table: Table, form: Form, texmode: str = "") -> None:
        self.table = table
        self.form = form
        self.texmode = texmode.removeprefix("texmode_") or "unified"
        self.types = {entry.name: entry for entry in table.types}
        self.slots = {slot.name for slot in form.slots}
        self.leaves = [leaf for operand in form.operands for leaf in operand.leaves()]
        self.optional = frozenset(
            operand.use.name
            for operand in [*form.operands, *self.leaves]
            if operand.use.optional and not operand.text.condition and not operand.text.texmode
        )

    def plain(self, bound: Bound) -> list[str]:
        """Return the plain fit."""
        return self._write(_Writing(bound))

    def full(self, bound: Bound) -> list[str]:
        """Return the plain fit with every optional operand written."""
        return self._write(_Writing(bound, written=self.optional))

    def variants(self, bound: Bound) -> Iterator[list[str]]:
        """Every other fit, each different in one operand."""
        seen = {tuple(self.plain(bound))}
        for writing in self._writings(bound):
            texts = self._write(writing)
            if tuple(texts) not in seen:
                seen.add(tuple(texts))
                yield texts

    def _writings(self, bound: Bound) -> Iterator[_Writing]:
        for name in self.optional:
            yield _Writing(bound, written=frozenset([name]))
        yield _Writing(bound, written=self.optional)
        for leaf in self.leaves:
            kinds = leaf.text.kinds
            choices = [Choice(leaf.use.name, kind) for kind in kinds]
            choices += [Choice(leaf.use.name, "addr", n) for n in range(1, 5) if "addr" in kinds]
            choices += [Choice(leaf.use.name, "imm", n) for n in (1, 2) if "imm" in kinds]
            choices += [
                Choice(leaf.use.name, kind, n)
                for kind in ("reg", "vec")
                for n in range(1, len(leaf.text.types))
                if kind in kinds
            ]
            choices += [Choice(leaf.use.name, "sel", n) for n in range(1, len(leaf.text.selectors))]
            for choice in choices:
                yield _Writing(bound, choice, self.optional & {leaf.use.name})

    def _write(self, writing: _Writing) -> list[str]:
        texts = [self._operand(operand, writing) for operand in self.form.operands]
        return [text for text in texts if text]

    def _operand(self, operand: Operand, writing: _Writing) -> str:
        """Return the text of an operand with its parts, or nothing when it is not there."""
        if operand.text.condition and not operand.use.shape:
            if not is_there(operand.text, writing.bound):
                return ""
        elif operand.text.texmode and operand.use.optional and not operand.use.shape:
            if operand.text.texmode != self.texmode:
                return ""
        elif operand.use.optional and operand.use.name not in writing.written:
            return ""
        if not operand.parts:
            text = self._leaf(operand, writing)
            return f"[{text}]" if operand.use.shape == "address" else text
        parts = [self._operand(part, writing) for part in operand.parts]
        parts = [part for part in parts if part]
        return f"[{', '.join(parts)}]" if operand.use.shape == "address" else "|".join(parts)

    def _leaf(self, operand: Operand, writing: _Writing) -> str:
        text, choice = operand.text, writing.of(operand)
        type_name = self._type(text, writing.bound, choice)
        count = self._count(text, writing.bound)
        kind = self._kind(text, type_name, count, choice)
        number = writing.number = writing.number + 1
        if kind == "addr":
            typed = self._prefix(type_name) if text.types else ""
            return self._address(text, writing.bound, typed, number, choice.number)
        if kind == "vec" or (kind == "sink" and count):
            prefix = self._prefix(type_name)
            start = number * 8 if number * 8 + count < REGISTER_COUNT else 1
            elements = [f"%{prefix}{start + i}" for i in range(max(count, 1))]
            if text.indexed:
                elements[0] = f"%r{start}"
            return "{" + ", ".join(["_", *elements[1:]] if kind == "sink" else elements) + "}"
        scalar = self._scalar(text, kind, type_name, number * 8, choice.number)
        if kind in ("imm", "fimm") and count and not text.bare and kind not in text.odd_kinds:
            return "{" + ", ".join([scalar] * count) + "}"
        return scalar

    def _type(self, text: OperandText, bound: Bound, choice: Choice) -> str:
        try:
            types = [name for name in types_of(self.table, text, bound, self.slots) if name]
        except TableError:  # a word of another slot: no type fits
            types = []
        types = [name for name in types if name in self.types] or ["b32"]
        return types[choice.number % len(types) if choice.kind in ("reg", "vec") else 0]

    def _count(self, text: OperandText, bound: Bound) -> int:
        try:
            return count_of(self.table, text, bound)
        except TableError:
            return 1

    def _kind(self, text: OperandText, type_name: str, count: int, choice: Choice) -> str:
        kinds = [kind for kind in _PREFERENCE if kind in text.kinds and kind not in text.odd_kinds]
        if type_name == "pred" and "pred" in kinds:
            kinds = ["pred", *(kind for kind in kinds if kind not in ("reg", "imm", "fimm"))]
        elif "reg" in kinds and "pred" in kinds:
            kinds.remove("pred")
        if text.uncounted:
            kinds.sort(key=lambda kind: kind == "vec")
        if text.count and "vec" in kinds:
            kinds = [k for k in kinds if k != ("reg" if count else "vec")] or ["vec"]
        return choice.kind if choice.kind in (*kinds, *text.odd_kinds) else kinds[0]

    def _scalar(self, text: OperandText, kind: str, type_name: str, number: int, nth: int) -> str:
        register = f"%{self._prefix(type_name)}{number}"
        is_wide = self.types[type_name].bits > 32
        if kind == "imm":
            return literal(text, nth)
        if kind == "fimm":
            return "0d3FF0000000000000" if is_wide else "0f3F800000"
        if kind == "sym":
            opaque = [_SYMBOLS[one.name] for one in text.types if one.name in _SYMBOLS]
            return [*opaque, "gmem" if is_wide else "smem"][0]
        if kind == "special":
            return "%clock64" if is_wide else "%tid.x"
        if kind == "sel":
            return f"{register}.{text.selectors[nth % len(text.selectors)]}"
        fixed = {"sink": "_", "label": "L0", "paren": f"({register})"}
        return fixed.get(kind) or {"notpred": "!", "neg": "-"}.get(kind, "") + register

    def _prefix(self, type_name: str) -> str:
        return REGISTERS.get(self.types[type_name].storage, "r")

    def _address(self, text: OperandText, bound: Bound, typed: str, number: int, nth: int) -> str:
        """Return the base of an address: a register, with an offset, or a symbol."""
        space = bound.get(text.space, "") if text.space in self.slots else text.space
        is_call = space == "param::func" or (space == "param" and self.form.opcode == "st")
        symbol = "param1" if is_call else _SYMBOLS.get(space.split("::")[0], "gmem")
        prefix = typed or ("r" if space.startswith(("shared", "local")) else "rd")
        register = f"%{prefix}{number * 8}"
        # In a kernel .param::func is a parameter of a call, which has no address in a register.
        plain = symbol if space == "param::func" else register
        return [plain, f"{register}+16", f"{register}+-16", symbol, f"{symbol}+8"][nth]


def names_sampler(form: Form) -> bool:
    """Whether the texture mode of a module decides about an operand of a form."""
    return any(leaf.text.texmode for operand in form.operands for leaf in operand.leaves())


def literal(text: OperandText, nth: int = 0) -> str:
    """Return the nth legal immediate of an operand: the lowest, the highest, one between."""
    if text.literals:
        return str(text.literals[nth % len(text.literals)])
    multiple = text.multiple or 1
    low = text.minimum if text.minimum is not None else multiple
    high = text.maximum if text.maximum is not None else low + 3 * multiple
    if text.power_of_two:
        powers = [1 << n for n in range(64) if low <= 1 << n <= high]
        return str([powers[0], powers[-1], powers[len(powers) // 2]][nth % 3])
    low, high = -(-low // multiple) * multiple, high // multiple * multiple
    return str([low, high, min(low + multiple, high)][nth % 3])


def slots_named_by(form: Form) -> set[str]:
    """Return the slots on which the operands of a form depend."""
    found: set[str] = set()
    for operand in form.operands:
        for leaf in [operand, *operand.leaves()]:
            text = leaf.text
            found |= {text.space} | {one.name for one in text.types}
            found |= {step.slot for step in text.count} | {term.slot for term in text.condition}
    return found & {slot.name for slot in form.slots}
