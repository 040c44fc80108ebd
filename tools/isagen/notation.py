# SPDX-License-Identifier: Apache-2.0
"""The small languages inside table values.

* syntax lines, as the manual prints them: ``ld{.weak}{.ss}.type d, [a]{, cache-policy}``
* value lists with availability: ``cta gpu cluster@7.8:90 m64n{8..256:8}k16 $scope``
* operand descriptions: ``out reg|vec type n=vec wider``
* rules: ``ftz -> type=f32 : .ftz goes with .f32 only``
"""

from __future__ import annotations

import re
from dataclasses import dataclass


class NotationError(ValueError):
    """A table value that cannot be read; the message names the text at fault."""


@dataclass(frozen=True)
class Needs:
    """A PTX ISA version and target rules such as ("90", "100a"), any of which is enough."""

    version: tuple[int, int] = (1, 0)
    targets: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Value:
    """One modifier value of a slot."""

    text: str
    needs: Needs = Needs()


@dataclass(frozen=True)
class SlotUse:
    """A place for a modifier in a syntax line."""

    name: str
    optional: bool
    default: str = ""  # the values it takes when the row lists none


@dataclass(frozen=True)
class OperandUse:
    """An operand of a syntax line; `bracketed` for ``[a]``."""

    name: str
    optional: bool
    bracketed: bool = False


@dataclass(frozen=True)
class Syntax:
    """A syntax line taken apart."""

    opcode: str
    slots: tuple[SlotUse, ...]
    operands: tuple[OperandUse, ...]
    together: tuple[tuple[str, ...], ...] = ()  # slots of one {.a.b}: all or none


@dataclass(frozen=True)
class Term:
    """A slot is bound (no values), or bound to one of `values`; or the opposite."""

    slot: str
    values: tuple[str, ...] = ()
    negated: bool = False


@dataclass(frozen=True)
class Rule:
    """All of `when` imply one of `then`, or imply `needs`."""

    when: tuple[Term, ...]
    then: tuple[Term, ...]
    needs: Needs | None
    message: str


@dataclass
class OperandText:
    """An operand description taken apart; names are not resolved yet."""

    role: str = "in"
    kinds: tuple[str, ...] = ()
    type: str = ""
    wider: bool = False
    count: str = ""
    coordinates: str = ""
    space: str = ""
    condition: str = ""
    minimum: int | None = None
    maximum: int | None = None
    literals: tuple[int, ...] = ()
    multiple: int = 1


KINDS = (
    "reg", "imm", "fimm", "pred", "notpred", "addr", "vec", "sym", "label", "special", "sink",
    "paren", "pipe",
)  # fmt: skip
_NAME = r"[A-Za-z0-9_]+(?:::[A-Za-z0-9_]+)*"
_VALUE = re.compile(r"(?P<text>[^@]+)(?:@(?P<needs>.*))?$")
_RUN = re.compile(r"\{(\d+)\.\.(\d+)(?::(\d+))?\}")


def parse_needs(text: str) -> Needs:
    """``7.8:90``, ``8.0``, ``:90a``, ``8.6:100a|110a``."""
    version_text, _, targets_text = text.strip().partition(":")
    version = (1, 0)
    if version_text:
        match = re.fullmatch(r"(\d+)\.(\d+)", version_text)
        if not match:
            raise NotationError(f"'{text}' is not version:target|target")
        version = (int(match[1]), int(match[2]))
    targets: list[tuple[int, str]] = []
    for target in filter(None, targets_text.split("|")):
        match = re.fullmatch(r"(\d+)([af]?)", target)
        if not match:
            raise NotationError(f"'{target}' in '{text}' is not a target such as 90 or 100a")
        targets.append((int(match[1]), match[2]))
    return Needs(version, tuple(targets))


def expand_run(text: str) -> list[str]:
    """``m64n{8..24:8}k16`` -> m64n8k16, m64n16k16, m64n24k16."""
    match = _RUN.search(text)
    if not match:
        if "{" in text or "}" in text:
            raise NotationError(f"'{text}' has a brace that is not a run such as {{8..256:8}}")
        return [text]
    first, last, step = int(match[1]), int(match[2]), int(match[3] or 1)
    if step == 0 or last < first:
        raise NotationError(f"'{text}' is an empty run")
    return [
        f"{text[: match.start()]}{number}{tail}"
        for number in range(first, last + 1, step)
        for tail in expand_run(text[match.end() :])
    ]


def parse_values(text: str, sets: dict[str, str]) -> tuple[Value, ...]:
    """Read a value list; ``$name`` includes a shared set."""
    values: list[Value] = []
    for word in text.split():
        if word.startswith("$"):
            name, _, needs = word[1:].partition("@")
            if name not in sets:
                raise NotationError(f"unknown set '${name}'")
            members = parse_values(sets[name], sets)
            values += [Value(m.text, parse_needs(needs)) for m in members] if needs else members
            continue
        match = _VALUE.match(word)
        if not match:
            raise NotationError(f"'{word}' is not a value")
        available = parse_needs(match["needs"]) if match["needs"] else Needs()
        for name in expand_run(match["text"]):
            if not re.fullmatch(_NAME, name):
                raise NotationError(f"'{name}' is not a modifier")
            values.append(Value(name, available))
    texts = [value.text for value in values]
    doubled = sorted({t for t in texts if texts.count(t) > 1})
    if doubled:
        raise NotationError(f"value '{doubled[0]}' is listed twice")
    return tuple(values)


