# SPDX-License-Identifier: Apache-2.0
"""The guide is real: its snippets run in order, and print what stands beside them.

A page's ```python blocks are one program, saved under the page's name, so that shown line numbers
are those of a reader's file. A ```text block is what the ```python block before it prints. In a
```console block each `$ pyptx` line is run. `...` in an expected text stands for anything. A block
that begins with `# needs a GPU` runs only where there is one, and what is about machine code only
where NVIDIA's tools are those of requirements-dev.txt. A page that asks for virtual devices runs in
a process of its own, since JAX makes its devices once.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.guide import (
    GUIDE,
    NEEDS_GPU,
    ROOT,
    blocks_of,
    has_pinned_tools,
    is_skipped,
    matches,
    run_page,
)
from support.packages import need

VIRTUAL_DEVICES = "xla_force_host_platform_device_count"
COMMANDS = [page for page in GUIDE if "```console\n" in page.read_text(encoding="utf-8")]


def has_gpu() -> bool:
    torch = need("torch")
    return torch.cuda.is_available()


@pytest.fixture
def quiet(monkeypatch, tmp_path):
    """The settings a reader begins with, in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    for name in ("PYPTX_LINEINFO", "PYPTX_CACHE"):
        monkeypatch.delenv(name, raising=False)


def run_page_apart(page: Path, folder: Path) -> list[str]:
    """Run a page in a process of its own, on the CPU platform."""
    code = (
        "import json, pathlib, sys\n"
        "from support import guide\n"
        "page, folder = map(pathlib.Path, sys.argv[1:])\n"
        "text = page.read_text(encoding='utf-8')\n"
        "print(json.dumps(guide.run_page(page.stem, text, folder, on_gpu=False)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(page), str(folder)],
        capture_output=True,
        text=True,
        env=os.environ
        | {
            "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), *filter(None, sys.path)]),
            "JAX_PLATFORMS": "cpu",
        },
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("page", GUIDE, ids=lambda page: page.stem)
def test_snippets_print_what_the_page_says(page, tmp_path, quiet):
    need("jax")
    has_gpu()
    text = page.read_text(encoding="utf-8")
    if VIRTUAL_DEVICES in text:
        assert "".join(run_page_apart(page, tmp_path)) == ""
        return
    assert "".join(run_page(page.stem, text, tmp_path, on_gpu=False)) == ""


@pytest.mark.parametrize("page", GUIDE, ids=lambda page: page.stem)
def test_snippets_for_a_gpu(page, tmp_path, quiet):
    if not has_gpu():
        pytest.skip("the page's marked snippets need a GPU")
    text = page.read_text(encoding="utf-8")
    if VIRTUAL_DEVICES in text:
        pytest.skip("the page makes its own devices")
    assert "".join(run_page(page.stem, text, tmp_path, on_gpu=True)) == ""


def test_snippets_in_cpp_are_parts_of_the_examples():
    """Those are built and run by test_cpp_examples.py and test_cpp_course.py."""
    sources = [path.read_text() for path in (ROOT / "examples" / "cpp").rglob("*.[ch]*")]
    found = [
        (page, block)
        for page in GUIDE
        for block in blocks_of(page.read_text(encoding="utf-8"))
        if block.language == "cpp"
    ]
    assert found
    for page, block in found:
        where = f"{page.name}:{block.line}"
        assert any(block.text in source for source in sources), f"{where} is in no example"


@pytest.mark.parametrize("page", COMMANDS, ids=lambda page: page.stem)
def test_commands_print_what_the_page_says(page):
    found = [b for b in blocks_of(page.read_text(encoding="utf-8")) if b.language == "console"]
    assert found
    for block in found:
        for line, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
            program, *words = line.split()
            assert program == "pyptx", f"{page.name}:{block.line}: only pyptx is run here"
            done = subprocess.run(
                [sys.executable, "-m", "pyptx", *words],
                capture_output=True,
                text=True,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            )
            assert matches(shown, done.stdout + done.stderr), f"{page.name}:{block.line}"


def test_every_printing_block_says_what_it_prints():
    for page in GUIDE:
        blocks = blocks_of(page.read_text(encoding="utf-8"))
        for block, after in zip(blocks, [*blocks[1:], None], strict=True):
            if block.language == "python" and "print(" in block.text:
                assert after is not None, f"{page.name}:{block.line}"
                assert after.language == "text", f"{page.name}:{block.line}"


def test_what_this_machine_skips_is_said():
    if not has_pinned_tools():
        pytest.skip("what the pages show of machine code needs the wheels of requirements-dev.txt")
    assert not is_skipped("print(k.sass())\n", on_gpu=False)
    assert is_skipped(NEEDS_GPU + "k(x.cuda())\n", on_gpu=False)
    assert not is_skipped(NEEDS_GPU + "k(x.cuda())\n", on_gpu=True)


def test_what_a_page_says_wrong_is_found(tmp_path):
    page = "```python\nprint(1 + 1)\n```\n\n```text\n{}\n```\n"
    assert run_page("sum", page.format("2"), tmp_path, on_gpu=False) == []
    assert run_page("sum", page.format("..."), tmp_path, on_gpu=False) == []
    (problem,) = run_page("sum", page.format("3"), tmp_path, on_gpu=False)
    assert problem.startswith("sum.md:5:")
