# SPDX-License-Identifier: Apache-2.0
"""What an author waits for, counted in work and not in seconds: parses, calls, processes."""

from __future__ import annotations

import ast
import importlib.util
import json
import linecache
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pyptx._kept import Kept
from pyptx._source import index, places

if TYPE_CHECKING:
    from pyptx.kernel import Kernel

ONES = np.ones(32, dtype=np.float32)
HEAD = """\
from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32


@kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(32, f32),), grid=(1, 1, 1), block=(32, 1, 1))
def k(X, Y, *, turns=4):
    total = reg.scalar(f32, init=0.0)
"""
BLOCK = """\
    with ptx.range_(0, turns):
        ptx.inst.add.f32(total, total, total)
"""


def build(folder: Path, blocks: int) -> Kernel:
    """Write a kernel of so many blocks to a file and import it."""
    path = folder / f"blocks_{blocks}.py"
    path.write_text(HEAD + blocks * BLOCK + "    ptx.ret()\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: Kernel = module.k
    return made


def code_of(file: str) -> CodeType:
    """Return code of a text of that name."""
    return compile("", file, "exec")


@pytest.fixture
def parses(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Texts that were parsed, with none known from before."""
    seen: list[str] = []
    parse = ast.parse

    def counted(text: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append(text)
        return parse(text, *args, **kwargs)

    monkeypatch.setattr(ast, "parse", counted)
    monkeypatch.setattr(index, "_kept", Kept(index.MOST_KEPT))
    return seen


def calls_of(step: Callable[[], Any]) -> int:
    """How many Python functions a step enters, on this thread."""
    count = 0

    def seen(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(seen)
    try:
        step()
    finally:
        sys.setprofile(None)
    return count


# --- watched runs -----------------------------------------------------------------------------


def test_a_watched_run_reads_no_source(
    tmp_path: Path, parses: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    k = build(tmp_path, 30)
    monkeypatch.setattr(places, "place", lambda *given: pytest.fail("a place was looked up"))
    _, report = k.emulate(ONES, report=True, trace=tmp_path / "trace.json")
    assert parses == []
    source = (tmp_path / "blocks_30.py").read_text().splitlines()
    blocks = [i for i, line in enumerate(source, 1) if "range_" in line]
    lines = {row.line: row for row in report.lines}
    assert {lines[line + 1].executed for line in blocks} == {4}
    assert all(lines[line].executed > 4 for line in blocks)
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    named = {event["args"]["line"] for event in events if event.get("cat") == "instruction"}
    assert named == {f"{tmp_path}/blocks_30.py:{line}" for line, row in lines.items()}


def test_a_trace_calls_no_python_for_what_it_records(tmp_path: Path) -> None:
    k = build(tmp_path, 3)
    path = tmp_path / "trace.json"
    events, calls = [], []
    given = {"out": np.zeros_like(ONES)}  # of new outputs there is a word about what is not written
    k.emulate(ONES, trace=path, **given)  # what is done once is done
    for turns in (50, 100, 200):
        k.emulate(ONES, turns=turns, **given)
        calls.append(calls_of(lambda n=turns: k.emulate(ONES, turns=n, trace=path, **given)))
        events.append(len(path.read_bytes().splitlines()))
    assert calls[0] == calls[1] == calls[2]
    assert events[2] - events[1] == 2 * (events[1] - events[0]) > 0


def test_a_report_takes_calls_by_its_rows(tmp_path: Path) -> None:
    rows, calls = [], []
    for blocks in (20, 40, 80):
        k = build(tmp_path, blocks)
        k.emulate(ONES)
        reports: list[Any] = []
        count = calls_of(lambda k=k, to=reports: to.append(k.emulate(ONES, report=True)[1]))
        rows.append(len(reports[0].instructions) + len(reports[0].lines))
        calls.append(count)
    assert (calls[2] - calls[1]) / (rows[2] - rows[1]) <= 3
    assert calls[2] - calls[1] <= 2.1 * (calls[1] - calls[0])


def test_code_that_takes_the_place_of_other_code_has_its_own_lines() -> None:
    for number in range(100):  # each is gone before the next, which may get its address
        names: dict[str, Any] = {}
        text = number * "\n" + HEAD + BLOCK + (number % 7) * BLOCK + "    ptx.ret()\n"
        exec(compile(text, f"<text {number}>", "exec"), names)
        rows = names["k"].source_map()
        end = text.count("\n")
        assert (rows[-1].file, rows[-1].line, rows[-1].column) == (f"<text {number}>", end, 5)


@pytest.mark.parametrize("columns", [True, False])
def test_lines_are_found_without_columns(tmp_path: Path, columns: bool) -> None:
    build(tmp_path, 2)  # writes the file
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy, blocks_2\n"
        "report = blocks_2.k.emulate(numpy.ones(32, numpy.float32), report=True)[1]\n"
        "print(*sorted({row.line for row in report.lines}))\n"
        "print(*sorted({row.column for row in blocks_2.k.source_map()}))\n"
    )
    options = [] if columns else ["-X", "no_debug_ranges"]
    path = os.pathsep.join([str(tmp_path), *sys.path])
    command = [sys.executable, *options, str(program)]
    # Without files of bytecode, which would have columns from before.
    env = {**os.environ, "PYTHONPATH": path, "PYTHONPYCACHEPREFIX": str(tmp_path / str(columns))}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
    assert done.stdout.splitlines() == ["7 8 9 10 11 12", "5 9 13" if columns else "0"]


# --- places of errors -------------------------------------------------------------------------


def spans_of(text: str) -> list[tuple[int, int, int, int]]:
    """Where each `with` stands."""
    found = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.With)]
    return [(n.lineno, n.col_offset, n.end_lineno or 0, n.end_col_offset or 0) for n in found]


def test_a_file_is_parsed_once_for_all_of_its_places(tmp_path: Path, parses: list[str]) -> None:
    path = tmp_path / "blocks.py"
    path.write_text(HEAD + 40 * BLOCK)
    spans = spans_of(path.read_text())
    parses.clear()
    for span in spans:
        found = places.place(code_of(str(path)), span, False, "whole", 0)
        assert found == (str(path), span[0], 10, span[0], 30, "    with ptx.range_(0, turns):")
    assert len(parses) == 1
    argument = places.place(code_of(str(path)), spans[0], False, "argument", 0xFFFF, "stop")
    assert argument[2:5] == (24, spans[0][0], 29)
    assert parses.count(path.read_text()) == 1


def test_an_edited_file_is_read_again(tmp_path: Path, parses: list[str]) -> None:
    path = tmp_path / "edited.py"
    for name in ("first", "another_one"):
        path.write_text(f"with {name}(0):\n    pass\n")
        found = places.place(code_of(str(path)), (1, 0, 2, 8), False, "whole", 0)
        assert found == (str(path), 1, 6, 1, 6 + len(name) + 3, f"with {name}(0):")
    assert len(parses) == 2


def test_texts_of_one_name_are_told_apart(
    parses: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["with a(0):\n    x\n", "with bcd(0):\n   xy\n"]
    for text in (*texts, texts[0], texts[0]):
        entry = (len(text), None, text.splitlines(keepends=True), "<stdin>")
        monkeypatch.setitem(linecache.cache, "<stdin>", entry)
        found = places.place(code_of("<stdin>"), (1, 0, 2, 5), False, "whole", 0)
        assert found[2:] == (6, 1, text.index(":") + 1, text.splitlines()[0])
    assert len(parses) == 3  # the last two are one text, in lists of their own


def test_what_cannot_be_parsed_keeps_its_place(tmp_path: Path, parses: list[str]) -> None:
    path = tmp_path / "broken.py"
    path.write_text("with a(0:\n    x\n")
    for _ in range(3):
        assert places.place(code_of(str(path)), (1, 0, 2, 5), False, "whole", 0)[1:5] == (
            1,
            1,
            2,
            6,
        )
    assert len(parses) == 1
    assert places.place(code_of("<gone>"), (3, -1, 0, -1), False, "whole", 0) == (
        "<gone>",
        3,
        0,
        3,
        0,
        "",
    )


def test_trees_of_few_files_are_kept(tmp_path: Path, parses: list[str]) -> None:
    for number in range(3 * index.MOST_KEPT):
        path = tmp_path / f"file_{number}.py"
        path.write_text(f"with a({number}):\n    x\n")
        places.place(code_of(str(path)), (1, 0, 2, 5), False, "whole", 0)
    assert len(index._kept) == index.MOST_KEPT


def test_places_are_found_from_many_threads(tmp_path: Path, parses: list[str]) -> None:
    paths = [tmp_path / f"file_{number}.py" for number in range(2 * index.MOST_KEPT)]
    for number, path in enumerate(paths):
        path.write_text(f"with a({10**number}):\n    x\n")
    wrong: list[Any] = []

    def look(first: int) -> None:
        for turn in range(60):
            number = (first + turn) % len(paths)
            found = places.place(str(paths[number]), (1, 0, 2, 5), False, "whole", 0)
            if found[2:5] != (6, 1, 10 + number):
                wrong.append(found)

    threads = [threading.Thread(target=look, args=(first,)) for first in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(index._kept) <= index.MOST_KEPT
