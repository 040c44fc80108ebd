# SPDX-License-Identifier: Apache-2.0
"""Trains a small network with an RMSNorm of ours under shard_map, on every device there is.

    python examples/hopper/train_sharded.py [--steps 60] [--devices 8]

Where JAX has GPUs they are used. Where it has none, --devices virtual ones of the CPU platform run
the kernels on the emulator; the program is the same. Rows of a batch are divided among the
devices, the weights are on all of them, and their gradients are added up by the shard_map.
"""

from __future__ import annotations

import argparse
import functools
import os
from typing import Any

from rms_norm import build_rms_norm, build_rms_norm_backward

from pyptx import differentiable_kernel

FEATURES, HIDDEN, ROWS = 16, 64, 64
LEARNING_RATE = 0.2


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--devices", type=int, default=8, help="of the CPU, where there is no GPU")
    return parser.parse_args()


@functools.cache
def rms_norm(rows: int) -> Any:
    """Return the norm of (rows, HIDDEN) arrays, forward and backward kernels as one function."""
    return differentiable_kernel(
        build_rms_norm(rows, HIDDEN), build_rms_norm_backward(rows, HIDDEN)
    )


def loss(weights: dict[str, Any], x: Any, y: Any) -> Any:
    """Mean squared error of a network with one hidden layer, on one device's rows."""
    import jax

    hidden = rms_norm(x.shape[0])(x @ weights["in"], weights["norm"])
    error = jax.numpy.tanh(hidden) @ weights["out"] - y
    return jax.lax.pmean((error**2).mean(), "rows")


def make_step(mesh: Any) -> Any:
    """Return one step of gradient descent, compiled for the devices of a mesh."""
    import jax
    from jax.sharding import PartitionSpec as P

    mapped = jax.shard_map(
        jax.value_and_grad(loss),
        mesh=mesh,
        in_specs=(P(), P("rows"), P("rows")),
        out_specs=(P(), P()),
    )

    @functools.partial(jax.jit, donate_argnums=0)
    def step(weights: dict[str, Any], x: Any, y: Any) -> tuple[dict[str, Any], Any]:
        value, gradients = mapped(weights, x, y)
        update = jax.tree.map(lambda w, g: w - LEARNING_RATE * g, weights, gradients)
        return update, value

    return step


def train(steps: int) -> list[float]:
    """Fit a fixed function; the loss before each step."""
    import jax
    import numpy as np
    from jax.sharding import NamedSharding
    from jax.sharding import PartitionSpec as P

    mesh = jax.make_mesh((jax.device_count(),), ("rows",))
    everywhere, divided = NamedSharding(mesh, P()), NamedSharding(mesh, P("rows"))
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) / shape[0] ** 0.5).astype(np.float32)

    weights = {
        "in": normal(FEATURES, HIDDEN),
        "norm": np.ones(HIDDEN, np.float32),
        "out": normal(HIDDEN, 1),
    }
    weights = jax.device_put(weights, everywhere)
    x = rng.standard_normal((ROWS, FEATURES)).astype(np.float32)
    y = np.sin(x @ normal(FEATURES, 1)).astype(np.float32)
    x, y = jax.device_put((x, y), divided)
    step = make_step(mesh)
    losses = []
    for _ in range(steps):
        weights, value = step(weights, x, y)
        losses.append(float(value))
    return losses


def main() -> None:
    """Train, and print how the loss goes down."""
    options = arguments()
    # Only the CPU platform reads it; before JAX looks at its devices.
    flag = f"--xla_force_host_platform_device_count={options.devices}"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flag}"
    import jax

    devices = jax.devices()
    print(f"{len(devices)} x {devices[0].device_kind} ({devices[0].platform})")
    losses = train(options.steps)
    for index in range(0, options.steps, max(options.steps // 6, 1)):
        print(f"step {index:3}: loss {losses[index]:.4f}")
    print(f"after {options.steps} steps: {losses[-1]:.4f}")
    if not losses[-1] < 0.25 * losses[0]:
        raise SystemExit("the loss did not go down")


if __name__ == "__main__":
    main()
