# SPDX-License-Identifier: Apache-2.0
"""Y = a X + b Z with numbers that come with each launch, and of any length: one kernel, one binary.

    python examples/patterns/axpby.py

`raw_params` are the launch's, read by `ptx.param`; `dynamic=` makes the length one too. Where a and
b were template parameters, each pair of them would be another kernel.
"""

from __future__ import annotations

import numpy as np

from pyptx import Tile, kernel, ptx, reg, testing
from pyptx.types import f32


@kernel(
    in_specs=(Tile("N", f32), Tile("N", f32)),
    out_specs=(Tile("N", f32),),
    grid=lambda N: (min(-(-N // 128), 1024), 1, 1),
    block=(128, 1, 1),
    raw_params=[("f32", "a"), ("f32", "b")],
    dynamic=("N",),
    arch="sm_80",
)
def axpby(X, Z, Y):
    """Y = a X + b Z, with a, b and N from the launch."""
    a, b, (n,) = ptx.param(f32, "a"), ptx.param(f32, "b"), X.shape
    first, stride = ptx.ctaid_x() * 128 + ptx.special.tid.x(), ptx.sreg("%nctaid.x") * 128
    with ptx.range_(first, n, stride) as i:
        x, z = (ptx.ld(f32, reg.scalar(f32), ptx.at(tensor, i)) for tensor in (X, Z))
        ptx.st(f32, ptx.at(Y, i), a * x + b * z)


def reference(x: np.ndarray, z: np.ndarray, *, a: float, b: float) -> np.ndarray:
    """Compute the same."""
    return np.float32(a) * x + np.float32(b) * z


def main() -> None:
    """Add vectors, wherever this machine can."""
    sizes = {"N": testing.ragged(128), "a": [0.0, 2.5], "b": [-1e3]}
    cases = testing.check(axpby, reference, ["normal", "large"], shapes=sizes, schedules=20)
    print(f"axpby: {cases} cases are right against float64")


if __name__ == "__main__":
    main()
