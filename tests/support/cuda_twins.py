# SPDX-License-Identifier: Apache-2.0
"""Examples and the same kernels in CUDA C++ beside them: how long each is, and theirs run here."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyptx import _core
from support.tree import TESTS

sys.path.insert(0, str(TESTS / "corpus"))

import corpus

ARCHITECTURE = "sm_90a"
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_DIRECTIVE = re.compile(r"^\s*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_NO_KERNEL = ("namespace ", "constexpr ", "using ")
_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}


def lines_of_python(path: Path) -> int:
    """Count the lines of kernels and of the functions and classes that they name.

    Decorators are what C++ has where it launches, and are counted on neither side; nor are blank
    lines, comments and docstrings.
    """
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    defined = {n.name: n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    pending: list[ast.FunctionDef | ast.ClassDef] = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and any(map(_is_kernel, node.decorator_list))
    ]
    assert pending, f"{path}: no kernel"
    found: dict[str, ast.FunctionDef | ast.ClassDef] = {}
    while pending:
        node = pending.pop()
        found[node.name] = node
        names = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
        pending += [defined[name] for name in names & defined.keys() - found.keys()]
    wanted: set[int] = set()
    for node in found.values():
        wanted |= set(range(node.lineno, (node.end_lineno or 0) + 1))
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node):
            wanted -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(wanted & _lines_with_code(text))


def _is_kernel(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(called, ast.Name) and called.id == "kernel"


def _lines_with_code(text: str) -> set[int]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    spans = [(t.start[0], t.end[0]) for t in tokens if t.type not in _NO_CODE]
    return {line for first, last in spans for line in range(first, last + 1)}


def lines_of_cpp(path: Path) -> int:
    """Count the lines of functions and classes: no directives, constants, comments, blank lines."""
    text = _DIRECTIVE.sub("", _COMMENT.sub("", path.read_text(encoding="utf-8")))
    lines = [line.strip() for line in text.splitlines()]
    return sum(bool(line) and not line.startswith(_NO_KERNEL) for line in lines)


def compiled(sources: list[Path]) -> dict[str, str]:
    """Return the PTX that nvcc makes of programs, by their names; two compilers at a time."""
    if not corpus.is_available():
        pytest.skip("no nvcc: install nvidia-cuda-nvcc, nvidia-nvvm and nvidia-cuda-cccl")
    options = [*corpus.NVCC, f"-arch={ARCHITECTURE}"]
    with ThreadPoolExecutor(2) as pool:
        made = pool.map(lambda path: corpus.compile_source(path, options, path.stem), sources)
        return {path.stem: ptx.read_text() for path, ptx in zip(sources, made, strict=True)}


class Twin:
    """A kernel that nvcc compiled, on the emulator.

    An array is a pointer, or the tensor map that `maps` has at its place; other things are scalars.
    """

    def __init__(
        self, ptx: str, *, shared: int = 0, maps: Any = None, **sizes: tuple[int, ...]
    ) -> None:
        self.text = ptx
        (self.entry,) = re.findall(r"\.entry (\w+)", ptx)
        self.sizes = sizes
        self.shared = shared
        self.maps = maps

    def __call__(self, *arguments: Any, seed: int = 0, schedule: str = "latest") -> None:
        arrays = [value for value in arguments if isinstance(value, np.ndarray)]
        grid, block, cluster = (
            (*self.sizes.get(name, ()), 1, 1, 1)[:3] for name in ("grid", "block", "cluster")
        )
        plan = _core.LaunchPlan(self.entry, grid, block, cluster, self.shared, len(arrays))
        index = 0
        for value in arguments:
            if isinstance(value, np.ndarray):
                if self.maps is None:
                    plan.add_pointer(index)
                else:
                    plan.add_map_value(index, self.maps[index])
                index += 1
            else:
                plan.add_scalar(int.from_bytes(np.asarray(value).tobytes()[:4], "little"), 4)
        _core.emulate(
            _core.KernelImage(self.text, ARCHITECTURE, plan),
            [array.ctypes.data for array in arrays],
            [array.nbytes for array in arrays],
            checks="races",
            seed=seed,
            schedule=schedule,
        )
