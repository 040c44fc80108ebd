# SPDX-License-Identifier: Apache-2.0
"""`pyptx.tune` on the library's matrix product, against timing every configuration in full.

    python bench/tune.py [--sizes 4096x4096x4096 128x8192x8192] [--json FILE]

For each size: tune without a model and with the library's, and an exhaustive search, each with an
empty cache of cubins; then the configurations that they chose, against each other in one
interleaved run. `quality` is how fast a choice is against the exhaustive one (1.000: as fast),
`time` how much of its time the search took. A second process then asks the same and must not try
anything. The goals are a quality of 0.97 in a quarter of the time. Needs a Hopper GPU and torch.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import torch

import pyptx
from pyptx import bench, cache
from pyptx.kernels import GemmProblem, build_gemm
from pyptx.kernels.gemm_choice import H200, Sizes, candidates, estimate

QUALITY, FRACTION = 0.97, 0.25
PROBLEM = GemmProblem()


def space_of(sizes: Sizes) -> list[Any]:
    """Return the configurations that the library considers; at least two dozen."""
    found = list(candidates(PROBLEM, sizes, H200))
    assert len(found) >= 24
    return found


def operands(sizes: Sizes) -> tuple[Any, Any]:
    torch.manual_seed(0)
    made = {"device": "cuda", "dtype": torch.bfloat16}
    return torch.randn(sizes.m, sizes.k, **made), torch.randn(sizes.n, sizes.k, **made)


def tuned(sizes: Sizes, args: Any, remember: Any, **options: Any) -> tuple[Any, float]:
    """Return what tune finds, and its seconds from the first trace on."""
    # Not the cached builder, whose kernels would be traced already.
    build = partial(build_gemm.__wrapped__, PROBLEM)
    started = time.monotonic()
    found = pyptx.tune(build, space_of(sizes), args, remember=remember, **options)
    return found, time.monotonic() - started


def measure(sizes: Sizes, folder: Path) -> dict[str, Any]:
    args = operands(sizes)
    torch.cuda.synchronize()
    model = partial(estimate, problem=PROBLEM, sizes=sizes)
    ways: dict[str, Any] = {
        "tune": {},
        "tune, model": {"cost": model},
        "exhaustive": {"search": "exhaustive"},
    }
    found, seconds = {}, {}
    for name, options in ways.items():
        with tempfile.TemporaryDirectory() as cubins:
            cache.set_global_cache(cache.CubinCache(cubins))
            remember = folder if name == "tune" else False
            found[name], seconds[name] = tuned(sizes, args, remember, **options)
    cache.set_global_cache(None)
    print(found["exhaustive"])
    print(found["tune"].title())
    arms = {name: partial(result, *args) for name, result in reversed(found.items())}
    compared = bench.compare(arms, "sustained", flops=2.0 * sizes.m * sizes.n * sizes.k)
    print(compared)
    return {
        "sizes": [sizes.m, sizes.n, sizes.k],
        "configurations": len(found["exhaustive"].trials),
        "seconds": seconds,
        "quality": {name: compared.ratio(name).median for name in found},
        "chosen": {name: repr(result.config) for name, result in found.items()},
    }


def second_process(sizes: Sizes, folder: Path) -> dict[str, Any]:
    """Ask again, in a process that knows nothing but what is on disk."""
    words = [sys.executable, __file__, "--recall", str(folder), "--sizes", named(sizes)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def recall(sizes: Sizes, folder: Path) -> None:
    found, seconds = tuned(sizes, operands(sizes), folder)
    print(json.dumps({"how": found.how, "seconds": seconds, "chosen": repr(found.config)}))


def named(sizes: Sizes) -> str:
    return f"{sizes.m}x{sizes.n}x{sizes.k}"


def parse(text: str) -> Sizes:
    m, n, k = map(int, text.split("x"))
    return Sizes(m, n, k)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", default=["4096x4096x4096", "128x8192x8192"])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--recall", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    sizes = [parse(text) for text in options.sizes]
    if not torch.cuda.is_available():
        raise SystemExit("needs a GPU: without one nothing is timed")
    if options.recall is not None:
        recall(sizes[0], options.recall)
        return 0
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for each in sizes:
            rows.append(measure(each, Path(folder)))
            rows[-1]["second"] = second_process(each, Path(folder))
    is_met = True
    print(f"\n{'size':<18}{'search':<14}{'quality':>9}{'s':>8}{'time':>8}")
    for row in rows:
        full = row["seconds"]["exhaustive"]
        for name, seconds in row["seconds"].items():
            size = "x".join(map(str, row["sizes"]))
            quality, part = row["quality"][name], seconds / full
            print(f"{size:<18}{name:<14}{quality:>9.3f}{seconds:>8.2f}{part:>8.1%}")
            if name != "exhaustive":
                is_met = is_met and quality >= QUALITY and part <= FRACTION
        second = row["second"]
        is_met = is_met and second["how"] == "remembered"
        is_met = is_met and second["chosen"] == row["chosen"]["tune"]
        print(f"{'':<18}{'2nd process':<14}{second['how']:>9}{second['seconds']:>8.2f}")
    print("met" if is_met else f"not met: {QUALITY} in {FRACTION:.0%} of the time")
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 0 if is_met else 1


if __name__ == "__main__":
    raise SystemExit(main())
