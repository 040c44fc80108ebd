# SPDX-License-Identifier: Apache-2.0
"""Finds what a public name is: follows imports and aliases to the definition, in .py and .pyi.

It knows no more of Python than the package uses: `from x import y`, `name = _core.group.name` and
`from x import *`. A name that leads nowhere is an error, so a page can never miss one silently.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

Node = ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign


class SourceError(Exception):
    """A public name whose definition was not found."""


@dataclass(frozen=True)
class Definition:
    """Where a name ends: a node of a module, or a module itself (node is None)."""

    module: str
    node: Node | None
    #: Further ways of calling it: overloads of a stub.
    others: tuple[ast.stmt, ...] = ()


class Package:
    """The parsed modules of a package, by dotted name."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._trees: dict[str, ast.Module] = {}

    def has(self, module: str) -> bool:
        """Whether there is such a module."""
        return self._path(module) is not None

    def tree(self, module: str) -> ast.Module:
        """Return a module's syntax tree; a stub, where there is one, stands for its module."""
        if module not in self._trees:
            path = self._path(module)
            if path is None:
                raise SourceError(f"no module {module}")
            self._trees[module] = ast.parse(path.read_text(encoding="utf-8"), str(path))
        return self._trees[module]

    def doc(self, module: str) -> str:
        """Return the docstring of a module: of its source where there is one, else of its stub."""
        source = self._root / f"{module.replace('.', '/')}.py"
        tree = ast.parse(source.read_text(encoding="utf-8")) if source.is_file() else None
        return ast.get_docstring(tree or self.tree(module)) or ""

    def public(self, module: str) -> list[str]:
        """Return the names of `__all__`, or what is defined here without underscore."""
        tree = self.tree(module)
        for node in tree.body:
            if isinstance(node, ast.Assign) and _target(node) == "__all__":
                names: list[str] = ast.literal_eval(node.value)
                return names
        names = [name for node in tree.body if (name := _defined(node)) is not None]
        for node in tree.body:
            # In stubs `x as x` is what is exported again; a submodule that has its own section.
            if isinstance(node, ast.ImportFrom):
                names += [
                    a.name for a in node.names if a.asname == a.name and module != node.module
                ]
        return [name for name in dict.fromkeys(names) if not name.startswith("_")]

    def groups(self, module: str) -> list[str]:
        """Return the submodules of a stub package, by name."""
        folder = self._root / module.replace(".", "/")
        found = [
            path.stem if path.suffix == ".pyi" else path.name
            for path in folder.glob("*")
            if path.suffix == ".pyi" or path.is_dir()
        ]
        return sorted(name for name in found if not name.startswith("_"))

    def find(self, module: str, name: str) -> Definition:
        """Follow `name` to its definition."""
        for node in self.tree(module).body:
            if _defined(node) == name and isinstance(node, Node) and not _is_overload(node):
                return self._through(module, node)
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                for alias in node.names:
                    if (alias.asname or alias.name) == name and node.module != module:
                        return self.find(node.module, alias.name)
        # In a stub they are all that there is.
        ways = [
            node
            for node in self.tree(module).body
            if isinstance(node, ast.FunctionDef) and node.name == name and _is_overload(node)
        ]
        if ways:
            return Definition(module, ways[0], tuple(ways[1:]))
        if not self.has(f"{module}.{name}"):
            raise SourceError(f"{module}.{name} is nowhere defined")
        return Definition(f"{module}.{name}", None)

    def _through(self, module: str, node: Node) -> Definition:
        """`scalar = _core.reg.scalar` is what the extension's stub says."""
        if isinstance(node, ast.Assign):
            words = _dotted(node.value)
            if words is not None and words[0] == "_core":
                return self.find(".".join(["pyptx", *words[:-1]]), words[-1])
        return Definition(module, node)

    def _path(self, module: str) -> Path | None:
        base = self._root / module.replace(".", "/")
        candidates = (
            base.with_name(base.name + ".py"),
            base / "__init__.py",
            base.with_name(base.name + ".pyi"),
            base / "__init__.pyi",
        )
        return next((path for path in candidates if path.is_file()), None)


def _target(node: ast.Assign) -> str | None:
    first = node.targets[0]
    return first.id if isinstance(first, ast.Name) else None


def _defined(node: ast.stmt) -> str | None:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.Assign):
        return _target(node)
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    return None


def _is_overload(node: ast.stmt) -> bool:
    """Whether this only types one way of calling what is defined further down."""
    return isinstance(node, ast.FunctionDef) and any(
        ast.unparse(decorator).split(".")[-1] == "overload" for decorator in node.decorator_list
    )


def _dotted(expression: ast.expr) -> list[str] | None:
    if isinstance(expression, ast.Name):
        return [expression.id]
    if isinstance(expression, ast.Attribute):
        words = _dotted(expression.value)
        return None if words is None else [*words, expression.attr]
    return None
