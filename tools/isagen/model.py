# SPDX-License-Identifier: Apache-2.0
"""The table in memory: loads isa/, resolves names, refuses rows that say too little or too much."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .notation import (
    Needs,
    NotationError,
    OperandText,
    OperandUse,
    Rule,
    Term,
    Value,
    expand_run,
    parse_needs,
    parse_operand,
    parse_rule,
    parse_syntax,
    parse_values,
)


class TableError(ValueError):
    """The table is wrong; the message says where."""


@dataclass(frozen=True)
class TypeEntry:
    """A PTX type."""

    name: str
    kind: str
    bits: int
    is_register: bool
    storage: str


@dataclass(frozen=True)
class TargetEntry:
    """One target with its minimum version; family 0: none."""

    sm: int
    suffix: str
    version: tuple[int, int]
    family: int


@dataclass(frozen=True)
class SpecialEntry:
    """A special register, without the percent sign."""

    name: str
    type: str
    is_vector: bool
    needs: Needs


@dataclass(frozen=True)
class Slot:
    """A slot of a form with the values it takes."""

    name: str
    optional: bool
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Operand:
    """An operand of a form: where it stands and what it must be."""

    use: OperandUse
    text: OperandText


@dataclass(frozen=True)
class Example:
    """An example instruction; `code` is the diagnostic of a rejected one, empty when accepted."""

    text: str
    code: str


@dataclass
class Form:
    """One row."""

    opcode: str
    syntax: str
    manual: str
    sem: str
    needs: Needs
    slots: tuple[Slot, ...]
    operands: tuple[Operand, ...]
    rules: tuple[Rule, ...]
    examples: tuple[Example, ...]
    where: str
    head: int = 0  # slots of the compound opcode: written first, in this order
    ordered: tuple[str, ...] = ()  # slots that keep their order among each other


@dataclass
class Table:
    """Everything under isa/."""

    types: list[TypeEntry] = field(default_factory=list)
    versions: list[tuple[int, int]] = field(default_factory=list)
    targets: list[TargetEntry] = field(default_factory=list)
    specials: list[SpecialEntry] = field(default_factory=list)
    sems: list[str] = field(default_factory=list)
    sets: dict[str, str] = field(default_factory=dict)
    words: dict[str, Needs] = field(default_factory=dict)
    forms: list[Form] = field(default_factory=list)

    def type_named(self, name: str) -> TypeEntry | None:
        """Return the type called `name`."""
        return next((t for t in self.types if t.name == name), None)


_SHARED_KEYS = {"manual", "sem", "needs", "slots", "operands", "rules", "head", "ordered"}
_INSTRUCTION_KEYS = _SHARED_KEYS | {"form"}
_FORM_KEYS = _SHARED_KEYS | {"syntax", "accept", "reject"}


def load(root: Path) -> Table:
    """Read the table under `root` (the isa folder)."""
    table = Table()
    common = root / "common"
    _load_types(table, _read(common / "types.toml"))
    _load_targets(table, _read(common / "targets.toml"))
    _load_specials(table, _read(common / "special_registers.toml"))
    table.sems = _read(common / "sems.toml")["sems"].split()
    modifiers = _read(common / "modifiers.toml")
    table.sets = modifiers["sets"]
    table.words = {word: parse_needs(needs) for word, needs in modifiers["words"].items()}
    for path in sorted((root / "instructions").glob("*.toml")):
        load_instructions(table, _read(path), path.name)
    return table


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise TableError(f"{path.name}: {error}") from error


def _load_types(table: Table, data: dict[str, Any]) -> None:
    for kind, entries in data.items():
        for name, facts in entries.items():
            bits = facts["bits"]
            is_register = facts.get("register", False)
            storage = name if is_register else f"b{max(bits, 8)}"
            table.types.append(TypeEntry(name, kind, bits, is_register, storage))


def _load_targets(table: Table, data: dict[str, Any]) -> None:
    table.versions = [parse_needs(v).version for v in data["versions"].split()]
    for number, facts in data["targets"].items():
        for suffix in ("", "a", "f"):
            version = facts.get(suffix or "plain")
            if version:
                family = facts.get("family", 0)
                entry = TargetEntry(int(number), suffix, parse_needs(version).version, family)
                table.targets.append(entry)


def _load_specials(table: Table, data: dict[str, Any]) -> None:
    for group, facts in data.items():
        type_name, _, vector = group.partition("_")
        for word in facts["names"].split():
            run, _, needs = word.partition("@")
            for name in expand_run(run):
                available = parse_needs(needs) if needs else Needs()
                table.specials.append(SpecialEntry(name, type_name, bool(vector), available))


def load_instructions(table: Table, data: dict[str, Any], file: str) -> None:
    """Add the rows of one file of isa/instructions."""
    unknown = set(data) - {"instruction"}
    if unknown:
        raise TableError(f"{file}: unknown key '{sorted(unknown)[0]}'")
    for shared in data.get("instruction", []):
        _check_keys(shared, _INSTRUCTION_KEYS, file)
        for row in shared.get("form", []):
            where = f"{file}: '{row.get('syntax', '?')}'"
            _check_keys(row, _FORM_KEYS, where)
            try:
                table.forms.append(_load_form(table, shared, row, where))
            except NotationError as error:
                raise TableError(f"{where}: {error}") from error


def _check_keys(data: dict[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(set(data) - known)
    if unknown:
        raise TableError(f"{where}: unknown key '{unknown[0]}'")


def _load_form(table: Table, shared: dict[str, Any], row: dict[str, Any], where: str) -> Form:
    for key in ("syntax", "accept", "reject"):
        if not row.get(key):
            raise TableError(f"{where}: a row needs '{key}'")
    for key in ("manual", "sem"):
        if not (row.get(key) or shared.get(key)):
            raise TableError(f"{where}: a row needs '{key}'")
    syntax = parse_syntax(row["syntax"])
    value_texts = {**shared.get("slots", {}), **row.get("slots", {})}
    descriptions = {**shared.get("operands", {}), **row.get("operands", {})}
    slots = tuple(
        Slot(use.name, use.optional, _load_values(table, value_texts.get(use.name, use.default)))
        for use in syntax.slots
    )
    unused = sorted(set(row.get("slots", {})) - {slot.name for slot in slots})
    if unused:
        raise TableError(f"{where}: slot '{unused[0]}' is not in the syntax line")
    operands = []
    for use in syntax.operands:
        if use.name not in descriptions:
            raise TableError(f"{where}: operand '{use.name}' is not described")
        operands.append(Operand(use, parse_operand(descriptions[use.name])))
    form = Form(
        opcode=syntax.opcode,
        syntax=row["syntax"],
        manual=row.get("manual") or shared["manual"],
        sem=row.get("sem") or shared["sem"],
        needs=parse_needs(row.get("needs") or shared.get("needs", "")),
        slots=slots,
        operands=tuple(operands),
        rules=_load_rules(table, shared, row, slots) + _together_rules(syntax.together),
        examples=_load_examples(row, syntax.opcode, where),
        where=where,
        head=_head_length(row.get("head") or shared.get("head", ""), row["syntax"], where),
        ordered=tuple((row.get("ordered") or shared.get("ordered", "")).split()),
    )
    _check_form(table, form)
    return form


def _head_length(head: str, syntax: str, where: str) -> int:
    """How many slots the compound opcode `head` spans; it must begin the syntax line."""
    if not head:
        return 0
    if not syntax.startswith(head):
        raise TableError(f"{where}: head '{head}' does not begin the syntax line")
    return len(parse_syntax(head).slots)


def _load_values(table: Table, text: str) -> tuple[Value, ...]:
    values = parse_values(text, table.sets)
    return tuple(
        Value(value.text, table.words.get(value.text, Needs())) if value.needs == Needs() else value
        for value in values
    )


def _load_rules(
    table: Table, shared: dict[str, Any], row: dict[str, Any], slots: tuple[Slot, ...]
) -> tuple[Rule, ...]:
    """Return the row's own rules, and of the shared ones what can apply to this row."""
    known = {slot.name: {value.text for value in slot.values} for slot in slots}
    rules = [narrow_rule(parse_rule(text, table.sets), known) for text in shared.get("rules", [])]
    kept = tuple(rule for rule in rules if rule is not None)
    return kept + tuple(parse_rule(text, table.sets) for text in row.get("rules", []))


