# SPDX-License-Identifier: Apache-2.0
"""An instruction in pieces, and every legal spelling of a form with fitted operands."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from isagen.notation import Needs
from isagen.table import Form, Table

from .fit import Fitter
from .legal import Bound, keeps, spellings, words_of


@dataclass(frozen=True)
class Instance:
    """An instruction in pieces."""

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[str, ...]

    @property
    def text(self) -> str:
        """``add.u32 %r1, %r2, %r3``."""
        head = ".".join([self.opcode, *self.modifiers])
        return f"{head} {', '.join(self.operands)}".strip()


def family_of(form: Form) -> str:
    """Return the compound opcode of a form: ``cp.async.bulk``, ``ld``."""
    heads = [slot.values[0].text for slot in form.slots[: form.head] if len(slot.values) == 1]
    return ".".join([form.opcode, *heads])


def is_named(form: Form, names: list[str]) -> bool:
    """Say whether a form is of one of the families, or in one of the files, that `names` lists."""
    family = family_of(form) + "."
    file = form.where.split(":")[0]
    return not names or any(
        family.startswith(n + ".") or file == n or file == f"{n}.toml" for n in names
    )


def modifiers_of(form: Form, bound: Bound) -> tuple[str, ...]:
    """Return the words of a spelling in the order of the syntax line."""
    return tuple(bound[slot.name] for slot in form.slots if slot.name in bound)


def instance(form: Form, bound: Bound, operands: list[str]) -> Instance:
    """Return a spelling with its operands."""
    return Instance(form.opcode, modifiers_of(form, bound), tuple(operands))


def draw(form: Form, has: Callable[[Needs], bool], cap: int, seed: int = 1) -> list[Bound]:
    """All legal spellings of a form, or `cap` random ones where there are more."""
    if not has(form.needs):
        return []
    found = list(itertools.islice(spellings(form, has), cap + 1))
    if len(found) <= cap:
        return found
    source = random.Random(f"{seed} {form.where}")
    options = [(slot.name, words_of(slot, has)) for slot in form.slots]
    drawn: dict[tuple[str, ...], Bound] = {}
    for _ in range(cap * 40):
        words = {name: source.choice(choices) for name, choices in options}
        bound = {name: word for name, word in words.items() if word}
        if all(keeps(rule, bound, has) for rule in form.rules):
            drawn.setdefault(tuple(words.values()), bound)
            if len(drawn) == cap:
                break
    return list(drawn.values()) or found[:cap]


def cover(form: Form, has: Callable[[Needs], bool], extra: int = 0, seed: int = 1) -> list[Bound]:
    """Few legal spellings that use every word of every slot that any legal spelling uses."""
    bounds = draw(form, has, 2000, seed)
    random.Random(f"{seed} cover {form.where}").shuffle(bounds)
    missing = {(name, word) for bound in bounds for name, word in bound.items()}
    missing |= {(slot.name, "") for slot in form.slots if slot.optional}
    chosen: list[Bound] = []
    for bound in sorted(bounds, key=len):
        used = {(slot.name, bound.get(slot.name, "")) for slot in form.slots}
        if used & missing or not chosen:
            chosen.append(bound)
            missing -= used
    rest = [bound for bound in bounds if bound not in chosen]
    return chosen + rest[:extra]


def legal_instances(
    table: Table, forms: list[Form], has: Callable[[Needs], bool], cap: int, texmode: str = ""
) -> Iterator[Instance]:
    """Every legal spelling with plain operands; every variant of the operands on a covering set."""
    for form in forms:
        fitter = Fitter(table, form, texmode)
        for bound in draw(form, has, cap):
            yield instance(form, bound, fitter.plain(bound))
        for bound in cover(form, has):
            for operands in fitter.variants(bound):
                yield instance(form, bound, operands)
