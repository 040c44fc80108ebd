# SPDX-License-Identifier: Apache-2.0
"""The guide is real: its snippets run in order, and print what stands beside them.

A page's ```python blocks are one program, saved under the page's name, so that shown line numbers
are those of a reader's file. A ```text block is what the ```python block before it prints. In a
```console block each `$ pyptx` line is run. `...` in an expected text stands for anything. A block
that begins with `# needs a GPU` runs only where there is one, and what is about machine code only
where NVIDIA's tools are those of requirements-dev.txt. A page that asks for virtual devices runs in
a process of its own, since JAX makes its devices once.
"""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from pyptx import _core, _toolchain

ROOT = Path(__file__).resolve().parent.parent
GUIDE = sorted((ROOT / "docs" / "guide").glob("*.md"))
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NEEDS_GPU = "# needs a GPU\n"
VIRTUAL_DEVICES = "xla_force_host_platform_device_count"
COMMANDS = [page for page in GUIDE if "```console\n" in page.read_text(encoding="utf-8")]
MACHINE_CODE = re.compile(r"\b(report\b(?!=)|sass|cubin)")


class Block(NamedTuple):
    """A fenced block and the line of its page."""

    language: str
    text: str
    line: int


def blocks_of(text: str) -> list[Block]:
    """Every fenced block of a page, in order."""
    return [
        Block(found[1], found[2], text.count("\n", 0, found.start()) + 1)
        for found in FENCE.finditer(text)
    ]


def matches(shown: str, printed: str) -> bool:
    """Whether `printed` is `shown`, where `...` stands for anything."""
    parts = [re.escape(part) for part in shown.strip().split("...")]
    return re.fullmatch(".*".join(parts), printed.strip(), re.DOTALL) is not None


def run_page(name: str, text: str, folder: Path, *, on_gpu: bool) -> list[str]:
    """Run a page's program in `folder`; what it prints that the page does not say."""
    path = folder / f"{name}.py"
    scope: dict = {"__name__": "__main__", "__file__": str(path)}
    blocks = blocks_of(text)
    # Whole before the first block runs, as a reader's is: errors quote its lines.
    program = "\n\n".join(block.text for block in blocks if block.language == "python")
    path.write_text(program, encoding="utf-8")
    problems, first_line, printed = [], 1, None
    for block in blocks:
        if block.language == "python":
            code = "\n" * (first_line - 1) + block.text
            first_line += block.text.count("\n") + 2
            if is_skipped(block.text, on_gpu=on_gpu):
                printed = None
                continue
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(code, str(path), "exec"), scope)
            printed = out.getvalue()
        elif block.language == "text" and printed is not None:
            if not matches(block.text, printed):
                problems.append(f"{name}.md:{block.line}: the snippet prints\n{printed}")
            printed = None
    return problems


def is_skipped(code: str, *, on_gpu: bool) -> bool:
    """Whether this machine lacks what a block needs."""
    if code.startswith(NEEDS_GPU) and not on_gpu:
        return True
    return MACHINE_CODE.search(code) is not None and not has_pinned_tools()


def has_pinned_tools() -> bool:
    """Whether machine code here looks as it does with the pinned wheels."""
    _toolchain.announce_folders()
    tools = [_toolchain.find_tool(name) for name in ("nvdisasm", "cuobjdump")]
    if None in tools or _toolchain.missing_assembler() is not None:
        return False
    name, _ = _core.find_compiler()
    return name.startswith("nvJitLink 13.")


def has_gpu() -> bool:
    torch = pytest.importorskip("torch")
    return torch.cuda.is_available()


@pytest.fixture
def quiet(monkeypatch):
    """The settings a reader begins with."""
    for name in ("PYPTX_LINEINFO", "PYPTX_CACHE"):
        monkeypatch.delenv(name, raising=False)


def run_page_apart(page: Path, folder: Path) -> list[str]:
    """Run a page in a process of its own, on the CPU platform."""
    code = (
        "import json, pathlib, sys, test_docs\n"
        "page, folder = map(pathlib.Path, sys.argv[1:])\n"
        "text = page.read_text(encoding='utf-8')\n"
        "print(json.dumps(test_docs.run_page(page.stem, text, folder, on_gpu=False)))"
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
    pytest.importorskip("jax")
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
    """Those are built and run by test_cpp_examples.py."""
    sources = [path.read_text() for path in (ROOT / "examples" / "cpp").glob("*.[ch]*")]
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
