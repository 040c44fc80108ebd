# SPDX-License-Identifier: Apache-2.0
"""What one process compiled or exported runs in another, and no kernel is taken for another.

The readers never trace a kernel: tracing is broken in them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.jax_processes import finish, start
from support.packages import need
from support.processes import local_address

jax = need("jax")


WRITE = """
from support import sample_kernels
for factor in map(float, sys.argv[2:]):
    k = sample_kernels.build_row_scale(factor, 4, batch="B")
    program = jax.jit(lambda x, w: k(x, w))
    try:
        export.export(program)(x, w)
    except ValueError as error:
        assert "custom calls" in str(error)
    else:
        raise AssertionError("JAX asks no longer")
    exported = export.export(
        program, platforms=["cpu", "cuda"], disabled_checks=jax_support.export_checks()
    )(x, w)
    data = exported.serialize()
    (folder / f"{factor}.export").write_bytes(data)
    # Through what is read back, as the reader does: the cache goes by the whole program.
    call = jax.jit(export.deserialize(data).call)
    cached, result = was_cached(call, x, w)
    assert not cached
    np.testing.assert_array_equal(result, factor * x)
    parts = serialize_executable.serialize(program.lower(x, w).compile())
    (folder / f"{factor}.compiled").write_bytes(pickle.dumps(parts))
print("written")
"""

READ = """
from pyptx import _core
def refuse(*_, **__):
    raise AssertionError("a kernel was traced")
_core.Trace = refuse
assert jax_support.ensure_ffi_registered()
for factor in map(float, sys.argv[2:]):
    call = jax.jit(export.deserialize((folder / f"{factor}.export").read_bytes()).call)
    cached, result = was_cached(call, x, w)
    assert cached, hits
    np.testing.assert_array_equal(result, factor * x)
    parts = pickle.loads((folder / f"{factor}.compiled").read_bytes())
    run = serialize_executable.deserialize_and_load(*parts)
    np.testing.assert_array_equal(run(x, w), factor * x)
print("read")
"""

PARTITION = """
from support import sample_kernels
# Else the address of a callback is in the key, and no other process finds the entry.
jax.config.update("jax_remove_custom_partitioning_ptr_from_cache_key", True)
mesh = jax.make_mesh((8,), ("d",), axis_types=(AxisType.Auto,))
x = jax.device_put(x, NamedSharding(mesh, P("d")))
for word in sys.argv[2:]:
    factor, expected = word.split("=")
    k = sample_kernels.build_row_scale(float(factor), 4, batch="B")
    cached, result = was_cached(jax.jit(lambda x, w: k(x, w)), x, w)
    np.testing.assert_array_equal(result, float(factor) * np.asarray(x))
    assert cached == (expected == "cached"), word
print("partitioned")
"""

DISTRIBUTE = """
jax.distributed.initialize(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
from support import sample_kernels
assert jax.process_count() == 2 and jax.device_count() == 4
k = sample_kernels.build_row_scale(3.0, 4, batch="B")
rows = np.arange(64, dtype=np.float32).reshape(16, 4)
for kind in (AxisType.Auto, AxisType.Explicit):
    mesh = jax.make_mesh((4,), ("d",), axis_types=(kind,))
    sharding = NamedSharding(mesh, P("d"))
    mine = rows[8 * jax.process_index() : 8 * jax.process_index() + 8]
    x = jax.make_array_from_process_local_data(sharding, mine, rows.shape)
    w = jax.make_array_from_process_local_data(NamedSharding(mesh, P()), np.ones(4, np.float32))
    def total(x, w):
        y = k(x, w)
        return y, jax.lax.psum(y.sum(), "d")
    mapped = jax.shard_map(total, mesh=mesh, in_specs=(P("d"), P()), out_specs=(P("d"), P()))
    for y, expected_sum in ((jax.jit(mapped)(x, w)), (jax.jit(k)(x, w), None)):
        for shard in y.addressable_shards:
            np.testing.assert_array_equal(shard.data, 3 * rows[shard.index])
        if expected_sum is not None:
            assert float(expected_sum) == 3 * rows.sum()
print("distributed")
"""


@pytest.mark.parametrize("platform", ["cpu", "cuda"])
def test_what_was_compiled_runs_where_nothing_was_traced(platform: str, tmp_path: Path) -> None:
    need("flatbuffers")
    if platform == "cuda" and jax.default_backend() != "gpu":
        pytest.skip("this JAX has no GPU")
    assert finish(start(WRITE, tmp_path, 2, 3, platform=platform)) == "written"
    assert finish(start(READ, tmp_path, 3, 2, platform=platform)) == "read"


def test_partitioned_kernels_are_told_apart_by_the_persistent_cache(tmp_path: Path) -> None:
    first = start(PARTITION, tmp_path, "2=new", "3=new", devices=8)
    assert finish(first) == "partitioned"
    second = start(PARTITION, tmp_path, "5=new", "3=cached", "2=cached", devices=8)
    assert finish(second) == "partitioned"


def test_two_processes_of_one_program(tmp_path: Path) -> None:
    address = local_address()
    both = [start(DISTRIBUTE, tmp_path, address, 2, index, devices=2) for index in range(2)]
    assert [finish(process) for process in both] == ["distributed"] * 2
