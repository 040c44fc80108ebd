# SPDX-License-Identifier: Apache-2.0
"""Processes that run JAX beside the one of the tests, with a persistent cache in a folder."""

from __future__ import annotations

import os
import subprocess
import sys

from support.tree import TESTS

START = """
import pathlib, pickle, sys
import jax, numpy as np
from jax import export
from jax.experimental import serialize_executable
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
from pyptx import jax_support
folder = pathlib.Path(sys.argv[1])
jax.config.update("jax_compilation_cache_dir", str(folder / "cache"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
hits = []
jax.monitoring.register_event_listener(lambda event, **_: hits.append(event))
def was_cached(function, *args):
    hits.clear()
    result = np.asarray(function(*args))
    return "/jax/compilation_cache/cache_hits" in hits, result
x, w = np.arange(64, dtype=np.float32).reshape(16, 4), np.ones(4, np.float32)
"""


def start(
    program: str, *arguments: object, devices: int = 1, platform: str = "cpu"
) -> subprocess.Popen[str]:
    flags = os.environ.get("XLA_FLAGS", "")
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)]),
        "JAX_PLATFORMS": platform,
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",  # the process of the tests may have it all
        "XLA_FLAGS": f"{flags} --xla_force_host_platform_device_count={devices}",
    }
    return subprocess.Popen(
        [sys.executable, "-c", START + program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
    )


def finish(process: subprocess.Popen[str]) -> str:
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return out.splitlines()[-1]  # other libraries print as well
