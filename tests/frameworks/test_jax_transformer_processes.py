# SPDX-License-Identifier: Apache-2.0
"""The transformer of support/jax_transformer.py in several processes: exported, cached, divided.

On the GPU as well where JAX has one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.jax_processes import finish, start
from support.packages import need
from support.processes import local_address

jax = need("jax")

MODEL = """
from support import jax_transformer as model
jax.config.update("jax_default_matmul_precision", "highest")
text = model.sentences()
def expected():
    return model.in_float64(
        lambda s, t: model.step(s, t, gates=model.REFERENCE, scan=True), model.start(), text)
def divided(mesh):
    def put(x, *spec):
        return jax.make_array_from_process_local_data(NamedSharding(mesh, P(*spec)), np.asarray(x))
    rows = len(text) // jax.process_count()
    mine = text[rows * jax.process_index() : rows * (jax.process_index() + 1)]
    return jax.tree.map(put, model.start()), put(mine, "d")
"""

EXPORT = """
def write(name, function, *args, **options):
    exported = export.export(
        jax.jit(function), platforms=["cpu", "cuda"], disabled_checks=jax_support.export_checks())
    (folder / name).write_bytes(exported(*args).serialize(**options))
write("step", model.step, model.start(), text)
write("loss", lambda w, t: model.loss(w, t, scan=True), model.start()[0], text, vjp_order=1)
print("exported")
"""

RUN = """
from pyptx import _core
def refuse(*_, **__):
    raise AssertionError("a kernel was traced")
_core.Trace = refuse
assert jax_support.ensure_ffi_registered()
step, loss = (export.deserialize((folder / name).read_bytes()).call for name in ("step", "loss"))
want = expected()
assert model.error(jax.jit(step)(model.start(), text), want) < 4e-6
# And what was exported with its gradient is trained there.
value, gradient = jax.jit(jax.value_and_grad(loss))(model.start()[0], text)
assert model.error((value, gradient), (want[1], want[0][1])) < 4e-6
print("ran")
"""

#: A step on one device and divided over all, and a call outside of jit: what the cache says.
CACHE = """
jax.config.update("jax_remove_custom_partitioning_ptr_from_cache_key", True)
mesh = jax.make_mesh((jax.device_count(),), ("d",), axis_types=(AxisType.Auto,))
alone, over_all = (model.start(), text), divided(mesh)
hits.clear()
for given in (alone, over_all):
    program = jax.jit(lambda s, t: model.step(s, t, scan=True, wrap=jax.checkpoint))
    jax.block_until_ready(program(*given))
x = np.ones((4, model.WIDTH), np.float32)
jax.block_until_ready(jax.jit(model.KERNELS.norm)(x, x[0]))
asked, found, missed = (
    hits.count(f"/jax/compilation_cache/{event}")
    for event in ("compile_requests_use_cache", "cache_hits", "cache_misses"))
assert asked >= 3, hits
assert (found, missed) == ((asked, 0) if sys.argv[2] == "again" else (0, asked)), (found, missed)
print("compiled", asked)
"""

DISTRIBUTE = (
    """
jax.distributed.initialize(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
assert jax.process_count() == 2 and jax.device_count() == 4
"""
    + MODEL
    + """
want = expected()
auto, explicit = (
    jax.make_mesh((4,), ("d",), axis_types=(kind,)) for kind in (AxisType.Auto, AxisType.Explicit))
mapped = jax.shard_map(
    lambda w, t: jax.lax.pmean(model.loss(w, t, scan=True), "d"),
    mesh=explicit, in_specs=(P(), P("d")), out_specs=P())
(weights, _), mine = divided(explicit)
for got, wanted in (
    (jax.jit(lambda s, t: model.step(s, t, scan=True))(*divided(auto)), want),
    (jax.jit(jax.value_and_grad(mapped))(weights, mine), (want[1], want[0][1])),
):
    here = jax.tree.map(lambda x: x.addressable_data(0), got)
    assert model.error(here, wanted) < 4e-6
print("divided")
"""
)

PLATFORMS = pytest.mark.parametrize(
    "platform",
    [
        "cpu",
        pytest.param(
            "cuda",
            marks=pytest.mark.skipif(jax.default_backend() != "gpu", reason="this JAX has no GPU"),
        ),
    ],
)


@PLATFORMS
def test_an_exported_step_runs_in_another_process(platform: str, tmp_path: Path) -> None:
    need("flatbuffers")
    assert finish(start(MODEL + EXPORT, tmp_path, platform=platform)) == "exported"
    assert finish(start(MODEL + RUN, tmp_path, platform=platform)) == "ran"


@PLATFORMS
def test_a_second_process_finds_all_in_the_persistent_cache(platform: str, tmp_path: Path) -> None:
    compiled = {
        finish(start(MODEL + CACHE, tmp_path, run, devices=2, platform=platform))
        for run in ("first", "again")
    }
    assert len(compiled) == 1


def test_a_step_of_two_processes_is_that_of_one(tmp_path: Path) -> None:
    address = local_address()
    both = [start(DISTRIBUTE, tmp_path, address, 2, index, devices=2) for index in range(2)]
    assert [finish(process) for process in both] == ["divided"] * 2