def _together_rules(groups: tuple[tuple[str, ...], ...]) -> tuple[Rule, ...]:
    """``{.sem.scope}``: each needs the others."""
    return tuple(
        Rule((Term(one),), (Term(other),), None, f"'.{one}' and '.{other}' go together")
        for group in groups
        for one in group
        for other in group
        if one != other
    )


def narrow_rule(rule: Rule, known: dict[str, set[str]]) -> Rule | None:
    """`rule` with only the slots and values of one row; None where it always holds.

    A slot that the row lacks is never bound, a value that it lacks is never chosen.
    """

    def narrow(term: Term) -> Term | bool:
        values = tuple(v for v in term.values if v in known.get(term.slot, set()))
        if term.slot not in known or (term.values and not values):
            return term.negated
        return Term(term.slot, values, term.negated)

    when = [narrow(term) for term in rule.when]
    then = [narrow(term) for term in rule.then]
    if any(term is False for term in when) or any(term is True for term in then):
        return None
    return Rule(
        tuple(term for term in when if isinstance(term, Term)),
        tuple(term for term in then if isinstance(term, Term)),
        rule.needs,
        rule.message,
    )


def _load_examples(row: dict[str, Any], opcode: str, where: str) -> tuple[Example, ...]:
    examples = [Example(text, "") for text in row["accept"]]
    for text in row["reject"]:
        match = re.fullmatch(r"(PTX\d{4}): (.+)", text)
        if not match:
            raise TableError(f"{where}: rejected example '{text}' does not start with its code")
        examples.append(Example(match[2], match[1]))
    for example in examples:
        head = re.match(r"(?:@!?%\w+ )?([a-z0-9]+)", example.text)
        if not head or head[1] != opcode:
            raise TableError(f"{where}: example '{example.text}' is not an instance of {opcode}")
    return tuple(examples)


