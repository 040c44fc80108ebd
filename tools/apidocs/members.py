# SPDX-License-Identifier: Apache-2.0
"""One definition as Markdown: its signature as Python, its docstring, a class's members."""

from __future__ import annotations

import ast
import inspect
import itertools
import json
import re

from apidocs.sources import Definition, Package

_COLUMNS = 88
_ROLE = re.compile(r":\w+:`([^`]*)`")
_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "lshift": "<<", "rshift": ">>", "and": "&", "or": "|",
    "xor": "^", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "invert": "~", "neg": "-", "abs": "abs()", "getitem": "[]", "setitem": "[] =",
    "len": "len()", "iter": "iteration", "enter": "with",
}  # fmt: skip


def prose(text: str) -> str:
    """Return a docstring as Markdown: one kind of quotes, whatever the author used."""
    quoted = _ROLE.sub(r"`\1`", inspect.cleandoc(text)).replace("``", "`").strip()
    parts = quoted.split("`")
    # What is outside of quotes is words, not HTML tags or emphasis.
    parts[::2] = [re.sub(r"([<*])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)


def signature(node: ast.FunctionDef, name: str, *, is_method: bool = False) -> str:
    """Return `name(parameters) -> result`, one parameter a line where it is long."""
    parameters = _parameters(node.args)
    if is_method and not any(_name(d) == "staticmethod" for d in node.decorator_list):
        parameters = [p for p in parameters[1:] if p != "/" or parameters[1] != "/"]
    result = "" if node.returns is None else f" -> {_annotation(node.returns)}"
    line = f"{name}({', '.join(parameters)}){result}"
    if len(line) <= _COLUMNS:
        return line
    return f"{name}(\n    " + ",\n    ".join(parameters) + f",\n){result}"


def describe(package: Package, name: str, found: Definition, level: int) -> list[str]:
    """Return the section of one public name."""
    node = found.node
    head = ["", f"{'#' * level} `{name}`", ""]
    if isinstance(node, ast.FunctionDef):
        lines = [*head]
        for way in (node, *found.others):
            assert isinstance(way, ast.FunctionDef)
            lines += [*_code(signature(way, name)), *_doc(way)]
        return lines
    if isinstance(node, ast.ClassDef):
        return [*head, *_class(package, found.module, node, name)]
    if isinstance(node, ast.AnnAssign):
        kind = package.find(found.module, _annotation(node.annotation)).node
        words = _doc(kind) if isinstance(kind, ast.ClassDef) else []
        return [*head, *_code(f"{name}: {_annotation(node.annotation)}"), *words]
    if isinstance(node, ast.Assign):
        words = _doc_of_constant(package.tree(found.module), node)
        return [*head, *_code(f"{name} = {ast.unparse(node.value)}"), *words]
    raise TypeError(f"{name} is a module")


def _doc_of_constant(tree: ast.Module, node: ast.Assign) -> list[str]:
    """Return the string that stands after an assignment, as type checkers read it."""
    for one, other in itertools.pairwise(tree.body):
        if one is node and isinstance(other, ast.Expr) and isinstance(other.value, ast.Constant):
            return ["", prose(str(other.value.value))]
    return []


def _class(package: Package, module: str, node: ast.ClassDef, name: str) -> list[str]:
    members = class_members(package, module, node)
    bases = [ast.unparse(base).split(".")[-1] for base in node.bases]
    constructor = members.pop("__init__", None)
    if isinstance(constructor, ast.FunctionDef):
        shown = signature(constructor, name, is_method=True).removesuffix(" -> None")
        lines = _code(f"class {shown}")
    else:
        lines = _code(f"class {name}" + (f"({', '.join(bases)})" if bases else ""))
    lines += _doc(node)
    operators = [
        _OPERATORS[word]
        for member in members
        if (word := member.strip("_")) in _OPERATORS and member.startswith("__")
    ]
    if operators:
        lines += ["", "Operators: " + ", ".join(f"`{o}`" for o in dict.fromkeys(operators)) + "."]
    fields, methods = [], []
    for member, statement in members.items():
        if member.startswith("_"):
            continue
        if isinstance(statement, ast.FunctionDef) and not _is_property(statement):
            methods += _method(statement)
        else:
            fields.append(_field(member, statement))
    return [*lines, *([""] if fields else []), *fields, *methods]


def class_members(package: Package, module: str, node: ast.ClassDef) -> dict[str, ast.stmt]:
    """Members by name, those of bases in the same module first."""
    found: dict[str, ast.stmt] = {}
    for base in node.bases:
        if isinstance(base, ast.Name):
            for statement in package.tree(module).body:
                if isinstance(statement, ast.ClassDef) and statement.name == base.id:
                    found |= class_members(package, module, statement)
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef):
            found[statement.name] = statement
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            found[statement.target.id] = statement
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            found[statement.targets[0].id] = statement
    return found


def _method(node: ast.FunctionDef) -> list[str]:
    lines = ["", *_code(signature(node, f".{node.name}", is_method=True))[1:]]
    return [*lines, *_doc(node)]


def _field(name: str, statement: ast.stmt) -> str:
    text = f"- `.{name}`"
    if isinstance(statement, ast.FunctionDef):
        if statement.returns is not None:
            text += f": `{_annotation(statement.returns)}`"
        words = prose(ast.get_docstring(statement) or "")
        text += f". {words}" if words else ""
    elif isinstance(statement, ast.AnnAssign):
        text += f": `{_annotation(statement.annotation)}`"
    elif isinstance(statement, ast.Assign):
        text += f" = `{_expression(statement.value)}`"
    return text.replace("\n\n", "\n").replace("\n", "\n  ")


def _code(text: str) -> list[str]:
    return ["", "```python", text, "```"]


def _doc(node: ast.FunctionDef | ast.ClassDef) -> list[str]:
    text = prose(ast.get_docstring(node) or "")
    return ["", text] if text else []


def _annotation(node: ast.expr) -> str:
    """Return an annotation without the folders that a reader does not import from."""
    return re.sub(r"pyptx\._core(\.\w+)*\.", "", ast.unparse(node))


def _parameters(arguments: ast.arguments) -> list[str]:
    """Each parameter as it is written, with the bare `/` and `*` between them."""
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    shown = [
        _parameter(arg, default)
        for arg, default in zip(positional, [*defaults, *arguments.defaults], strict=True)
    ]
    if arguments.posonlyargs:
        shown.insert(len(arguments.posonlyargs), "/")
    if arguments.vararg is not None:
        shown.append("*" + _parameter(arguments.vararg, None))
    elif arguments.kwonlyargs:
        shown.append("*")
    shown += map(_parameter, arguments.kwonlyargs, arguments.kw_defaults)
    if arguments.kwarg is not None:
        shown.append("**" + _parameter(arguments.kwarg, None))
    return shown


def _parameter(arg: ast.arg, default: ast.expr | None) -> str:
    text = arg.arg
    if arg.annotation is not None:
        text += f": {_annotation(arg.annotation)}"
    if default is not None:
        text += f"{' = ' if arg.annotation is not None else '='}{_expression(default)}"
    return text


def _expression(node: ast.expr) -> str:
    """Return an expression in the quotes that the sources use."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return json.dumps(node.value)
    return ast.unparse(node)


def _is_property(node: ast.FunctionDef) -> bool:
    return any(
        _name(decorator) in ("property", "cached_property") for decorator in node.decorator_list
    )


def _name(decorator: ast.expr) -> str:
    return ast.unparse(decorator).split(".")[-1].split("(")[0]
