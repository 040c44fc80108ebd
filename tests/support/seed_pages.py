# SPDX-License-Identifier: Apache-2.0
"""Reads the reference pages that the public surface follows: names, kinds, signatures, code.

The pages are plain text copied from a web site, so headings and bullets come in several shapes;
what is constant is the word "Kind:" after each documented name.
"""

from __future__ import annotations

import re
from pathlib import Path

from support.tree import ROOT

PAGES = ROOT.parent / "shared" / "seeds"
MODULES = {
    "kernel.txt": "pyptx.kernel",
    "torch_support.txt": "pyptx.torch_support",
    "jax_support.txt": "pyptx.jax_support",
}


def _lines(page: Path) -> list[str]:
    text = page.read_text(encoding="utf-8").replace("¶", "")
    lines = (re.sub(r"^[\s•\-]+(?=Kind:|Value:|$)", "", line).strip() for line in text.splitlines())
    return [line for line in lines if line and line not in ("-", "•")]


def documented(page: Path) -> list[dict[str, str]]:
    """Every documented name of a page: module, name (Class.member), kind, signature or ""."""
    module = MODULES[page.name]
    lines = _lines(page)
    found: list[dict[str, str]] = []
    owner = ""
    for index, line in enumerate(lines):
        if not line.startswith("Kind:"):
            continue
        kind = (line.removeprefix("Kind:").strip() or lines[index + 1]).rstrip(" -")
        title = lines[index - 1]
        name, paren, rest = title.partition("(")
        signature = paren + rest
        if kind in ("class", "function"):
            owner = name if kind == "class" else ""
            after = lines[index + 1 : index + 4]
            starts = (f"class {name}(", f"{name}(")
            signature = next((t[t.index("(") :] for t in after if t.startswith(starts)), "")
        else:
            name = f"{owner}.{name}"
        found.append({"module": module, "name": name, "kind": kind, "signature": signature})
    return found


def imports(page: Path) -> list[str]:
    """`module:name` for every import from the package in a page's code."""
    found = []
    for module, names in re.findall(
        r"from (pyptx[\w.]*) import ([\w, ]+)", page.read_text("utf-8")
    ):
        found += [f"{module}:{name.strip()}" for name in names.split(",")]
    return list(dict.fromkeys(found))


def code_blocks(page: Path) -> list[str]:
    """The page's code: maximal runs of lines that are code, by the look of their first line."""
    starts = ("import ", "from ", "k = ", "print(", "@")
    lines = page.read_text(encoding="utf-8").splitlines()
    blocks: list[list[str]] = []
    inside = False
    for line in lines:
        if not inside and line.startswith(starts):
            blocks.append([])
            inside = True
        elif inside and line[:1].isupper() and not line.startswith("WARP_SIZE"):
            inside = False  # prose: code lines here never start with a capital
        elif inside and line in ("and then later:", "or:"):
            inside = False
        if inside:
            blocks[-1].append(line)
    return ["\n".join(block).rstrip() + "\n" for block in blocks]
