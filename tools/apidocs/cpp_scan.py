# SPDX-License-Identifier: Apache-2.0
"""Cuts a C++ header into statements: what stands between two semicolons or behind a body.

It knows no more of C++ than the project's headers use, which clang-format has made regular: the
brace of a body stands behind a blank, that of an initialiser does not. What it cannot cut is an
error, so that a declaration is never missed silently.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|\d[\w\']*|[A-Za-z_]\w*|\s+|.',
    re.DOTALL,
)
_TYPE = re.compile(
    r"(?:template\s*<.*>\s*(?:requires.*?)?)?(?:typedef\s+)?\b(class|struct|union|enum)\b",
    re.DOTALL,
)

# `requires requires(const T& t)`, of which the brace is a part.
_REQUIREMENT = re.compile(
    r"(?:\brequires|&&|\|\||=)\s*\brequires\s*(\((?:[^(){}]|\([^(){}]*\))*\))?\s*$"
)


class HeaderError(Exception):
    """A header that this reader cannot cut."""


@dataclass
class Statement:
    """One statement of a scope: its head, its body where it has one, and what is said of it."""

    head: str
    line: int
    comment: list[str] = field(default_factory=list)  # lines of `///` above it
    trailing: str = ""  # of `//` behind it, on its line
    body: str | None = None
    body_line: int = 0
    divider: str = ""  # `// --- words ---` above it
    after_blank: bool = False  # an empty line stands between it and the one before
    line_end: int = 0
    indent: str = ""


def tokens(text: str) -> list[str]:
    """Return comments, literals, words, blanks and single characters; together they are `text`."""
    return _TOKEN.findall(text)


def statements(text: str, line: int = 1) -> list[Statement]:
    """Cut the inside of a scope."""
    return _Cutter(_expand(text), line).run()


def is_type(head: str) -> bool:
    """Whether a head with a body defines a class or an enumeration."""
    return _TYPE.match(head) is not None


class _Cutter:
    def __init__(self, text: str, line: int) -> None:
        self.tokens = tokens(text)
        self.at = 0
        self.line = line
        self.found: list[Statement] = []
        self.comment: list[str] = []
        self.divider = ""
        self.blank = False

    def run(self) -> list[Statement]:
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.isspace():
                self.blank |= token.count("\n") > 1
                self._advance()
            elif token.startswith("//"):
                self._comment(token)
            elif token == "#":
                self._directive()
            else:
                self._statement()
        return self.found

    def _advance(self) -> str:
        token = self.tokens[self.at]
        self.at += 1
        self.line += token.count("\n")
        return token

    def _comment(self, token: str) -> None:
        if token.startswith("///"):
            self.comment.append(token[3:].removeprefix(" ").rstrip())
        elif token.startswith("// ---"):
            self.divider = token.removeprefix("//").strip(" -")
        elif self.found and self.found[-1].line_end == self.line:
            self.found[-1].trailing = token.removeprefix("//").strip()
        self._advance()

    def _directive(self) -> None:
        """Read a line of the preprocessor with those that continue it."""
        line = self.line
        words = self._advance()
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.startswith("\n") and not words.endswith("\\"):
                break
            words += self._advance()
        self._add(Statement(words.rstrip(), line))

    def _statement(self) -> None:
        line, head, depth = self.line, "", 0
        indent = self.tokens[self.at - 1].rpartition("\n")[2] if self.at else ""
        while self.at < len(self.tokens):
            token = self._advance()
            if depth == 0 and token == ";":
                self._add(Statement(head.strip(), line, indent=indent))
                return
            if depth == 0 and token == ":" and head.strip() in ("public", "private", "protected"):
                self._add(Statement(head.strip() + ":", line))
                return
            if depth == 0 and token == "{" and _opens_body(head):
                body_line = self.line
                body = self._block()
                if is_type(head) or head.rstrip().endswith("="):
                    self._end(head)
                self._add(
                    Statement(head.strip(), line, body=body, body_line=body_line, indent=indent)
                )
                return
            depth += (token in "([{") - (token in ")]}") if len(token) == 1 else 0
            head += "" if token.startswith("//") else token
        if head.strip():
            raise HeaderError(f"line {line}: '{head.strip()[:60]}' does not end")

    def _block(self) -> str:
        """Read what stands between an open brace and its partner."""
        depth, body = 1, ""
        while self.at < len(self.tokens):
            token = self._advance()
            depth += (token == "{") - (token == "}")
            if depth == 0:
                return body
            body += token
        raise HeaderError(f"line {self.line}: a brace is never closed")

    def _end(self, head: str) -> None:
        token = self._advance()
        if token != ";":
            raise HeaderError(f"line {self.line}: ';' expected behind '{head.strip()[:60]}'")

    def _add(self, statement: Statement) -> None:
        statement.comment, statement.divider = self.comment, self.divider
        statement.after_blank = self.blank
        statement.line_end = self.line
        self.comment, self.divider, self.blank = [], "", False
        self.found.append(statement)


def _opens_body(head: str) -> bool:
    """Whether a brace behind these words opens a body, and not an initialiser or a requirement."""
    if _REQUIREMENT.search(head):
        return False
    return head[-1:].isspace()


def _expand(text: str) -> str:
    """Put in what the macros of this header stand for, from their definition to their end."""
    for name, parameters, body in re.findall(
        r"^#define (\w+)\(([\w, ]+)\) *((?:[^\n]*\\\n)*[^\n]*)", text, re.MULTILINE
    ):
        words = body.replace("\\\n", " ")
        given = [parameter.strip() for parameter in parameters.split(",")]

        def put(use: re.Match[str], words: str = words, given: list[str] = given) -> str:
            values = dict(zip(given, (v.strip() for v in use[1].split(",")), strict=True))
            told = re.sub(r"\w+", lambda word: values.get(word[0], word[0]), words)
            return " ".join(told.split())

        text = re.sub(rf"^{name}\((.*)\)$", put, text, flags=re.MULTILINE)
    return text
