# SPDX-License-Identifier: Apache-2.0
"""Writes a random program from a seed: well defined, and the same text on every machine.

A CTA of one to four warps reads numbers from a table, works on registers of every kind, in branches
and loops that lanes take differently, in local, shared and global memory, across its warp, and
stores all registers. Every register has a value from the start; shared memory is written and read
in turns with barriers between; what needs a whole warp stands outside branches.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from record.inputs import FORMATS, float_edges, integer_edges
from record.launch import Bytes
from record.stream import Stream

from .instructions import NAN_MAKERS, PLAIN, UNGUARDED, WARP

TARGET = "sm_90a"
HEAD = f".version 8.6\n.target {TARGET}\n.address_size 64\n"
TABLE_WORDS = 4096  # of 64 bits, per kind
KINDS = ("i32", "i64", "f32", "f64", "f16")
POOLS = {"r": 8, "d": 4, "f": 6, "g": 4, "h": 6, "p": 4}
_STORAGE = {"r": "b32", "d": "b64", "f": "b32", "g": "b64", "h": "b16", "p": "pred"}
_BYTES = {"r": 4, "d": 8, "f": 4, "g": 8, "h": 2}
SCRATCH = 32  # bytes of a thread's own global memory
LOCAL_WORDS = 16
SLOT = 192  # bytes of results of a thread
_CANONICAL = {
    "g": ("f64", "0x7FF8000000000000"), "f": ("f32", "0x7FFFFFFF"), "h": ("f16", "0x7FFF"),
}  # fmt: skip
_POOL = {"f64": "g", "f32": "f", "f16": "h"}
_HOLE = re.compile(r"\b([rdfghpijcnmbRDFGHP])\b")
_CHOICE = re.compile(r"\[([^\]]*)\]")
_MASK = (1 << 64) - 1
_FAMILIES = [family for family, weight in PLAIN for _ in range(weight)]


class Dice:
    """Random numbers that depend on the seed alone."""

    def __init__(self, seed: int) -> None:
        self._state = (seed * 0xD1342543DE82EF95 + 0x2545F4914F6CDD1D) & _MASK

    def below(self, bound: int) -> int:
        """Return a number from 0 to bound - 1."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return (z ^ (z >> 31)) % bound

    def one_in(self, count: int) -> bool:
        """Say yes once in so many times."""
        return self.below(count) == 0

    def of(self, items: list[str]) -> str:
        """Return one of the items."""
        return items[self.below(len(items))]


@dataclass(frozen=True)
class Program:
    """The text of an entry and how it is launched; buffers are the table and the results."""

    name: str
    text: str
    threads: int
    blocks: int

    @property
    def result_bytes(self) -> int:
        """The size of the results."""
        return self.threads * self.blocks * SLOT


def table() -> Bytes:
    """Return the numbers that programs start from: by kind, edges among random ones."""
    pieces = []
    for kind in KINDS:
        stream = Stream(f"programs {kind}")
        bits = int(kind[1:])
        edges = integer_edges(bits) if kind[0] == "i" else float_edges(FORMATS[kind])
        words = stream.bits(bits, TABLE_WORDS).astype(np.uint64)
        if kind[0] == "f":  # three of four within a few octaves of one
            form = FORMATS[kind]
            near = stream.below(12, TABLE_WORDS) - 6 + (1 << (form.exponent - 1)) - 1
            fraction = np.uint64((1 << form.fraction) - 1)
            sign = np.uint64(1 << (bits - 1))
            tame = (words & (fraction | sign)) | (
                near.astype(np.uint64) << np.uint64(form.fraction)
            )
            words = np.where(stream.below(4, TABLE_WORDS) > 0, tame, words)
        else:
            small = stream.below(100, TABLE_WORDS).astype(np.uint64)
            words = np.where(stream.below(4, TABLE_WORDS) > 0, words, small)
        chosen = stream.below(5 * len(edges), TABLE_WORDS)
        listed = np.array(edges, np.uint64)[chosen % len(edges)]
        words = np.where(chosen < len(edges), listed, words)
        kinds = {16: np.uint16, 32: np.uint32, 64: np.uint64}
        numbers = words.astype(kinds[bits])
        if kind[0] == "f":
            canonical = np.array(int(_CANONICAL[_POOL[kind]][1], 16), numbers.dtype)
            values = numbers.view({16: np.float16, 32: np.float32, 64: np.float64}[bits])
            numbers = np.where(np.isnan(values), canonical, numbers)
        pieces.append(numbers.tobytes())
    return np.frombuffer(b"".join(pieces), np.uint8)


