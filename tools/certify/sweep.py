# SPDX-License-Identifier: Apache-2.0
"""Representatives of each form and each gated value, over every version and target of ptxas."""

from __future__ import annotations

from collections.abc import Iterator

from isagen.notation import NOTHING
from isagen.resolve import holds
from isagen.table import Form, Table

from .batch import Machine
from .fit import Fitter
from .instance import cover, draw, instance
from .legal import always


def machines(table: Table) -> list[Machine]:
    """Every target at every version since its first."""
    return [
        Machine(f"sm_{entry.sm}{entry.suffix}", f"{version[0]}.{version[1]}")
        for entry in table.targets
        for version in table.versions
        if version >= entry.version
    ]


def early_machines(table: Table) -> list[Machine]:
    """Every target at the versions before its first: nobody takes these modules."""
    return [
        Machine(f"sm_{entry.sm}{entry.suffix}", f"{version[0]}.{version[1]}")
        for entry in table.targets
        for version in table.versions
        if version < entry.version
    ]


def representatives(table: Table, forms: list[Form], texmode: str = "") -> Iterator[str]:
    """Return a covering set of every form's spellings, and one for every gated rule and operand."""
    for form in forms:
        fitter = Fitter(table, form, texmode)
        bounds = cover(form, always)
        gated = [rule for rule in form.rules if rule.needs is not None and not rule.lint]
        if gated:
            pool = draw(form, always, 2000)
            for rule in gated:
                bounds += [b for b in pool if all(holds(t, b) for t in rule.when)][:2]
        for bound in bounds:
            yield instance(form, bound, fitter.plain(bound)).text
            if any(leaf.text.needs != NOTHING for leaf in fitter.leaves):
                for operands in fitter.variants(bound):
                    yield instance(form, bound, operands).text