def _check_form(table: Table, form: Form) -> None:
    if form.sem not in table.sems:
        raise TableError(f"{form.where}: sem '{form.sem}' is not in common/sems.toml")
    slots = {slot.name: slot for slot in form.slots}
    for rule in form.rules:
        for term in rule.when + rule.then:
            _check_term(term, slots, form.where)
    for name in form.ordered:
        if name not in slots:
            raise TableError(f"{form.where}: 'ordered' names slot '{name}', which the row lacks")
    described = {operand.use.name for operand in form.operands}
    if len(described) != len(form.operands):
        raise TableError(f"{form.where}: an operand name stands twice")
    for operand in form.operands:
        for name in (operand.text.condition, operand.text.coordinates):
            if name and not name.isdigit() and name not in slots:
                raise TableError(f"{form.where}: operand names slot '{name}', which the row lacks")
        if operand.use.bracketed != ("addr" in operand.text.kinds):
            raise TableError(f"{form.where}: operand '{operand.use.name}': [] and addr go together")


def _check_term(term: Term, slots: dict[str, Slot], where: str) -> None:
    if term.slot not in slots:
        raise TableError(f"{where}: a rule names slot '{term.slot}', which the row lacks")
    known = {value.text for value in slots[term.slot].values}
    for value in term.values:
        if value not in known:
            raise TableError(f"{where}: a rule names '{value}', which slot '{term.slot}' lacks")