def _table_places() -> dict[str, int]:
    places, at = {}, 0
    for kind in KINDS:
        places[kind] = at
        at += TABLE_WORDS * int(kind[1:]) // 8
    return places


class _Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.dice = Dice(seed)
        self.name = f"p{seed}"
        self.lines: list[str] = []
        self.labels = 0
        self.loops = 0
        self.threads = 32 << self.dice.below(3)
        self.blocks = 1 + self.dice.below(2)

    # --- pieces -------------------------------------------------------------------------------

    def register(self, pool: str) -> str:
        return f"{pool}{self.dice.below(POOLS[pool])}"

    def literal(self, bits: int) -> str:
        edges = integer_edges(bits)
        if self.dice.one_in(2):
            return str(edges[self.dice.below(len(edges))])
        return str(self.dice.below(1 << bits) >> self.dice.below(bits))

    def float_literal(self) -> str:
        edges = float_edges(FORMATS["f32"])
        if self.dice.one_in(3):
            return f"0f{edges[self.dice.below(len(edges))]:08X}"
        exponent = 127 - 8 + self.dice.below(16)
        bits = self.dice.below(2) << 31 | exponent << 23 | self.dice.below(1 << 23)
        return f"0f{bits:08X}"

    def fresh(self, pool: str, used: list[str]) -> str:
        """Return a register that is not among those used, and put it there."""
        while True:
            name = self.register(pool)
            if name not in used:
                used.append(name)
                return name

    def hole(self, letter: str, written: list[str], read: list[str] | None) -> str:
        if letter.isupper():
            return self.fresh(letter.lower(), written)
        if letter in POOLS:
            return self.register(letter) if read is None else self.fresh(letter, read)
        if letter == "c":
            return self.float_literal()
        if letter in "ij":
            return self.literal(32 if letter == "i" else 64)
        return str(self.dice.below({"n": 41, "m": 32, "b": 256}[letter]))

    def filled(self, opcode: str, operands: str) -> str:
        """Fill the holes of an instruction's operands."""
        written: list[str] = []
        # The smaller of a number and itself is that number, payload and all, to ptxas.
        read: list[str] | None = [] if opcode.startswith(("min", "max")) else None
        return _HOLE.sub(lambda match: self.hole(match[1], written, read), operands)

    def spelled(self, template: str) -> str:
        """Fill the choices and the holes of a template."""
        statements = []
        for statement in template.split(";"):
            opcode, _, operands = statement.strip().partition(" ")
            opcode = _CHOICE.sub(lambda match: self.dice.of(match[1].split("~")), opcode)
            statements.append(f"{opcode} {self.filled(opcode, operands)}".strip())
        return "; ".join(statements) + ("" if template.startswith("{ .reg") else ";")

    def emit(self, *lines: str) -> None:
        self.lines.extend(lines)

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    # --- statements ---------------------------------------------------------------------------

    def plain(self) -> None:
        text = self.spelled(self.dice.of(_FAMILIES[self.dice.below(len(_FAMILIES))]))
        is_single = text.count(";") == 1 and not text.startswith(UNGUARDED)
        guard = f"@{self.dice.of(['', '!'])}{self.register('p')} " if self.dice.one_in(6) else ""
        self.emit(f"{guard if is_single else ''}{text}")
        self.settle(text)

    def settle(self, text: str) -> None:
        """Make a NaN canonical that an instruction may have left behind."""
        opcode, _, operands = text.partition(" ")
        written = re.match(r"[gfh]\d", operands)
        if written is None or (written[0][0] != "g" and not opcode.startswith(NAN_MAKERS)):
            return
        kind, canonical = _CANONICAL[written[0][0]]
        if written[0][0] == "h":
            kind = "bf16" if ".bf16" in opcode else "f16"
        self.emit(f"setp.nan.{kind} loops, {written[0]}, {written[0]};")
        self.emit(f"@loops mov.{_STORAGE[written[0][0]]} {written[0]}, {canonical};")

    def branch(self, depth: int) -> None:
        other, end = self.label(), self.label()
        self.emit(f"@{self.register('p')} bra {other};")
        self.body(depth + 1, 1 + self.dice.below(4))
        self.emit(f"bra {end};", f"{other}:")
        if not self.dice.one_in(3):
            self.body(depth + 1, 1 + self.dice.below(4))
        self.emit(f"{end}:")

    def loop(self, depth: int) -> None:
        again, end = self.label(), self.label()
        self.loops += 1
        count = f"loop{self.loops}"
        self.emit(f"and.b32 {count}, {self.register('r')}, 3;", f"{again}:")
        self.body(depth + 1, 1 + self.dice.below(4))
        if self.dice.one_in(3):
            self.emit(f"@{self.register('p')} bra {end};")
        self.emit(f"sub.s32 {count}, {count}, 1;", f"setp.ge.s32 loops, {count}, 0;")
        self.emit(f"@loops bra {again};", f"{end}:")

    def switch(self, depth: int) -> None:
        cases = [self.label() for _ in range(4)]
        end, table_name = self.label(), self.label()
        self.emit(f"and.b32 t0, {self.register('r')}, 3;")
        self.emit(f"{table_name}: .branchtargets {', '.join(cases)};")
        self.emit(f"brx.idx t0, {table_name};")
        for case in cases:
            self.emit(f"{case}:")
            self.body(depth + 1, 1 + self.dice.below(2))
            self.emit(f"bra {end};")
        self.emit(f"{end}:")

    def local(self) -> None:
        self.emit(f"and.b32 t0, {self.register('r')}, {LOCAL_WORDS - 1};")
        self.emit("mad.lo.u32 t0, t0, 4, local;")
        width = self.dice.of(["u8", "s8", "u16", "s16", "b32"])
        self.emit(f"st.local.b32 [t0], {self.register('r')};")
        self.emit(f"ld.local.{width} {self.register('r')}, [t0];")

    def table_read(self) -> None:
        index = f"and.b32 t0, {self.register('r')}, {TABLE_WORDS // 8 - 1};"
        kind, pool = self.dice.of(["i32 r", "i64 d", "f32 f", "f64 g"]).split()
        size = _BYTES[pool]
        place = _table_places()[kind]
        self.emit(index, f"mad.wide.u32 w0, t0, {4 * size}, table;")
        offset = place + size * self.dice.below(2)
        if self.dice.one_in(3):
            first = self.register(pool)
            second = next(f"{pool}{i}" for i in range(POOLS[pool]) if f"{pool}{i}" != first)
            self.emit(f"ld.global.v2.b{8 * size} {{{first}, {second}}}, [w0+{place}];")
        elif pool == "r":
            width = self.dice.of(["u8", "s8", "u16", "s16", "b32"])
            self.emit(f"ld.global.{width} {self.register('r')}, [w0+{offset}];")
        else:
            self.emit(f"ld.global.b{8 * size} {self.register(pool)}, [w0+{offset}];")

    def scratch(self) -> None:
        self.emit(f"and.b32 t0, {self.register('r')}, {SCRATCH // 8 - 1};")
        self.emit("mad.wide.u32 w0, t0, 8, results;")
        self.emit(f"st.global.{self.dice.of(['b8', 'b16', 'b32'])} [w0], {self.register('r')};")
        self.emit(f"ld.global.b64 {self.register('d')}, [w0];")

    def exchange(self) -> None:
        """Through shared memory: every thread writes its slot, then reads another's."""
        pool = self.dice.of(["r", "d", "f", "g"])
        size = _BYTES[pool]
        factor, shift = 1 + 2 * self.dice.below(32), self.dice.below(128)
        self.emit(f"mad.lo.u32 t0, thread, {size}, shared;")
        self.emit(f"st.shared.b{8 * size} [t0], {self.register(pool)};", "bar.sync 0;")
        self.emit(f"mad.lo.u32 t0, thread, {factor}, {shift};")
        self.emit(f"and.b32 t0, t0, {self.threads - 1};", f"mad.lo.u32 t0, t0, {size}, shared;")
        self.emit(f"ld.shared.b{8 * size} {self.register(pool)}, [t0];", "bar.sync 0;")

    def reduction(self) -> None:
        """Many threads change a slot by operations whose order does not matter."""
        operation = self.dice.of(
            ["add.u32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32", "xor.b32"]
        )
        self.emit("mad.lo.u32 t0, thread, 4, shared;")
        self.emit(f"st.shared.b32 [t0], {self.register('r')};", "bar.sync 0;")
        self.emit(f"and.b32 t0, {self.register('r')}, {self.threads - 1};")
        self.emit("mad.lo.u32 t0, t0, 4, shared;")
        guard = f"@{self.register('p')} " if self.dice.one_in(2) else ""
        self.emit(f"{guard}red.shared.{operation} [t0], {self.register('r')};", "bar.sync 0;")
        self.emit("mad.lo.u32 t0, thread, 4, shared;")
        self.emit(f"ld.shared.b32 {self.register('r')}, [t0];", "bar.sync 0;")

    def body(self, depth: int, count: int) -> None:
        for _ in range(count):
            pick = self.dice.below(100)
            nested: list[tuple[int, Callable[[int], None]]] = [
                (7, self.branch), (11, self.loop), (13, self.switch),
            ]  # fmt: skip
            for limit, statement in nested:
                if pick < limit:
                    if depth < 3:
                        statement(depth)
                    break
            else:
                self.simple(depth, pick)

    def simple(self, depth: int, pick: int) -> None:
        if pick < 22:
            (self.local, self.table_read, self.scratch)[pick % 3]()
        elif depth == 0 and pick < 30:
            self.emit(self.spelled(self.dice.of(WARP)))
        elif depth == 0 and pick < 36:
            (self.exchange, self.reduction)[pick % 2]()
        else:
            self.plain()

    # --- the whole ----------------------------------------------------------------------------

    def start(self) -> None:
        self.emit("mov.u32 thread, %tid.x; mov.u32 t0, %ctaid.x;")
        self.emit(f"mad.lo.u32 t0, t0, {self.threads}, thread;")
        self.emit("ld.param.u64 table, [p_table]; ld.param.u64 results, [p_results];")
        self.emit(f"mad.wide.u32 results, t0, {SLOT}, results;")
        self.emit("mov.u32 shared, cells; mov.u32 local, words;")
        places = _table_places()
        kinds = {"r": "i32", "d": "i64", "f": "f32", "g": "f64", "h": "f16"}
        for pool, kind in kinds.items():
            size = _BYTES[pool]
            for number in range(POOLS[pool]):
                shift = self.dice.below(TABLE_WORDS)
                self.emit(f"mad.lo.u32 t1, t0, {2 * number + 3}, {shift};")
                self.emit(f"and.b32 t1, t1, {TABLE_WORDS - 1};")
                self.emit(f"mad.wide.u32 w0, t1, {size}, table;")
                self.emit(f"ld.global.b{8 * size} {pool}{number}, [w0+{places[kind]}];")
        for number in range(POOLS["p"]):
            self.emit(f"setp.lt.s32 p{number}, r{number}, r{number + 1};")
        for word in range(LOCAL_WORDS):
            self.emit(f"st.local.b32 [local+{4 * word}], r{word % POOLS['r']};")
        for word in range(SCRATCH // 8):
            self.emit(f"st.global.b64 [results+{8 * word}], d{word % POOLS['d']};")

    def finish(self) -> None:
        place = SCRATCH
        for pool in "dgrfh":
            for number in range(POOLS[pool]):
                self.emit(f"st.global.b{8 * _BYTES[pool]} [results+{place}], {pool}{number};")
                place += _BYTES[pool]
        self.emit("mov.u32 t0, 0;")
        for number in range(POOLS["p"]):
            self.emit(f"@p{number} or.b32 t0, t0, {1 << number};")
        assert place % 4 == 0
        assert place + 4 <= SLOT
        self.emit(f"st.global.b32 [results+{place}], t0;", "ret;")

    def program(self) -> Program:
        self.start()
        self.body(0, 30 + self.dice.below(50))
        self.finish()
        registers = [f".reg .{_STORAGE[pool]} {pool}<{count}>;" for pool, count in POOLS.items()]
        loops = "".join(f".reg .b32 loop{number + 1}; " for number in range(self.loops))
        head = [
            f".visible .entry {self.name}(.param .u64 p_table, .param .u64 p_results) {{",
            " ".join(registers),
            ".reg .b32 thread, shared, local, t0, t1; .reg .b64 table, results, w0; "
            f".reg .pred loops; {loops}".rstrip(),
            f".shared .align 8 .b8 cells[{8 * self.threads}];",
            f".local .align 8 .b8 words[{4 * LOCAL_WORDS}];",
        ]
        text = "\n".join([*head, *self.lines, "}", ""])
        return Program(self.name, text, self.threads, self.blocks)


def generate(seed: int) -> Program:
    """Write the program of a seed."""
    return _Writer(seed).program()
