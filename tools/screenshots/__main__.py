# SPDX-License-Identifier: Apache-2.0
"""Shows kernels of the examples in a browser, as a reader would, and takes pictures.

The pages are made here and now, from runs on the emulator with inputs that are always the same.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from browser import Browser, Page
from pyptx._view.diff import view_of_two
from pyptx._view.view import View
from record.examples import example

SIZE = (1500, 940)


def _tensor(random: np.random.Generator, *shape: int) -> Any:
    import torch

    return torch.from_numpy(random.standard_normal(shape).astype(np.float32)).to(torch.bfloat16)


def gemm() -> View:
    """C = A @ B^T over two CTAs and six tiles of K."""
    random = np.random.default_rng(1)
    view: View = (
        example("hopper/gemm")
        .build_gemm()
        .view(_tensor(random, 128, 384), _tensor(random, 256, 384))
    )
    return view


def attention() -> View:
    """Flash attention of one head, causal, over four tiles of keys."""
    random = np.random.default_rng(2)
    q, k, v = (_tensor(random, 1, 512, 128) for _ in range(3))
    view: View = example("hopper/attention").build_attention().view(q, k, v)
    return view


def targets() -> View:
    """Compare a norm for Ampere and for Hopper."""
    build = example("hopper/rms_norm").build_rms_norm
    sides = [build(1, 1024, arch=arch).view().data for arch in ("sm_80", "sm_90a")]
    return view_of_two(sides[0], sides[1], ["rms_norm for sm_80", "rms_norm for sm_90a"])


def shoot(page: Page, path: Path, steps: list[str]) -> None:
    """Take a picture after these steps, and hold the page to its silence."""
    for step in steps:
        page.js(step)
        page.settle()
    page.screenshot(path)
    if found := page.errors():
        raise SystemExit(f"{path.name}: the page wrote {found}")
    print(f"{path}: {path.stat().st_size} bytes")


def line_of(view: View, pane: str, text: str, number: int = 0) -> int:
    """Return the row of a pane with this text."""
    rows = [row for row, line in enumerate(view.data[pane]["lines"]) if text in line]
    return rows[number]


def main() -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    with Browser() as browser, tempfile.TemporaryDirectory() as folder:

        def show(view: View, scheme: str, size: tuple[int, int] = SIZE) -> Page:
            page = browser.page(*size)
            page.prefer(scheme)
            page.open(view.save(Path(folder) / "page.html"))
            page.settle()
            return page

        view = gemm()
        pinned = line_of(view, "ptx", "wgmma.mma_async")
        page = show(view, "light")
        shoot(page, out / "gemm.png", [f"pin('ptx', {pinned}, {{centred: true}})"])
        shoot(
            page,
            out / "gemm_timeline.png",
            [
                "openTab('time')",
                "timeline.scroll.scrollTop = timeline.lanes.find(one => one.track.barrier).y - 90",
            ],
        )
        view = attention()
        pinned = line_of(view, "source", "ex2")
        page = show(view, "dark")
        steps = ["openTab('time')", "timeline.set(0, timeline.timeline.end / 2)"]
        shoot(page, out / "attention.png", [f"pin('source', {pinned}, {{centred: true}})", *steps])
        shoot(show(targets(), "light", (1500, 700)), out / "diff.png", [])


if __name__ == "__main__":
    main()
