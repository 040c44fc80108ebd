# SPDX-License-Identifier: Apache-2.0
"""docs/api/surfaces.md: each name of Python is something in C++, or there is a reason why not."""

import pytest

from apidocs.cpp_pages import read_reference
from apidocs.sources import Package
from apidocs.surfaces import REASONS, SurfaceError, compare, render_surfaces
from support.tree import ROOT

TABLE = ROOT / "isa"


@pytest.fixture(scope="module")
def reference():
    return read_reference(ROOT / "include")


@pytest.fixture(scope="module")
def package():
    return Package(ROOT / "python")


@pytest.fixture(scope="module")
def surfaces(package, reference):
    return compare(package, reference, TABLE)


def test_no_name_of_python_lacks_a_counterpart_and_a_reason(surfaces):
    assert surfaces.gaps == []
    assert surfaces.idle == []


def test_the_committed_page_is_current(surfaces, reference):
    text = (ROOT / "docs/api/surfaces.md").read_text(encoding="utf-8")
    assert text == render_surfaces(surfaces, reference)
    assert "\napi/surfaces\n" in (ROOT / "docs/index.md").read_text(encoding="utf-8")


def test_the_author_s_vocabulary_has_no_reason_to_lack_anything(surfaces):
    """`ptx`, `reg` and `smem` are the same language; what Python alone needs is named here."""
    lacking = {
        row.python
        for name in ("ptx", "reg", "smem", "types", "wgmma_layout", "parser", "emitter", "cache")
        for row in surfaces.rows[name]
        if not row.cpp
    }
    assert lacking == {"ptx.expr", "ptx.Expression"}


def changed(tmp_path, old, new):
    text = REASONS.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "surfaces.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


def test_a_counterpart_that_is_none_is_refused(package, reference, tmp_path):
    path = changed(tmp_path, '= "ptx::range"', '= "ptx::rangg"')
    with pytest.raises(SurfaceError, match=r"ptx.range_ is ptx::rangg, which C\+\+ has not"):
        compare(package, reference, TABLE, path)


@pytest.mark.parametrize(
    ("old", "new", "idle"),
    [
        ('"ptx.range_" =', '"ptx.rangg_" =', "ptx.rangg_"),
        ('"bench.*"', '"bench.*", "bensch.*"', "bensch.*"),
        ('"bench.*"', '"bench.*", "ptx.ret"', "ptx.ret"),
    ],
)
def test_a_row_that_nobody_needs_is_named(package, reference, tmp_path, old, new, idle):
    assert idle in compare(package, reference, TABLE, changed(tmp_path, old, new)).idle


def test_a_row_that_goes_is_a_gap(package, reference, tmp_path):
    text = REASONS.read_text(encoding="utf-8").replace('"bench.*", ', "")
    kept = [row for row in text.splitlines() if not row.startswith('"ptx.range_"')]
    path = tmp_path / "surfaces.toml"
    path.write_text("\n".join(kept), encoding="utf-8")
    found = compare(package, reference, TABLE, path)
    assert "ptx.range_" in found.gaps
    assert "bench.compare" in found.gaps
    assert "| `ptx.range_` | **missing** |" in render_surfaces(found, reference)
