# SPDX-License-Identifier: Apache-2.0
"""How long the page of a long kernel takes: made, opened in a browser, linked.

    PYTHONPATH=tools:tests python bench/view.py [--instructions 50000]

Opening is from the browser's start of navigation until the panes are there; linking is a click on a
line until everything that it is linked to is marked and laid out, the median of 20 lines spread
over each pane. Goals for 50,000 instructions: 2 s and 100 ms.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from browser import Browser
from support.viewed_kernels import build_long

_LINK = """
(() => {
  const times = [];
  for (let i = 0; i < 20; i++) {
    const row = Math.floor(((i * 7 % 20) + 0.5) / 20 * panes[PANE].count);
    const start = performance.now();
    pin(PANE, row);
    document.body.getBoundingClientRect();
    times.push(performance.now() - start);
  }
  return times;
})()
"""


def main() -> None:
    """Make the page, open it, link its lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instructions", type=int, default=50_000)
    count = parser.parse_args().instructions
    kernel = build_long(count // 2)
    start = time.perf_counter()
    view = kernel.view()
    size = len(view.html.encode())
    made = time.perf_counter() - start
    machine = sum(address >= 0 for address in view.data["sass"]["address"])
    print(
        f"{count} instructions of PTX, {machine} of SASS: made in {made:.2f} s, {size / 1e6:.1f} MB"
    )
    with Browser() as browser, tempfile.TemporaryDirectory() as folder:
        path = view.save(Path(folder) / "page.html")
        opened = []
        for _ in range(5):
            page = browser.page()
            page.open(path)
            page.wait_for("document.documentElement.dataset.readyMs !== undefined")
            opened.append(float(page.js("document.documentElement.dataset.readyMs")))
        print(f"opened in {statistics.median(opened):.0f} ms (goal 2000), of {sorted(opened)}")
        for pane in ("source", "ptx", "sass"):
            times = page.js(_LINK.replace("PANE", repr(pane)))
            middle, most = statistics.median(times), max(times)
            print(f"{pane:6} linked in {middle:.1f} ms, at most {most:.1f} (goal 100)")


if __name__ == "__main__":
    main()
