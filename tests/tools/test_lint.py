# SPDX-License-Identifier: Apache-2.0
"""The lints refuse what they are there to refuse."""

from pathlib import Path

import pytest

import handlers
import layers
import named
import sizes
import tidy
import words
from isagen.model import load
from support.tree import ROOT

CMAKE = """
pyptx_layer(support)
pyptx_layer(diag DEPS support)
pyptx_layer(isa DEPS diag)
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    for folder in ("src/support", "src/diag", "src/isa", "include/pyptx/isa"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def test_layers_may_use_what_lies_below(tree: Path):
    (tree / "src/isa/a.cpp").write_text('#include "pyptx/support/x.h"\n#include "pyptx/isa/y.h"\n')
    assert layers.violations(tree) == []


@pytest.mark.parametrize(
    ("place", "used"), [("src/support/a.cpp", "diag"), ("src/diag/a.h", "isa")]
)
def test_layers_refuse_an_include_that_points_up(tree: Path, place: str, used: str):
    (tree / place).write_text(f'// first line\n#include "pyptx/{used}/x.h"\n')
    layer = place.split("/")[1]
    assert layers.violations(tree) == [f"{place}:2: {layer} may not use {used}"]


def test_layers_of_this_tree_are_read():
    cmake = (layers.ROOT / "CMakeLists.txt").read_text()
    found = layers.read_layers(cmake)
    assert "build" not in layers.closure(found, "verify")
    assert {"ir", "isa", "diag", "support"} <= layers.closure(found, "syntax")
    assert layers.closure(found, "driver").isdisjoint({"ir", "emu"})


def test_sizes_refuse_a_long_file(tmp_path: Path):
    (tmp_path / "long.cpp").write_text("x\n" * (sizes.LIMIT + 1))
    (tmp_path / "short.cpp").write_text("x\n" * sizes.LIMIT)
    (tmp_path / "data.json").write_text("x\n" * 9999)
    names = ["long.cpp", "short.cpp", "data.json"]
    assert [p.split(":")[0] for p in sizes.too_long(tmp_path, names)] == ["long.cpp"]


def test_words_refuse_open_ends_paths_and_missing_licences():
    licence = f"// {words.SPDX}\n"
    assert words.problems_of("a.cpp", licence + "int x;\n") == []
    assert words.problems_of("a.cpp", "int x;\n") == [f"a.cpp:1: no licence line ({words.SPDX})"]
    open_end = words.problems_of("a.cpp", licence + "// TO" + "DO: later\n")
    assert open_end == ["a.cpp:2: an open end: finish it or file it"]
    path = words.problems_of("a.cpp", licence + 'f("/ho' + 'me/me/x");\n')
    assert path == ["a.cpp:2: a path of one machine"]


def test_named_refuses_what_is_not_there(tmp_path: Path):
    (tmp_path / "src/emu").mkdir(parents=True)
    (tmp_path / "src/emu/grid.cpp").write_text("void run() {}\n")
    (tmp_path / "include/pyptx/isa").mkdir(parents=True)
    (tmp_path / "include/pyptx/isa/type.h").write_text("\n")

    def judged(text: str) -> list[str]:
        names = ["src/emu/grid.cpp", "include/pyptx/isa/type.h", "isa/x.toml"]
        return named.problems_of(tmp_path, names, "docs/a.md", text)

    right = "`src/emu/grid.cpp:run` `src/emu/{grid,grid}.cpp` `src/*/NAME.cpp` `isa/type.h` `b/c.h`"
    assert judged(f"a\n{right}\n`grid.cpp:run`\n") == []
    assert judged("\n`src/emu/gird.cpp`") == ["docs/a.md:2: there is no src/emu/gird.cpp"]
    assert judged("`src/emu/{grid,a}.cpp`") == ["docs/a.md:1: there is no src/emu/a.cpp"]
    assert judged("`src/emu/grid.cpp:ru`") == ["docs/a.md:1: src/emu/grid.cpp has no ru"]
    assert judged("in `gird.cpp`") == ["docs/a.md:1: there is no gird.cpp"]


RULE = """
| folder | chapters of the PTX manual | semantics of other chapters |
|---|---|---|
| `arithmetic` | Integer Arithmetic, Logic and Shift | of lanes alone: `mov` |
| `memory` | Data Movement and Conversion | |
"""


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"arithmetic/a.cpp": "sad mov", "memory/b.cpp": "ld"}, ""),
        ({"arithmetic/a.cpp": "sad mov"}, "select_ld(Lowering&) belongs in src/emu/sem/memory"),
        ({"arithmetic/a.cpp": "sad", "memory/b.cpp": "ld mov"}, "is memory"),
        ({"arithmetic/a.cpp": "sad mov ld"}, "is arithmetic"),
        ({"arithmetic/a.cpp": "sad mov", "memory/b.cpp": "sad ld"}, "is arithmetic, memory"),
        (
            {"arithmetic/a.cpp": "sad mov", "memory/b.cpp": "ld st"},
            "select_st: no row has that sem",
        ),
    ],
)
def test_handlers_are_where_the_rule_has_them(tmp_path: Path, files: dict[str, str], problem: str):
    folder = tmp_path / handlers.FOLDER
    folder.mkdir(parents=True)
    (folder / "README.md").write_text(RULE)
    for name, sems in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        lines = [f"Handler select_{sem}(Lowering& low) {{}}\n" for sem in sems.split()]
        (folder / name).write_text("".join(lines))
    known = load(ROOT / "isa").forms
    forms = [next(form for form in known if form.sem == sem) for sem in ("sad", "mov", "ld")]
    found = list(handlers.problems(tmp_path, forms))
    assert len(found) == bool(problem)
    assert problem in "".join(found)


def test_handlers_need_a_folder_for_the_chapter(tmp_path: Path):
    (tmp_path / handlers.FOLDER).mkdir(parents=True)
    (tmp_path / handlers.FOLDER / "README.md").write_text("")
    form = next(form for form in load(ROOT / "isa").forms if form.sem == "sad")
    assert "has no folder for 'integer-arithmetic" in "".join(handlers.problems(tmp_path, [form]))


def test_handlers_of_this_tree():
    assert handlers.main() == 0


def test_tidy_depends_on_the_headers_of_the_project_only(tmp_path, monkeypatch):
    monkeypatch.setattr(tidy, "ROOT", tmp_path)
    for name, text in {
        "src/a/a.cpp": '#include <string>\n#include "near.h"\n  # include "pyptx/far.h"\n',
        "src/a/near.h": '// #include "comment.h"\n#include "part.inc"\n',
        "src/a/part.inc": '#include "near.h"\n',
        "src/a/comment.h": "",
        "include/pyptx/far.h": '#include "other.h"\n#include "near.h"\n',
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    command = (
        f"c++ -I{tmp_path}/src/a -I{tmp_path}/include -I/usr/include -c {tmp_path}/src/a/a.cpp"
    )
    folders = tidy.folders_of(command)
    assert folders == [tmp_path / "src/a", tmp_path / "include"]
    found = [
        str(path.relative_to(tmp_path)) for path in tidy.files_of(tmp_path / "src/a/a.cpp", folders)
    ]
    assert found == ["include/pyptx/far.h", "src/a/a.cpp", "src/a/near.h", "src/a/part.inc"]


def test_tidy_digests_see_order_and_boundaries():
    assert tidy.digest_of([b"ab", b"c"]) != tidy.digest_of([b"a", b"bc"])
    assert tidy.digest_of([b"a", b"b"]) != tidy.digest_of([b"b", b"a"])
