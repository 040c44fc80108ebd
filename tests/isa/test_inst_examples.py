# SPDX-License-Identifier: Apache-2.0
"""`ptx.inst.<anything>`: the accepted examples of the table, written in Python, print as they are.

What Python has no way to write is listed with its reason, so that the list can only shrink.
"""

from __future__ import annotations

import re
import struct
from collections import Counter

import pytest

from isagen.inst_stubs import python_name
from isagen.model import load
from pyptx import _core, ptx
from pyptx._errors import Error
from support.tree import ROOT

TYPES = {
    "r": "b32", "rd": "b64", "rs": "b16", "f": "f32", "fd": "f64", "h": "f16", "hh": "f16x2",
    "p": "pred", "rq": "b128", "u": "u32", "s": "s32", "ud": "u64", "sd": "s64", "us": "u16",
    "ss": "s16", "bh": "bf16", "bhh": "bf16x2", "ff": "f32x2", "rb": "b8",
}  # fmt: skip
# Where an example may be legal: each kind of target, and the version after which some are gone.
PLACES = [
    *((f"sm_{name}", None) for name in ("100a", "90a", "107a", "120a", "110a", "103a", "80", "75")),
    ("sm_75", (6, 3)),
]
UNWRITABLE = {
    ".unified": r"\.unified",
    "a call": r"^call\b",
    "a table of labels": r"\bbrx\b",
    "a variable of an opaque type": r"\b(tex|samp|surf)0\b",
}


def split(text):
    """Split at the commas that stand in no bracket."""
    parts, depth = [""], 0
    for character in text:
        depth += character in "[{("
        depth -= character in "]})"
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def operand(text):
    """The Python value of an operand."""
    pair = re.fullmatch(r"(\{.*\}|[^|{]+)\|([^|]+)", text)
    if pair:
        return ptx.pipe(operand(pair[1]), operand(pair[2]))
    if text.startswith("["):
        base, *parts = split(text[1:-1])
        where, _, offset = base.partition("+")
        if parts:
            return ptx.addr(operand(base), parts=[operand(part) for part in parts])
        return ptx.addr(operand(where), int(offset, 0) if offset else None)
    if text.startswith("{"):
        return [operand(part) for part in split(text[1:-1])]
    if text.startswith("("):
        return tuple(operand(part) for part in split(text[1:-1]))
    if text.startswith("!"):
        return ~operand(text[1:])
    if text.startswith("0f"):
        return struct.unpack(">f", bytes.fromhex(text[2:]))[0]
    if text.startswith("0d"):
        return struct.unpack(">d", bytes.fromhex(text[2:]))[0]
    if re.fullmatch(r"-?\d+\.\d+", text):
        return float(text)
    if re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)U?", text):
        return int(text.rstrip("U"), 0)
    if selected := re.fullmatch(r"(-?)(%[a-z]+\d+)((?:\.[bh]\d+)?)", text):
        operand_of = operand(selected[2]) if selected[1] or selected[3] else None
        if operand_of is not None:
            return f"{selected[1]}{operand_of.name}{selected[3]}"
    name = re.fullmatch(r"%([a-z]+)\d+", text)
    return _core.Reg(own(text), TYPES[name[1]]) if name and name[1] in TYPES else text


def own(text):
    """The names of registers as ours: those of the examples are the pools'."""
    return re.sub(r"%(?=(?:" + "|".join(TYPES) + r")\d+\b)", "%x_", text)


def printed(example):
    """The example as the printer writes it: integers in decimal, floats by their bits."""
    text = re.sub(r"\b0x[0-9a-fA-F]+", lambda found: str(int(found[0], 16)), own(example))
    bits = lambda found: "0f" + struct.pack(">f", float(found[0])).hex().upper()  # noqa: E731
    return re.sub(r"(?<= )\d+\.\d+", bits, text)


def write(example):
    """Trace one example; the guard first."""
    guard, _, rest = example.partition(" ") if example.startswith("@") else ("", "", example)
    spelling, _, operands = rest.partition(" ")
    node = ptx.inst
    for word in spelling.split("."):
        node = getattr(node, python_name(word))
    given = [operand(text) for text in split(operands)]
    node(*given, **({"pred": operand(guard[1:])} if guard else {}))


def traced(example, target, version):
    trace = _core.Trace("k", target, version)
    trace.add_param("b64", "param0")
    trace.enter()
    try:
        for space, name in (("shared", "smem"), ("global", "gmem"), ("const", "cmem")):
            ptx.var(space, "b64", name, size=64, align=16)
        ptx.var("local", "b64", "lmem", size=64, align=16)
        write(example)
        for label in set(re.findall(r"\bL\d+\b", example)):
            ptx.label(label)
    finally:
        trace.leave()
    return trace.finish().text


def outcome(example):
    for reason, pattern in UNWRITABLE.items():
        if re.search(pattern, example):
            return reason
    first = ""
    for target, version in PLACES:
        try:
            text = traced(example, target, version)
        except Error as error:
            first = first or str(error).splitlines()[0]
            continue
        return "" if f"\t{printed(example)};\n" in text else f"printed otherwise: {text[-300:]}"
    return f"refused: {first}"


def test_every_example_of_the_table_can_be_written():
    examples = [e.text for form in load(ROOT / "isa").forms for e in form.examples if not e.code]
    outcomes = {example: outcome(example) for example in examples}
    wrong = {e: o for e, o in outcomes.items() if o and o not in UNWRITABLE}
    counts = Counter(o for o in outcomes.values() if o in UNWRITABLE)
    print(len(examples) - sum(counts.values()), "examples written,", dict(counts))
    assert wrong == {}


def test_a_wrong_one_is_refused():
    assert outcome("add.u32 %r1, %r2, %f3").startswith("refused")
    assert outcome("add.u32 %r1, %r2").startswith("refused")


def test_an_address_has_parts_or_an_offset():
    with pytest.raises(Error, match="no byte offset"):
        traced_call(lambda r: ptx.addr(r, 4, parts=[[r]]))
    with pytest.raises(Error, match="no byte offset"):
        traced_call(lambda r: ptx.addr(ptx.addr(r, 4), [r]))


def traced_call(call):
    trace = _core.Trace("k", "sm_90a")
    trace.enter()
    try:
        return call(_core.Reg("%place", "b64"))
    finally:
        trace.leave()