def parse_syntax(line: str) -> Syntax:
    """Read a syntax line of the manual."""
    line = line.strip().rstrip(";").strip()
    match = re.match(r"[a-z][a-z0-9]*", line)
    if not match:
        raise NotationError(f"'{line}' does not start with an opcode")
    slots: list[SlotUse] = []
    together: list[tuple[str, ...]] = []
    position = match.end()
    while position < len(line) and not line[position].isspace():
        is_optional = line[position] == "{"
        group, position = _parse_group(line, position)
        slots += [SlotUse(name, is_optional, values) for name, values in group]
        if is_optional and len(group) > 1:
            together.append(tuple(name for name, _ in group))
    names = [slot.name for slot in slots]
    for name in names:
        if names.count(name) > 1:
            raise NotationError(f"'.{name}' stands twice in '{line}'")
    operands = _parse_operand_uses(line[position:].strip(), line)
    return Syntax(match[0], tuple(slots), operands, tuple(together))


def _parse_group(line: str, position: int) -> tuple[list[tuple[str, str]], int]:
    """``.name``, ``.name{::a, ::b}``, or ``{`` several of them ``}``: names with default values."""
    piece = re.compile(rf"\.({_NAME})(?:\{{\s*(::\w+(?:\s*,\s*::\w+)*)\s*\}})?")
    is_group = line[position] == "{"
    end = position + 1 if is_group else position
    group: list[tuple[str, str]] = []
    while not group or (is_group and line[end : end + 1] == "."):
        found = piece.match(line, end)
        if not found:
            raise NotationError(f"cannot read '{line[position:]}' in '{line}'")
        endings = [e.strip() for e in (found[2] or "").split(",") if e.strip()]
        group.append((found[1], " ".join([found[1], *(found[1] + e for e in endings)])))
        end = found.end()
    if is_group:
        if line[end : end + 1] != "}":
            raise NotationError(f"'{line[position:]}' in '{line}' lacks a closing brace")
        end += 1
    return group, end


def _parse_operand_uses(text: str, line: str) -> tuple[OperandUse, ...]:
    operands: list[OperandUse] = []
    name = r"[A-Za-z][A-Za-z0-9_-]*"
    one = rf"\[(?P<b>{name})(?:\s*,\s*{name})*\]|(?P<n>{name}(?:\|{name})?)"
    mandatory = re.compile(rf"\s*,?\s*(?:{one})")
    optional = re.compile(rf"\s*\{{\s*,?\s*(?:{one})\s*\}}")
    position = 0
    while position < len(text):
        found = optional.match(text, position)
        is_optional = found is not None
        found = found or mandatory.match(text, position)
        if not found:
            raise NotationError(f"cannot read operands '{text[position:]}' in '{line}'")
        operands.append(OperandUse(found["b"] or found["n"], is_optional, found["b"] is not None))
        position = found.end()
    return tuple(operands)


def parse_term(text: str, sets: dict[str, str] | None = None) -> Term:
    """``ftz``, ``!ftz``, ``type=f16|$set``, ``type!=f32``."""
    match = re.fullmatch(rf"(!?)({_NAME})(?:(!?=)([^\s=!]+))?", text.strip())
    if not match:
        raise NotationError(f"'{text}' is not a condition")
    if match[1] and match[3]:
        raise NotationError(f"'{text}' negates twice")
    words = " ".join(match[4].split("|")) if match[4] else ""
    values = tuple(value.text for value in parse_values(words, sets or {}))
    return Term(match[2], values, bool(match[1]) or match[3] == "!=")


def parse_rule(text: str, sets: dict[str, str] | None = None) -> Rule:
    """``when & when -> then or then : message`` or ``when -> @version:target``."""
    head, arrow, rest = text.partition("->")
    if not arrow:
        raise NotationError(f"rule '{text}' has no '->'")
    body, _, message = rest.partition(" : ")
    when = tuple(parse_term(t, sets) for t in head.split("&") if t.strip())
    body = body.strip()
    if body.startswith("@"):
        return Rule(when, (), parse_needs(body[1:]), message.strip())
    if not message.strip():
        raise NotationError(f"rule '{text}' has no message (' : why')")
    if body == "never":
        return Rule(when, (), None, message.strip())
    then = tuple(parse_term(t, sets) for t in body.split(" or "))
    return Rule(when, then, None, message.strip())


def parse_operand(text: str) -> OperandText:
    """Read an operand description: role, kinds, type, then ``key=value`` and words."""
    operand = OperandText()
    words = text.split()
    if words and words[0] in ("in", "out", "inout"):
        operand.role = words.pop(0)
    if not words:
        raise NotationError(f"operand '{text}' has no kind")
    operand.kinds = tuple(words.pop(0).split("|"))
    for kind in operand.kinds:
        if kind not in KINDS:
            raise NotationError(f"'{kind}' in operand '{text}' is not one of {', '.join(KINDS)}")
    for word in words:
        _read_attribute(operand, word, text)
    return operand


def _read_attribute(operand: OperandText, word: str, text: str) -> None:
    key, equals, value = word.partition("=")
    if word == "wider":
        operand.wider = True
    elif not equals:
        if operand.type:
            raise NotationError(f"operand '{text}' has two types, '{operand.type}' and '{word}'")
        operand.type = word
    elif key == "n":
        operand.count = value
    elif key == "coords":
        operand.coordinates = value
    elif key == "space":
        operand.space = value
    elif key == "if":
        operand.condition = value
    elif key == "range":
        match = re.fullmatch(r"(-?\d+)\.\.(-?\d+)", value)
        if not match:
            raise NotationError(f"'{word}' in operand '{text}' is not range=low..high")
        operand.minimum, operand.maximum = int(match[1]), int(match[2])
    elif key == "multiple":
        operand.multiple = int(value)
    elif key == "oneof":
        operand.literals = tuple(int(number) for number in value.split("|"))
        operand.minimum, operand.maximum = min(operand.literals), max(operand.literals)
    else:
        raise NotationError(f"unknown attribute '{word}' in operand '{text}'")
