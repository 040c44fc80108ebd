# SPDX-License-Identifier: Apache-2.0
"""A transformer with kernels in it under JAX's transformations, held to the same in float64.

On the GPU where JAX has one. What several devices do is in support/transformer_on_eight_devices.py,
what other processes do in test_jax_transformer_processes.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from support.packages import need

jax = need("jax")

from support import jax_transformer as model  # noqa: E402

jnp = jax.numpy
policies = jax.checkpoint_policies
TEXT = model.sentences()
CLOSE = 4e-6  # of float64, relative to the largest element
Function = Callable[..., Any]


@pytest.fixture(autouse=True)
def exact_products() -> Iterator[None]:
    """Let a GPU multiply in f32, as the reference does."""
    with jax.default_matmul_precision("highest"):
        yield


@pytest.fixture(scope="module")
def expected() -> Any:
    """The loss and its gradient."""
    return model.in_float64(
        jax.value_and_grad(lambda w, t: model.loss(w, t, model.REFERENCE, scan=True)),
        model.weights(),
        TEXT,
    )


@pytest.fixture(scope="module")
def weights() -> Any:
    return jax.tree.map(jnp.asarray, model.weights())


def value_and_grad(**options: Any) -> Function:
    return jax.value_and_grad(lambda w, t: model.loss(w, t, **options))


def test_jit(weights: Any, expected: Any) -> None:
    program = jax.jit(value_and_grad())
    assert model.error(program(weights, TEXT), expected) < CLOSE
    assert model.launches(program, weights, TEXT) == {
        "column_sums": 5,
        "rms_norm": 5,
        "rms_norm_backward": 5,
        "swiglu": 2,
        "swiglu_backward": 2,
    }


def test_outside_of_jit(weights: Any, expected: Any) -> None:
    assert model.error(value_and_grad()(weights, TEXT), expected) < CLOSE


#: Policies, and how often the program has swiglu, in a loop over the layers and in its gradient.
REMAT: dict[str, tuple[Any, int]] = {
    "nothing": (None, 2),
    "products": (policies.dots_saveable, 2),
    "names": (policies.save_only_these_names("gated"), 1),
    "everything": (policies.everything_saveable, 1),
}


@pytest.mark.parametrize("policy", REMAT)
def test_remat_in_a_scan_over_the_layers(policy: str, weights: Any, expected: Any) -> None:
    saveable, times = REMAT[policy]
    wrap = partial(jax.checkpoint, policy=saveable)
    program = jax.jit(value_and_grad(scan=True, wrap=wrap))
    assert model.error(program(weights, TEXT), expected) < CLOSE
    assert model.launches(program, weights, TEXT)["swiglu"] == times


def test_remat_of_each_layer(weights: Any, expected: Any) -> None:
    program = jax.jit(value_and_grad(wrap=jax.checkpoint))
    assert model.error(program(weights, TEXT), expected) < CLOSE
    assert model.launches(program, weights, TEXT)["swiglu"] == 2 * model.LAYERS


def test_a_scan_over_the_layers(weights: Any, expected: Any) -> None:
    program = jax.jit(value_and_grad(scan=True))
    assert model.error(program(weights, TEXT), expected) < CLOSE
    assert model.launches(program, weights, TEXT)["swiglu"] == 1
    value = jax.jit(partial(model.loss, scan=True))
    assert model.error(value(weights, TEXT), expected[0]) < CLOSE
    assert model.error(jax.jit(jax.grad(value))(weights, TEXT), expected[1]) < CLOSE


def test_vmap_over_the_batch(weights: Any, expected: Any) -> None:
    def mapped(w: Any, text: Any) -> Any:
        return jax.vmap(lambda words: model.loss(w, words[None], scan=True))(text).mean()

    program = jax.jit(mapped)
    assert model.error(program(weights, TEXT), expected[0]) < CLOSE
    assert "swiglu" in model.launches(program, weights, TEXT)
    assert model.error(jax.jit(jax.grad(mapped))(weights, TEXT), expected[1]) < CLOSE


def test_a_gradient_for_each_sentence(weights: Any) -> None:
    def each(gates: Any) -> Function:
        one = jax.grad(lambda w, words: model.loss(w, words[None], gates, scan=True))
        return jax.vmap(one, in_axes=(None, 0))

    text = TEXT[:3]
    want = model.in_float64(each(model.REFERENCE), model.weights(), text)
    assert model.error(jax.jit(each(model.KERNELS))(weights, text), want) < CLOSE


def test_steps_that_take_the_memory_of_their_arguments() -> None:
    texts = np.stack([model.sentences(seed=seed) for seed in range(4)])
    state = model.start()

    def step(state: Any, text: Any) -> Any:
        return model.step(state, text, gates=model.REFERENCE, scan=True)

    want = model.in_float64(lambda s, t: jax.lax.scan(step, s, t), state, texts)
    program = jax.jit(lambda s, t: model.step(s, t, scan=True), donate_argnums=0)
    losses = []
    for text in texts:
        given = state
        places = {x.unsafe_buffer_pointer() for x in jax.tree.leaves(given)}
        state, value = program(given, text)
        losses.append(float(value))
        assert all(x.is_deleted() for x in jax.tree.leaves(given))
        assert places == {x.unsafe_buffer_pointer() for x in jax.tree.leaves(state)}
    assert model.error((state, np.array(losses)), want) < CLOSE
    assert losses[-1] < losses[0]


def test_weights_of_bfloat16() -> None:
    def step(gates: Any) -> Function:
        return lambda state, text: model.step(state, text, gates=gates, scan=True)

    state = model.start(ml_dtypes.bfloat16)
    want = model.in_float64(step(model.REFERENCE), state, TEXT)
    got = jax.jit(step(model.KERNELS))(state, TEXT)
    assert {x.dtype for x in jax.tree.leaves(got[0])} == {jnp.bfloat16.dtype}
    assert model.error(got, want) < 0.05  # as far as the same without kernels is: 8 bits
