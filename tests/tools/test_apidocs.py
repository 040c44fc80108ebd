# SPDX-License-Identifier: Apache-2.0
"""tools/apidocs: names are followed to their definitions, and the committed pages are current."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from apidocs.members import describe, prose, signature
from apidocs.pages import Folders, render_pages
from apidocs.sources import Package, SourceError
from isagen.committed import stale
from support.tree import ROOT

FOLDERS = Folders(ROOT / "python", ROOT / "isa", ROOT / "docs" / "isa")


@pytest.fixture
def package(tmp_path):
    """A package like ours: a module over an extension that only has stubs."""
    root = tmp_path / "pyptx"
    (root / "_core").mkdir(parents=True)
    (root / "__init__.py").write_text('"""P."""\nfrom pyptx.m import f\n__all__ = ["f", "m"]\n')
    (root / "m.py").write_text(
        '"""M."""\nfrom pyptx import _core\nf = _core.g.f\n__all__ = ["f", "lost"]\n'
    )
    (root / "_core" / "__init__.pyi").write_text("")
    (root / "_core" / "g.pyi").write_text(
        'def f(a: int, *, b: str = "x") -> None:\n    """Do."""\n'
    )
    return Package(tmp_path)


def test_names_are_followed_into_the_stubs(package):
    found = package.find("pyptx", "f")
    assert found.module == "pyptx._core.g"
    lines = [line for line in describe(package, "f", found, 2) if line]
    assert lines == ["## `f`", "```python", 'f(a: int, *, b: str = "x") -> None', "```", "Do."]
    assert package.find("pyptx", "m").node is None


def test_a_name_that_is_nowhere_is_refused(package):
    with pytest.raises(SourceError, match=r"pyptx\.m\.lost is nowhere defined"):
        package.find("pyptx.m", "lost")


@pytest.mark.parametrize(
    "text",
    [
        "f()",
        "f(a, /, b=1, *rest: int, c, d: str | None = None, **more: Any) -> tuple[int, ...]",
        'f(*, mode: str = "lo")',
    ],
)
def test_signatures_are_shown_as_they_are_written(text):
    (node,) = ast.parse(f"def {text}: ...").body
    assert signature(node, "f") == text


def test_a_method_is_shown_without_self():
    (node,) = ast.parse("def f(self, a: int, /) -> int: ...").body
    assert signature(node, "f", is_method=True) == "f(a: int, /) -> int"


def test_words_are_not_markup():
    assert prose("st.<space> and ``a*b``, :class:`Reg` * 2") == r"st.\<space> and `a*b`, `Reg` \* 2"


def test_the_committed_pages_are_current():
    old = stale(ROOT / "docs" / "api", render_pages(FOLDERS), "*.md")
    assert old == ["surfaces.md"]  # which test_surfaces.py compares
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for name in render_pages(FOLDERS):
        assert f"\napi/{name.removesuffix('.md')}\n" in index


def api_pages(*words: str, cwd: Path) -> subprocess.CompletedProcess:
    folders = {
        "package": "python", "table": "isa", "reference": "docs/isa", "headers": "include"
    }  # fmt: skip
    where = [word for name, path in folders.items() for word in (f"--{name}", str(ROOT / path))]
    return subprocess.run(
        [sys.executable, "-m", "apidocs", *where, *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "tools")},
    )


def test_the_pages_of_the_api_are_checked(tmp_path):
    assert api_pages("--out", "api", cwd=tmp_path).returncode == 0
    assert api_pages("--check", "api", cwd=tmp_path).returncode == 0
    (tmp_path / "api" / "reg.md").write_text("old", encoding="utf-8")
    (tmp_path / "api" / "gone.md").write_text("left over", encoding="utf-8")
    (tmp_path / "api" / "cpp" / "emu.md").unlink()
    refused = api_pages("--check", "api", cwd=tmp_path)
    assert refused.returncode == 1
    assert "out of date: cpp/emu.md, gone.md, reg.md" in refused.stderr


def test_every_function_of_the_pages_says_what_it_does():
    bare = re.compile(r"^(#+ `[^\n]*`)\n\n```python\n[^`]*```\s*(?=^#|\Z)", re.MULTILINE)
    for name, text in render_pages(FOLDERS).items():
        assert bare.findall(text) == [], name
    assert bare.findall("## `f`\n\n```python\nf()\n```\n\n## `g`\n") == ["## `f`"]


def test_every_public_name_has_a_section():
    import pyptx
    from pyptx import ptx, reg, smem, specs

    for module in (pyptx, reg, smem, specs, ptx):
        name = module.__name__.removeprefix("pyptx.")
        text = (ROOT / "docs" / "api" / f"{name}.md").read_text(encoding="utf-8")
        prefix = "ptx." if module is ptx else ""
        # Upper-case names of ptx are the types of what its functions give.
        names = [n for n in module.__all__ if module is not ptx or n.islower()]
        for public in names:
            assert public == "__version__" or f"## `{prefix}{public}`" in text, (name, public)
