# SPDX-License-Identifier: Apache-2.0
"""The golden: ptxas's verdicts in a compact form, so that tests can re-judge without ptxas.

What is stored stands on its own: words and operands are written out, nothing is taken from the
table when the golden is read, so an error in the table shows as a difference. A product is its word
lists, the operands for the words that decide about them, and one bit per spelling. Mutations, and
what is swept over versions and targets, are lists of lines with a bit per line and machine.
"""

from __future__ import annotations

import base64
import json
import lzma
import math
import random
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isagen.table import Form, Table

from .batch import INDEPENDENT, Machine
from .compare import Comparison
from .fit import names_sampler
from .legal import Availability
from .mutate import Mutator
from .product import Product, families
from .sweep import machines as sweep_machines
from .sweep import representatives

MACHINES = (Machine("sm_90a"), Machine("sm_100a"))
SPELLINGS = 400  # of one form's product
MUTATED = ("sm_80", "sm_90a", "sm_100a", "sm_107a", "sm_120a")
MUTATIONS = 16  # of one form, on one of those


@dataclass(frozen=True)
class Judged:
    """Lines for one machine, with what ptxas said: accepted or not."""

    machine: Machine
    lines: list[str]
    accepted: list[bool]


def pack(bits: Sequence[bool]) -> str:
    """One bit per verdict, compressed."""
    number = sum(1 << i for i, bit in enumerate(bits) if bit)
    raw = number.to_bytes(len(bits) // 8 + 1, "little")
    return base64.b85encode(zlib.compress(raw, 9)).decode()


def unpack(text: str, count: int) -> list[bool]:
    """Undo `pack`."""
    raw = zlib.decompress(base64.b85decode(text))
    return [bool(raw[i // 8] >> i % 8 & 1) for i in range(count)]


def walk(size: int, count: int) -> Iterator[int]:
    """`count` different numbers below `size`, spread over it; all of them when there are fewer."""
    if size <= count:
        yield from range(size)
        return
    step = int(size * 0.6180339887) | 1
    while math.gcd(step, size) != 1:
        step += 2
    for i in range(count):
        yield i * step % size


def spelling(row: dict[str, Any], index: int) -> str:
    """Return the instruction with number `index` of a stored product."""
    words = []
    for options in reversed(row["options"]):
        index, digit = divmod(index, len(options))
        words.append(options[digit])
    words.reverse()
    key = " ".join(words[i] for i in row["deciding"])
    head = ".".join([row["opcode"], *filter(None, words)])
    return f"{head} {row['operands'][key]}".strip()


def product_row(made: Product) -> dict[str, Any]:
    """Return a product without verdicts."""
    names = [slot.name for slot in made.form.slots]
    deciding = [i for i, name in enumerate(names) if name in made.deciding]
    row: dict[str, Any] = {
        "opcode": made.form.opcode,
        "options": made.options,
        "deciding": deciding,
        "operands": {},
        "size": made.size,
    }
    for index in walk(made.size, SPELLINGS):
        rest, words = index, []
        for options in reversed(made.options):
            rest, digit = divmod(rest, len(options))
            words.append(options[digit])
        words.reverse()
        key = " ".join(words[i] for i in deciding)
        if key not in row["operands"]:
            row["operands"][key] = ", ".join(made.fitted(tuple(words)).operands)
    return row


def row_lines(row: dict[str, Any]) -> list[str]:
    """Return the instructions of a stored product, as far as they are judged."""
    return [spelling(row, index) for index in walk(row["size"], SPELLINGS)]


def make_products(table: Table, forms: list[Form], comparison: Comparison) -> dict[str, Any]:
    """Return the products of all families with ptxas's verdicts."""
    rows = [
        product_row(Product(table, form, members))
        for members in families(forms).values()
        for form in members
    ]
    lines = [row_lines(row) for row in rows]
    for row in rows:
        row["accepted"] = {}
    for machine in MACHINES:
        bits = iter(comparison.accepted([line for part in lines for line in part], machine))
        for row, part in zip(rows, lines, strict=True):
            row["accepted"][machine.target] = pack([next(bits) for _ in part])
    return {"rows": rows}


def make_mutations(table: Table, forms: list[Form], comparison: Comparison) -> dict[str, Any]:
    """Mutations of every form on the usual machines, those with samplers in both texture modes."""
    mutator = Mutator(table)
    sampled = [form for form in forms if names_sampler(form)]
    rows = []
    for machine, members in [
        *((Machine(target), forms) for target in MUTATED),
        *((Machine(target, texmode=INDEPENDENT), sampled) for target in MUTATED),
    ]:
        has = Availability(table, machine).has
        made = (
            one.text
            for form in members
            for one in mutator.mutations(form, has, MUTATIONS, machine.texmode)
        )
        lines = list(dict.fromkeys(made))
        if lines:
            accepted = {_name(machine): pack(comparison.accepted(lines, machine))}
            rows.append({"lines": lines, "accepted": accepted})
    return {"rows": rows}


def make_sweep(table: Table, forms: list[Form], comparison: Comparison) -> dict[str, Any]:
    """One plain spelling of each form over all versions and targets."""
    plain = [next(representatives(table, [form]), "") for form in forms]
    lines = list(dict.fromkeys(filter(None, plain)))
    comparison.ptxas.sample = 1
    accepted = {
        _name(machine): pack(comparison.accepted(lines, machine))
        for machine in sweep_machines(table)
    }
    return {"rows": [{"lines": lines, "accepted": accepted}]}


def _name(machine: Machine) -> str:
    return " ".join(filter(None, (machine.target, machine.version, machine.texmode)))


def save(path: Path, data: dict[str, Any]) -> None:
    """Write a golden file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(data, separators=(",", ":"), sort_keys=True).encode()
    path.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))


def load(path: Path) -> dict[str, Any]:
    """Read a golden file."""
    found: dict[str, Any] = json.loads(lzma.decompress(path.read_bytes()))
    return found


def update(folder: Path, table: Table, forms: list[Form], comparison: Comparison) -> None:
    """Write the golden anew."""
    save(folder / "products.json.xz", make_products(table, forms, comparison))
    save(folder / "mutations.json.xz", make_mutations(table, forms, comparison))
    save(folder / "sweep.json.xz", make_sweep(table, forms, comparison))


def products(path: Path, share: float = 1.0) -> Iterator[Judged]:
    """Return the stored products by machine; a `share` of their lines, the same ones every time."""
    rows = load(path)["rows"]
    for machine in MACHINES:
        lines: list[str] = []
        accepted: list[bool] = []
        for row in rows:
            own = row_lines(row)
            bits = unpack(row["accepted"][machine.target], len(own))
            kept = _kept(len(own), share, row["opcode"])
            lines += [own[i] for i in kept]
            accepted += [bits[i] for i in kept]
        yield Judged(machine, lines, accepted)


def line_lists(path: Path, share: float = 1.0, machines: float = 1.0) -> Iterator[Judged]:
    """Return the stored lines by machine: a share of the lines on a share of the machines."""
    for row in load(path)["rows"]:
        names = sorted(row["accepted"])
        for name in [names[i] for i in _kept(len(names), machines, "machines")]:
            kept = _kept(len(row["lines"]), share, name)
            bits = unpack(row["accepted"][name], len(row["lines"]))
            yield Judged(
                Machine(*name.split(" ")), [row["lines"][i] for i in kept], [bits[i] for i in kept]
            )


def _kept(count: int, share: float, seed: str) -> list[int]:
    if share >= 1.0:
        return list(range(count))
    return sorted(random.Random(f"{seed} {count}").sample(range(count), int(count * share)))
