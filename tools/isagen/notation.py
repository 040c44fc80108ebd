# SPDX-License-Identifier: Apache-2.0
"""The small languages of table values that speak of modifiers.

* value lists with availability: ``cta gpu cluster@7.8:90 m64n{8..256:8}k16 $scope``
* availability: ``7.8:90``, ``8.6:100a|110f``, ``3.0..6.3:30`` (gone after 6.3), ``:75..89``
* rules: ``ftz -> type=f32 : .ftz goes with .f32 only``

Syntax lines are in syntax_line.py, operand descriptions in operand_text.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


class NotationError(ValueError):
    """A table value that cannot be read; the message names the text at fault."""


NEWEST = (255, 255)  # the `last` version of what is still there


@dataclass(frozen=True)
class TargetRule:
    """``90`` (and later), ``90a``, ``100f``, or ``75..89`` (`last` is 89; 0: no end)."""

    sm: int
    suffix: str = ""
    last: int = 0


@dataclass(frozen=True)
class Needs:
    """PTX ISA versions and target rules, any of which is enough."""

    version: tuple[int, int] = (1, 0)
    targets: tuple[TargetRule, ...] = ()
    last: tuple[int, int] = NEWEST


NOTHING = Needs()


@dataclass(frozen=True)
class Value:
    """One modifier value of a slot."""

    text: str
    needs: Needs = NOTHING
    is_ptxas: bool = False  # ptxas takes it, the manual lacks it


@dataclass(frozen=True)
class Term:
    """A slot is bound (no values), or bound to one of `values`; or the opposite."""

    slot: str
    values: tuple[str, ...] = ()
    negated: bool = False


@dataclass(frozen=True)
class Rule:
    """All of `when` imply one of `then`, or imply `needs`; `lint`: by the manual only."""

    when: tuple[Term, ...]
    then: tuple[Term, ...]
    needs: Needs | None
    message: str
    lint: bool = False


NAME = r"[A-Za-z0-9_]+(?:::?[A-Za-z0-9_]+)*"
_VALUE = re.compile(r"(?P<text>[^@]+)(?:@(?P<needs>.*))?$")
_RUN = re.compile(r"\{(\d+)\.\.(\d+)(?::(\d+))?\}")


def parse_needs(text: str) -> Needs:
    """``7.8:90``, ``8.0``, ``:90a``, ``8.6:100a|110a``, ``3.0..6.3:30``, ``:75..89``."""
    versions, _, targets = text.strip().partition(":")
    match = re.fullmatch(r"(?:(\d+)\.(\d+))?(?:\.\.(\d+)\.(\d+))?", versions)
    if not match:
        raise NotationError(f"'{text}' is not version:target|target")
    version = (int(match[1]), int(match[2])) if match[1] else (1, 0)
    last = (int(match[3]), int(match[4])) if match[3] else NEWEST
    rules = tuple(_parse_target(target, text) for target in targets.split("|") if target)
    return Needs(version, rules, last)


def _parse_target(target: str, text: str) -> TargetRule:
    match = re.fullmatch(r"(\d+)(?:([af])|\.\.(\d+))?", target)
    if not match:
        raise NotationError(f"'{target}' in '{text}' is not a target such as 90 or 100a")
    return TargetRule(int(match[1]), match[2] or "", int(match[3] or 0))


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
            if not re.fullmatch(NAME, name):
                raise NotationError(f"'{name}' is not a modifier")
            values.append(Value(name, available))
    texts = [value.text for value in values]
    doubled = sorted({t for t in texts if texts.count(t) > 1})
    if doubled:
        raise NotationError(f"value '{doubled[0]}' is listed twice")
    return tuple(values)


def parse_term(text: str, sets: dict[str, str] | None = None) -> Term:
    """``ftz``, ``!ftz``, ``type=f16|$set``, ``type!=f32``."""
    match = re.fullmatch(rf"(!?)({NAME})(?:(!?=)([^\s=!]+))?", text.strip())
    if not match:
        raise NotationError(f"'{text}' is not a condition")
    if match[1] and match[3]:
        raise NotationError(f"'{text}' negates twice")
    words = " ".join(match[4].split("|")) if match[4] else ""
    values = tuple(value.text for value in parse_values(words, sets or {}))
    return Term(match[2], values, bool(match[1]) or match[3] == "!=")


def parse_condition(text: str, sets: dict[str, str] | None = None) -> tuple[Term, ...]:
    """Terms joined by ``&``, all of which must hold."""
    return tuple(parse_term(term, sets) for term in text.split("&") if term.strip())


def parse_rule(text: str, sets: dict[str, str] | None = None, is_lint: bool = False) -> Rule:
    """``when & when -> then or then : message``, ``when -> never : message``, ``when -> @8.0:90``.

    A lint is a rule of the manual's that ptxas does not hold to; it needs words.
    """
    condition, arrow, rest = text.partition("->")
    if not arrow:
        raise NotationError(f"rule '{text}' has no '->'")
    when = parse_condition(condition, sets)
    body, _, message = (part.strip() for part in rest.partition(" : "))
    if body.startswith("@") and not is_lint:
        return Rule(when, (), parse_needs(body[1:]), message)
    if not message:
        raise NotationError(f"rule '{text}' has no message (' : why')")
    if body == "never":
        return Rule(when, (), None, message, is_lint)
    then = tuple(parse_term(term, sets) for term in body.split(" or "))
    return Rule(when, then, None, message, is_lint)
