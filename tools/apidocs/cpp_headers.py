# SPDX-License-Identifier: Apache-2.0
"""What the public headers declare: each name with its comment, and the code that a reader needs.

Bodies, private members and the places that calls take by default are left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from apidocs.cpp_scan import HeaderError, Statement, is_type, statements

COLUMNS = 96
_HERE = re.compile(
    r"(?:,\s*)?(?:const )?(?:\w+::)*(?:Where|source_location)&? (?:where|from) =\s*"
    r"(?:\w+::)*current\(\)"
)
_KIND = re.compile(
    r"(?:enum class|enum struct|class|struct|union|enum) (?:alignas\(\w+\) |\[\[.*?\]\] )?"
)
_OPERATOR = re.compile(r"\boperator\b\s*(\(\)|\[\]|[^\w\s(]+|\w[\w:<> ]*?(?=\s*&?\())")


@dataclass
class Entry:
    """What one comment speaks of: a declaration, or several that follow without another one."""

    namespace: str
    names: list[str]
    comment: str
    code: list[str]
    line: int
    is_type: bool = False
    is_alias: bool = False  # nothing but `using a::b;`
    members: list[str] = field(default_factory=list)  # the public ones of a class

    def qualified(self) -> list[str]:
        """Return the names as a user of namespace pyptx writes them, each once."""
        inner = re.sub(r"^pyptx(::)?", "", self.namespace)
        return [f"{inner}::{name}" if inner else name for name in dict.fromkeys(self.names)]


@dataclass
class Header:
    """A public header: what it is for, and what it declares."""

    path: str  # as it is included: pyptx/author/reg.h
    about: str
    entries: list[Entry]


def read_header(root: Path, path: Path) -> Header:
    """Read a header of the folder `root`; one that cannot be read is an error with its place."""
    text = path.read_text(encoding="utf-8")
    entries: list[Entry] = []
    try:
        _collect(statements(text), "", entries)
    except HeaderError as error:
        raise HeaderError(f"{path}: {error}") from None
    return Header(str(path.relative_to(root)), _about(text), entries)


def _about(text: str) -> str:
    """Return the words at the top of a header, behind its licence."""
    lines = []
    for line in text.splitlines()[1:]:
        if not line.startswith("//"):
            break
        lines.append(line.removeprefix("//").removeprefix(" "))
    return "\n".join(lines).strip()


def _collect(found: list[Statement], namespace: str, entries: list[Entry]) -> None:
    gone = {s.head.split()[1] for s in found if s.head.startswith("#undef")}
    continued = False  # the statement before is the last entry, or was left out
    for statement in found:
        scope = re.fullmatch(r"(?:inline )?namespace ([\w:]+)|extern \"C\"", statement.head)
        if scope is not None and statement.body is not None:
            inner = "::".join(filter(None, (namespace, scope[1]))) if scope[1] else ""
            if scope[1] != "detail":
                _collect(statements(statement.body, statement.body_line), inner, entries)
            continued = False
            continue
        name = name_of(statement)
        if name is None or name in gone or (name.startswith("#") and name[1:] in gone):
            continue
        defines_type = statement.body is not None and is_type(statement.head)
        is_alias = statement.head.startswith("using ") and not statement.comment
        joins = continued and not statement.comment and not statement.after_blank
        joins &= not defines_type and entries[-1:] != [] and entries[-1].is_alias == is_alias
        if joins and entries[-1].namespace == namespace:
            entries[-1].names.append(name)
            entries[-1].code.append(code_of(statement))
        else:
            comment = "\n".join(statement.comment)
            code = [code_of(statement)]
            entries.append(
                Entry(namespace, [name], comment, code, statement.line, defines_type, is_alias)
            )
        if defines_type:
            entries[-1].members += _members(statement)
        continued = True


def name_of(statement: Statement) -> str | None:
    """Return what a statement declares; nothing for what is not for users."""
    head = statement.head
    if head.startswith("#"):
        macro = re.match(r"#define (PYPTX_\w+) ", head)
        return macro[1] if macro else None
    plain = _without_templates(head)
    if plain.startswith(
        ("static_assert", "friend ", "namespace ", "public:", "private:", "protected:")
    ):
        return None
    if re.match(r"\w+\(.*\)\s*->", plain, re.DOTALL):
        return None  # a deduction guide
    if using := re.match(r"using namespace|using (?:enum )?([\w:]+)", plain):
        return using[1].rsplit("::", 1)[1] if using[1] and "::" in using[1] else using[1]
    if concept := re.match(r"concept (\w+)", plain):
        return concept[1]
    if kind := _KIND.match(plain):
        name = re.match(r"[\w:]+", plain[kind.end() :])
        defines = statement.body is not None and name is not None and "::" not in name[0]
        return name[0] if defines and name else None
    if operator := _OPERATOR.search(plain):
        return f"operator{' ' if operator[1][0].isalpha() else ''}{operator[1]}"
    if pointer := re.search(r"\(\*\s*(?:const\s+)?(\w+)\)\s*\(", plain):
        return pointer[1]
    if function := re.match(r"[^(=]*?(~?[\w:]+)\s*\(", plain):
        return None if "::" in function[1] else function[1]
    if variable := re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?:=.*|\{.*)?$", plain, re.DOTALL):
        return variable[1]
    raise HeaderError(f"line {statement.line}: '{head[:60]}' declares nothing known")


def _without_templates(head: str) -> str:
    """Drop `template <...>` with its requirement, and what types are made of in angles."""
    rest = re.sub(r"__attribute__\(\(.*?\)\)\)?\s*", "", _split_template(head)[1])
    previous = ""
    while previous != rest:
        previous = rest
        rest = re.sub(r"(?<=\w)<[^<>]*>", "", rest)
    return rest


def _split_template(head: str) -> tuple[list[str], str]:
    """Return the lines `template <...>` and `requires ...`, and the declaration behind them."""
    lines: list[str] = []
    while head.startswith("template"):
        end = _angles(head, head.index("<"))
        lines.append(" ".join(head[:end].split()))
        head = head[end:].lstrip()
        if head.startswith("requires"):
            end = _requirement(head)
            lines.append("  " + " ".join(head[:end].split()))
            head = head[end:].lstrip()
    return lines, head


def _angles(text: str, start: int) -> int:
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == "<") - (text[at] == ">")
        if depth == 0:
            return at + 1
    raise HeaderError(f"'{text[:60]}': an angle is never closed")


def _requirement(head: str) -> int:
    """Return where `requires ...` ends: clang-format breaks the line behind it."""
    depth = 0
    for at, letter in enumerate(head):
        depth += (letter in "({") - (letter in ")}")
        if letter == "\n" and depth == 0 and not re.match(r"\s*(&&|\|\|)", head[at:]):
            return at
    raise HeaderError(f"'{head[:60]}': a requirement without a declaration")


def code_of(statement: Statement) -> str:
    """Return a declaration as a reader wants it: no body, no private members, no place."""
    if statement.head.startswith("#"):
        return statement.head
    template, head = _split_template(statement.head)
    shown = re.sub(r"operator ([^\w\s(]+\()", r"operator\1", re.sub(r"^inline ", "", head))
    shown = re.sub(r"\{\s*#include[^}]*\}", "{...}", shown)
    start = f"\n{statement.indent}".join([*template, ""])
    if statement.body is not None and is_type(statement.head):
        return start + _class(statement, shown)
    if statement.body is not None and head.endswith("="):
        shown += " {" + statement.body + "}"
    elif statement.body is not None:
        shown = _without_initializers(shown)
    return start + _fit(_HERE.sub("", shown) + ";", statement.indent)


def _fit(code: str, indent: str) -> str:
    """One line where it fits, else as it stands."""
    line = re.sub(r"\(\s+", "(", " ".join(code.split()))
    return line if len(indent) + len(line) <= COLUMNS else code


def _without_initializers(head: str) -> str:
    """Drop `: a_(a), b_(b)` of a constructor."""
    depth = 0
    for found in re.finditer(r"[()\[\]{}]|(?<!:):(?!:)", head):
        if found[0] == ":" and depth == 0 and ")" in head[: found.start()]:
            return head[: found.start()].rstrip()
        depth += (found[0] in "([{") - (found[0] in ")]}")
    return head.rstrip()


def _class(statement: Statement, head: str) -> str:
    body = statement.body or ""
    if head.startswith("enum"):
        return f"{head} {{{_enumerators(body)}}};"
    inner = statement.indent + "  "
    lines: list[str] = []
    for member in _public(statement):
        if member.after_blank and lines:
            lines.append("")
        if member.divider:
            lines.append(f"{inner}// {member.divider}")
        lines += [f"{inner}/// {line}".rstrip() for line in member.comment]
        words = "" if member.trailing.startswith("NOLINT") else member.trailing
        code = (inner + code_of(member)).splitlines()
        lines += [*code[:-1], code[-1] + (f"  // {words}" if words else "")]
    while lines and not lines[-1]:
        lines.pop()
    access = f"\n{statement.indent} public:" if head.startswith("class") else ""
    if not lines:
        return f"{head} {{}};"
    return f"{head} {{{access}\n" + "\n".join(lines) + f"\n{statement.indent}}};"


def _public(statement: Statement) -> list[Statement]:
    """Return the members of a class that its users may name."""
    shown = not re.match(r"(?:template.*>\s*)?class\b", statement.head, re.DOTALL)
    found = []
    for member in statements(statement.body or "", statement.body_line):
        if member.head in ("public:", "private:", "protected:"):
            shown = member.head == "public:"
        elif shown and not re.match(r"friend (class|struct) |static_assert|#", member.head):
            found.append(member)
    return found


def _members(statement: Statement) -> list[str]:
    """Return the names of the public members, of enumerators too."""
    if re.match(r"enum\b", statement.head):
        words = re.sub(r"//[^\n]*|#[^\n]*", "", statement.body or "")
        return re.findall(r"(?:^|,)\s*(\w+)", words)
    owner = name_of(statement)
    names = [name for member in _public(statement) if (name := name_of(member)) is not None]
    return [name for name in dict.fromkeys(names) if name not in (owner, f"~{owner}")]


def _enumerators(body: str) -> str:
    """Return them without the lines of the preprocessor around an inclusion."""
    lines = [
        line for line in body.split("\n") if not re.match(r"#(define|undef)|\s*// NOLINT", line)
    ]
    return "\n".join(lines)
