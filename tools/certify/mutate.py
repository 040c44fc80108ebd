# SPDX-License-Identifier: Apache-2.0
"""One step away from a legal instance.

A modifier dropped, doubled, replaced, added or moved; an operand of the wrong kind, width or count,
a sink, an immediate at the edge of its range.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from isagen.notation import Needs
from isagen.table import Form, Table

from .batch import REGISTERS
from .fit import Fitter
from .instance import Instance, cover, instance

_REGISTER = re.compile(r"%(rb|rs|rd|rq|r|hh|h|fd|f|p|ub|us|ud|u|sb|ss|sd|s)(\d+)")
_STRANGERS = (
    "global",
    "f32",
    "b32",
    "sync",
    "relaxed",
    "gpu",
    "v2",
    "rn",
    "x2",
    "sat",
    "shared::cta",
)
_LITERALS = (
    "0",
    "1",
    "-1",
    "7",
    "16",
    "255",
    "65536",
    "4294967296",
    "0f3F800000",
    "0d3FF0000000000000",
)


class Mutator:
    """Makes the mutations of the forms of one table."""

    def __init__(self, table: Table, seed: int = 1) -> None:
        self.table = table
        self.seed = seed
        self.words: dict[str, dict[str, None]] = {}
        for form in table.forms:
            texts = [value.text for slot in form.slots for value in slot.values]
            self.words.setdefault(form.opcode, {}).update(dict.fromkeys(texts))

    def mutations(
        self, form: Form, has: Callable[[Needs], bool], cap: int, texmode: str = ""
    ) -> Iterator[Instance]:
        """At most about `cap` mutations of a form, evenly over kinds of steps."""
        source = random.Random(f"{self.seed} {form.where}")
        fitter = Fitter(self.table, form, texmode)
        modifiers: list[Instance] = []
        operands: list[Instance] = []
        for bound in cover(form, has, extra=3, seed=self.seed):
            plain = instance(form, bound, fitter.plain(bound))
            modifiers += self._modifiers(plain, form, source)
            # What ptxas cannot even parse stops its run: one spelling of a form is enough for that.
            operands += _operands(plain, fitter, is_first=not operands)
            operands += _operands(instance(form, bound, fitter.full(bound)), fitter)
        for made in (modifiers, operands):
            distinct = list(dict.fromkeys(made))
            yield from distinct if len(distinct) <= cap // 2 else source.sample(distinct, cap // 2)

    def _modifiers(self, base: Instance, form: Form, source: random.Random) -> list[Instance]:
        words = base.modifiers
        known = list(self.words[form.opcode])
        found = []
        for i, word in enumerate(words):
            rest = words[:i] + words[i + 1 :]
            found.append(replace(base, modifiers=rest))
            found.append(replace(base, modifiers=(*words, word)))
            found.append(replace(base, modifiers=(*words[: i + 1], *words[i:])))
            others = [other for other in known if other != word]
            same = next(
                (
                    [v.text for v in slot.values if v.text != word]
                    for slot in form.slots
                    if any(v.text == word for v in slot.values)
                ),
                [],
            )
            picks = same if len(same) <= 16 else source.sample(same, 16)
            picks = picks + source.sample(others, min(6, len(others)))
            picks.append(source.choice(_STRANGERS))
            found += [replace(base, modifiers=(*words[:i], p, *words[i + 1 :])) for p in picks]
            if i + 1 < len(words):
                swapped = (*words[:i], words[i + 1], word, *words[i + 2 :])
                found.append(replace(base, modifiers=swapped))
        for word in [*source.sample(known, min(8, len(known))), source.choice(_STRANGERS)]:
            place = source.randrange(len(words) + 1)
            found.append(replace(base, modifiers=(*words[:place], word, *words[place:])))
        return found


def _operands(base: Instance, fitter: Fitter, *, is_first: bool = False) -> list[Instance]:
    """Every operand changed in every way."""
    operands = base.operands
    found = [replace(base, operands=operands[:-1])] if operands else []
    found.append(replace(base, operands=(*operands, "%r9")))
    for i, operand in enumerate(operands):
        rest = (operands[:i], operands[i + 1 :])
        found.append(replace(base, operands=(*rest[0], *rest[1])))
        found.append(replace(base, operands=(*rest[0], operand, operand, *rest[1])))
        found += [replace(base, operands=(*rest[0], t, *rest[1])) for t in _changed(operand)]
        if is_first:
            found += [replace(base, operands=(*rest[0], t, *rest[1])) for t in _odd(operand)]
    literals = {
        edge for leaf in fitter.leaves for edge in _edges(leaf.text.minimum, leaf.text.maximum)
    }
    for i, operand in enumerate(operands):
        if _REGISTER.fullmatch(operand) or operand.lstrip("-").isdigit():
            for edge in literals:
                found.append(replace(base, operands=(*operands[:i], str(edge), *operands[i + 1 :])))
    return found


def _edges(low: int | None, high: int | None) -> list[int]:
    edges = [] if low is None else [low - 1, low, low + 1]
    return edges if high is None else [*edges, high - 1, high, high + 1]


def _changed(operand: str) -> Iterator[str]:
    """One operand in other shapes: width, kind, count, sink, address."""
    registers = list(_REGISTER.finditer(operand))
    for match in {m[1]: m for m in registers}.values():
        for prefix in REGISTERS.values():
            if prefix != match[1]:
                yield re.sub(rf"%{match[1]}(\d+)", rf"%{prefix}\1", operand)
    if registers:
        first = registers[0]
        for text in ("_", "7", "gmem", "%tid.x"):
            yield operand[: first.start()] + text + operand[first.end() :]
    if operand.startswith("{"):
        inner, _, rest = operand[1:].partition("}")
        elements = inner.split(", ")
        yield elements[0] + rest
        if len(elements) > 1:
            yield "{" + ", ".join(elements[:-1]) + "}" + rest
        yield "{" + ", ".join([*elements, elements[-1]]) + "}" + rest
        yield "{" + ", ".join(["_", *elements[1:]]) + "}" + rest
    elif operand.startswith("["):
        yield operand[1:-1]
        yield "[smem]"
        yield "[gmem+4]"
        yield "[cmem]"
        yield "[16]"
        yield f"[{operand[1:-1].split(', ')[0]}+-8]"
    else:
        yield from _LITERALS
        yield f"[{operand}]"
        yield f"{{{operand}, {operand}}}"
        yield "_"
        yield "smem"


def _odd(operand: str) -> Iterator[str]:
    """One operand in shapes of other grammar."""
    if operand.startswith("["):
        yield f"[{operand[1:-1]}, {{%r1, %r2}}]"
    elif not operand.startswith("{"):
        yield f"{{{operand}}}"
        yield f"{operand}|%p9"
        yield f"-{operand}"
        yield f"{operand}.b0"
        yield "L0"
    yield "!%p9"
