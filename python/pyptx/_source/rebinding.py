# SPDX-License-Identifier: Apache-2.0
"""Whether a name that a block has bound to another register is read again, and where it was bound.

`a = a + x` in a block that runs never or many times makes the name `a` another register, once,
while the kernel is traced: the one that it named before is not written. The extension compares
names where a block begins and ends and asks here about those that differ; the answer is read off
the bytecode of the author's function.
"""

from __future__ import annotations

import ast
import dis
from collections.abc import Iterator, Sequence
from types import CodeType

from pyptx._source.text import lines_of

#: Ends a path, where nothing follows.
_ENDS = ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE")
_JUMPS = (*dis.hasjrel, *dis.hasjabs)
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}
_COMMUTATIVE = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)


def lost(
    code: CodeType, begin: int, end: int, names: Sequence[str], repeats: bool, is_certain: bool
) -> tuple[str, int, str] | None:
    """Return (name, byte of its binding, what to write) of the first name whose value is lost.

    `begin` and `end` are the bytes where the block was entered and left, the same of a `for`. One
    that `repeats` loses what its next trip reads; one that `is_certain` to run leaves what follows
    it with the register of its last trip.
    """
    flow = _Flow(code)
    if begin == end:
        end = flow.target(begin)
    for name in names:
        bound = [at for at in flow.between(begin, end) if name in flow.stored(at)]
        if not bound:
            continue
        carried = repeats and flow.reads(flow.after(begin), name, begin, end)
        if carried or (not is_certain and flow.reads(flow.after(end), name)):
            return name, bound[-1], _fix(code, bound[-1], name)
    return None


class _Flow:
    """The instructions of a code object, and where each goes on."""

    def __init__(self, code: CodeType) -> None:
        self._all = list(dis.get_instructions(code))
        self._place = {x.offset: index for index, x in enumerate(self._all)}

    def target(self, at: int) -> int:
        """Return where the instruction there jumps."""
        found: int = self._all[self._place[at]].argval
        return found

    def after(self, at: int) -> int:
        """Return the place of the next instruction; the last one has itself."""
        return min(self._place[at] + 1, len(self._all) - 1)

    def between(self, begin: int, end: int) -> Iterator[int]:
        """Give the bytes of the instructions after `begin` and before `end`."""
        return (x.offset for x in self._all if begin < x.offset < end)

    def stored(self, at: int) -> tuple[str, ...]:
        """Return the names that the instruction there binds."""
        return tuple(name for verb, name in _events(self._all[self._place[at]]) if verb == "STORE")

    def reads(self, start: int, name: str, begin: int = -1, end: int = 1 << 62) -> bool:
        """Whether a path from `start`, within these bytes, reads the name before it binds it."""
        waiting, seen = [start], set[int]()
        while waiting:
            index = waiting.pop()
            if index in seen or not begin < self._all[index].offset < end:
                continue
            seen.add(index)
            verbs = [verb for verb, known in _events(self._all[index]) if known == name]
            if verbs[:1] == ["LOAD"]:
                return True
            if not verbs:
                waiting += self._next(index)
        return False

    def _next(self, index: int) -> list[int]:
        instruction = self._all[index]
        found = []
        if instruction.opcode in _JUMPS and instruction.argval in self._place:
            found.append(self._place[instruction.argval])
        is_last = index + 1 == len(self._all)
        if not instruction.opname.startswith((*_ENDS, "JUMP")) and not is_last:
            found.append(index + 1)
        return found


def _events(instruction: dis.Instruction) -> Iterator[tuple[str, str]]:
    """Give what an instruction does with variables, in order: ("LOAD", name), ("STORE", name)."""
    words = instruction.opname.split("_")
    if not ("FAST" in words or "DEREF" in words or "CLOSURE" in words):
        return
    verbs = [word for word in words if word in ("LOAD", "STORE", "DELETE")]
    names = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
    for verb, name in zip(verbs, names, strict=False):
        yield ("STORE" if verb == "DELETE" else verb), name


def _fix(code: CodeType, at: int, name: str) -> str:
    """Return the statement that writes the register, where there is a source to read."""
    line = list(code.co_positions())[at // 2][0]
    source = "".join(lines_of(code))
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return f"{name}.set(...)"
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and node.lineno <= (line or 0) <= (node.end_lineno or 0):
            target = node.targets[0]
            if isinstance(target, ast.Name) and target.id == name:
                return _written(name, node.value, source)
    return f"{name}.set(...)"


def _written(name: str, value: ast.expr, source: str) -> str:
    """Return `a += x` for `a + x`, else `a.set(value)`."""
    if isinstance(value, ast.BinOp) and type(value.op) in _OPERATORS:
        sides = (value.left, value.right)
        for own, other in (sides, sides[::-1])[: 1 + isinstance(value.op, _COMMUTATIVE)]:
            if isinstance(own, ast.Name) and own.id == name:
                text = ast.get_source_segment(source, other)
                return f"{name} {_OPERATORS[type(value.op)]}= {text}"
    return f"{name}.set({ast.get_source_segment(source, value)})"
