# SPDX-License-Identifier: Apache-2.0
"""Every framework is optional: kernels run with what is left when one of them, or all, are gone."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

FRAMEWORKS = ("torch", "jax", "numpy")
INSTALLED = [name for name in FRAMEWORKS if importlib.util.find_spec(name) is not None]

# A finder that comes first and refuses: as if the package, and what it brings, were not installed.
BLOCK = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

BLOCKED = set(sys.argv[1].split(","))
sys.meta_path.insert(0, Missing())
"""

KERNEL = """
from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32, u32, u64

@kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=(1, 1, 1), block=(32, 1, 1))
def double(X, Y):
    x, y = ptx.global_ptrs(X, Y)
    offset = reg.from_(ptx.special.tid.x(), u64) << 2
    value = reg.scalar(f32)
    ptx.inst.ld.global_.f32(value, ptx.addr(x + offset))
    ptx.inst.add.f32(value, value, value)
    ptx.inst.st.global_.f32(ptx.addr(y + offset), value)
    ptx.ret()

assert not {"torch", "jax", "numpy"} & sys.modules.keys(), "imported by pyptx itself"
"""

USE = {
    "torch": """
import torch
x = torch.arange(32, dtype=torch.float32)
assert torch.equal(double(x), 2 * x)
out = torch.empty_like(x)
assert double(x, out=out) is out and torch.equal(out, 2 * x)
""",
    "jax": """
import jax, jax.numpy as jnp
x = jnp.arange(32, dtype=jnp.float32)
assert (double(x) == 2 * x).all()
assert (jax.jit(lambda x: double(x) + 1)(x) == 2 * x + 1).all()
""",
    "numpy": """
import numpy as np
x = np.arange(32, dtype=np.float32)
assert (double(x) == 2 * x).all()
assert (double.emulate(x) == 2 * x).all()
""",
}

# What every installation can do, and what it says of the support for what is not there.
ALWAYS = """
assert "add.f32" in double.ptx(N=32)
import pyptx, pyptx.cache, pyptx.torch_support, pyptx.jax_support
assert pyptx.verify(double) == []
try:
    double([1.0] * 32)
except TypeError as error:
    assert "expected a torch, JAX or NumPy array" in str(error), error
else:
    raise AssertionError("a list was taken")
print("ran", *USED)
"""

# JAX has no life without NumPy.
SETS = [("torch",), ("jax",), ("torch", "jax"), FRAMEWORKS]


@pytest.mark.parametrize("blocked", SETS, ids=lambda names: "+".join(names))
def test_kernels_run_with_what_is_left(blocked: tuple[str, ...], tmp_path: Path) -> None:
    used = [name for name in INSTALLED if name not in blocked]
    program = tmp_path / "program.py"
    parts = [BLOCK, KERNEL, *(USE[name] for name in used), f"USED = {used!r}", ALWAYS]
    program.write_text("".join(parts))
    done = subprocess.run(
        [sys.executable, str(program), ",".join(blocked)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["ran", *used]


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_the_block_is_seen(name: str, tmp_path: Path) -> None:
    """The programs above would fail if they imported what is blocked."""
    program = tmp_path / "program.py"
    program.write_text(f"{BLOCK}import {name}")
    done = subprocess.run(
        [sys.executable, str(program), name], capture_output=True, text=True, check=False
    )
    assert f"No module named '{name}'" in done.stderr


@pytest.mark.skipif("numpy" not in INSTALLED, reason="needs NumPy")
def test_folders_with_the_names_of_frameworks_are_none(tmp_path: Path) -> None:
    """Any folder on sys.path imports, as a module without contents."""
    for name in ("torch", "jax"):
        (tmp_path / name).mkdir()
    program = f"""
import importlib.machinery, importlib.util, sys
for name in ("torch", "jax"):
    spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [{str(tmp_path)!r} + "/" + name]
    sys.modules[name] = importlib.util.module_from_spec(spec)
import pyptx.jax_support, pyptx.torch_support
{KERNEL.split("assert not")[0]}
import numpy as np
x = np.arange(32, dtype=np.float32)
assert (double(x) == 2 * x).all()
assert (double.emulate(x) == 2 * x).all()
assert (double.bind(x)(x) == 2 * x).all()
assert (pyptx.differentiable_kernel(double, double)(x) == 2 * x).all()
assert not pyptx.torch_support.is_torch_tensor(x)
pyptx.jax_support.shim_load_error()  # which does not raise
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
