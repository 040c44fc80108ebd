# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/results are what the records give, and a record that is none gives no page."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from results.__main__ import main
from results.pages import pages
from support.tree import ROOT


def arm(us: float, ours: float, **more: float) -> dict[str, float]:
    spread = {"us": us, "us_10%": us * 0.99, "us_90%": us * 1.02}
    return {**spread, "ours": ours, "ours_10%": ours - 0.01, "ours_90%": ours + 0.01, **more}


def row(kernel: str, variant: str, shape: list[int], peers: dict[str, float], **more: Any) -> Any:
    arms = {"pyptx": arm(100.0, 1.0, MHz=1530.0, W=690.0)}
    arms |= {name: arm(100.0 * ratio, ratio) for name, ratio in peers.items()}
    made = {
        "kernel": kernel, "variant": variant, "dtype": "bf16", "shape": shape, "mode": "sustained",
        "bytes": 4e8, "flops": None, "arms": arms, "absent": {},
    }  # fmt: skip
    made |= more
    return {"name": f"{kernel} {variant} {made['dtype']} {shape} {made['mode']}", **made}


def synthetic() -> dict[str, Any]:
    """Return a record of a machine that there is not."""
    linear = {"cuBLAS": 1.04, "Triton": 1.3}
    return {
        "format": 1,
        "device": {"name": "Example GPU", "driver": "1.2"},
        "versions": {"pyptx": "0.1.0", "torch": "9.9", "triton": None},
        "date": "2001-02-03",
        "quick": False,
        "seed": [1],
        "rows": [
            row("matmul", "plain", [64, 64, 64], linear, flops=7e10),
            row("matmul", "plain", [64, 64, 64], {"cuBLAS": 0.97}, flops=7e10, mode="burst"),
            row("matmul", "model", [32, 64, 64], {"cuBLAS": 1.2}, flops=7e10),
            row("matmul", "model", [1, 64, 64], {"cuBLAS": 0.96, "copy": 1.1}, flops=7e9),
            row("matmul", "TN", [64, 64, 64], {"cuBLAS": 1.01}, flops=7e10),
            row("softmax", "forward", [8, 2048], {"copy": 0.98, "torch": 2.5}),
            row("softmax", "forward", [8, 1024], {"copy": 0.99, "torch": 1.5, "Triton": 1.1}),
            row("softmax", "forward", [8, 1024], {"copy": 0.97}, dtype="f32"),
            row("rotary", "halves", [1, 2, 3, 4], {"copy": 0.95}),
        ],
        "failed": {},
        "left_out": ["swiglu forward"],
    }


@pytest.fixture
def folders(tmp_path: Path) -> Any:
    records, out = tmp_path / "records", tmp_path / "out"
    records.mkdir()

    def written(record: dict[str, Any], name: str = "example") -> tuple[Path, Path]:
        (records / f"{name}.json").write_text(json.dumps(record), encoding="utf-8")
        return records, out

    return written


def test_the_pages_here_are_those_of_the_records() -> None:
    assert main(["--check", str(ROOT / "docs/results")]) == 0


def test_a_page_has_every_row_and_says_how_it_was_measured(folders: Any) -> None:
    files = pages(folders(synthetic())[0])
    page = files["example.md"]
    assert "# The kernels on an Example GPU" in page
    assert "9 rows of 2001-02-03: driver 1.2, pyptx 0.1.0, torch 9.9." in page
    assert "No time was left for 1 cases: swiglu forward." in page
    headings = [line for line in page.splitlines() if line.startswith("## ")]
    assert headings == [
        "## Squares of bf16, sustained",
        "## Squares of bf16, burst",
        "## Linear layers of models, bf16, sustained",
        "## Other products, sustained",
        "## Rows of bf16 against a copy of the same bytes, sustained",
        "## Rows of f32 against a copy of the same bytes, sustained",
        "## Softmax, sustained",
        "## Rotary embedding, sustained",
    ]
    assert "Against cuBLAS, 2 rows: 1.073 in the geometric mean, 0.960 at least (1 x 64" in page
    assert (
        "| 64 | 100.0 (99.0 .. 102.0) | 700 | 4.00 | **1.040** (1.030 .. 1.050) "
        "| **1.300** (1.290 .. 1.310) | 1530 | 690 |" in page
    )
    assert "| 8 x 2048 | 100.0 (99.0 .. 102.0) | 4.00 | **0.980** (0.970 .. 0.990) |" in page
    assert "| columns | 1,024 | 2,048 |" in page
    assert "| Softmax, forward | 0.99 | 0.98 |" in page
    assert page.index("| 8 x 1024 |") < page.index("| 8 x 2048 |")
    assert "[Example GPU](example.md), 2001-02-03" in files["README.md"]


def test_a_page_of_several_days_with_counters(folders: Any) -> None:
    record = synthetic()
    for each in record["rows"][:2]:
        each["date"] = "2001-02-05"
    record["counters"] = [{"of": "softmax, pyptx", "us": "1.5"}, {"of": "softmax, copy", "us": "-"}]
    page = pages(folders(record)[0])["example.md"]
    assert "2 rows of 2001-02-05, 7 rows of 2001-02-03: driver 1.2" in page
    assert "## What bounds them" in page
    assert "| of | us |\n|---|---:|\n| softmax, pyptx | 1.5 |\n| softmax, copy | - |" in page


def test_a_page_shows_the_pictures_that_are_written(folders: Any) -> None:
    files = pages(folders(synthetic())[0])
    pictures = [name for name in files if name.endswith(".svg")]
    # One row is no sweep: f32 has no picture.
    assert pictures == ["example_matmul_models.svg", "example_softmax_forward_bf16.svg"]
    for name in pictures:
        assert f"]({name})" in files["example.md"]
        assert "sustained" in ElementTree.fromstring(files[name])[0].text
    names = {"pyptx", "copy", "torch", "Triton"}
    texts = {each.text for each in ElementTree.fromstring(files[pictures[1]])}
    assert names | {"1,024", "2,048", "TB/s by columns"} <= texts


def test_a_page_that_was_edited_is_found(folders: Any, capsys: Any) -> None:
    records, out = folders(synthetic())
    assert main(["--records", str(records), "--out", str(out)]) == 0
    check = ["--records", str(records), "--check", str(out)]
    assert main(check) == 0
    page = out / "example.md"
    page.write_text(page.read_text(encoding="utf-8").replace("1.040", "1.140"), encoding="utf-8")
    assert main(check) == 1
    assert "run `make results`: example.md" in capsys.readouterr().err
    (out / "left_over.svg").write_text("", encoding="utf-8")
    assert main(["--records", str(records), "--out", str(out)]) == 0
    assert main(check) == 0


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"format": 2}, "has format 2, not 1"),
        ({"quick": True}, "no results"),
        ({"device": {"name": "emulator", "driver": None}}, "no results"),
        ({"failed": {"softmax": "wrong"}}, "has failures: softmax"),
        ({"rows": []}, "has no rows"),
    ],
)
def test_what_is_no_result_gives_no_page(
    folders: Any, changed: dict[str, Any], why: str, capsys: Any
) -> None:
    records, out = folders({**synthetic(), **changed})
    assert main(["--records", str(records), "--out", str(out)]) == 1
    assert why in capsys.readouterr().err
    assert not out.exists()


def test_what_is_no_json_gives_no_page(folders: Any, capsys: Any) -> None:
    records, out = folders(synthetic())
    (records / "bad.json").write_text("{", encoding="utf-8")
    assert main(["--records", str(records), "--out", str(out)]) == 1
    assert "bad.json is no record" in capsys.readouterr().err
