# SPDX-License-Identifier: Apache-2.0
"""AOTInductor: a model with a kernel, packaged, and run by a C++ program without Python."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pyptx import torch_support
from support import sample_kernels
from support.exported_scale import DYNAMIC, exported
from support.packages import need
from support.scale_kernel import X, expected
from support.sized_kernels import twice
from support.tree import ROOT

torch = need("torch")
cpp_extension = need("torch.utils.cpp_extension")

RUNNER = ROOT / "examples/cpp/aoti.cpp"
TORCH = Path(torch.__file__).parent
HAS_CUDA = torch.cuda.is_available()
QUICK = {"aot_inductor.compile_wrapper_opt_level": "O0"}
needs_toolkit = pytest.mark.skipif(
    not HAS_CUDA or cpp_extension.CUDA_HOME is None,
    reason="no CUDA device, or no toolkit for AOTInductor to compile with",
)


@pytest.fixture(scope="module", params=["cpu", pytest.param("cuda", marks=needs_toolkit)])
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def package(device: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    k = sample_kernels.build_vector_add()

    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            twice = k(x, x)
            return k(twice, twice)  # no code of Inductor's own to compile

    return make_package(Model(), device, tmp_path_factory.mktemp("package"))


def make_package(model: Any, device: str, folder: Path, **options: Any) -> Path:
    program = torch.export.export(model, (torch.zeros(64, device=device),), **options)
    path = str(folder / "model.pt2")
    return Path(
        torch._inductor.aoti_compile_and_package(program, package_path=path, inductor_configs=QUICK)
    )


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("needs a C++ compiler")
    out = tmp_path_factory.mktemp("runner") / "runner"
    cuda = ["-ltorch_cuda"] if HAS_CUDA else []
    words = f"-std=c++20 -O0 -w -I{TORCH}/include -L{TORCH}/lib -Wl,-rpath,{TORCH}/lib".split()
    words += ["-Wl,--no-as-needed"]  # packages name libtorch, whose folder only the program knows
    built = subprocess.run(
        [
            compiler,
            *words,
            str(RUNNER),
            "-o",
            str(out),
            *cuda,
            "-ltorch",
            "-ltorch_cpu",
            "-lc10",
            "-ldl",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return out


def test_a_package_runs_without_python(runner: Path, package: Path, device: str) -> None:
    done = subprocess.run(
        [str(runner), torch_support.operator_library(), str(package), device],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[-1:] == ["right result, python: no"], done.stdout + done.stderr
    assert done.returncode == 0


def test_a_package_for_any_size_runs_without_python(
    runner: Path, device: str, tmp_path: Path
) -> None:
    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return twice(twice(x))

    shapes = {"x": {0: torch.export.Dim("n", min=1, max=1 << 20)}}
    package = make_package(Model(), device, tmp_path, dynamic_shapes=shapes)
    done = subprocess.run(
        [str(runner), torch_support.operator_library(), str(package), device, "1", "100", "4097"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[-1:] == ["right result, python: no"], done.stdout + done.stderr


LOAD = """
import torch
x = torch.arange(64.0, device={device!r})
assert torch.equal(torch._inductor.aoti_load_package({package!r})(x), 4 * x)
"""
REGISTER = """
from pyptx import torch_support
torch_support.register_operators()
"""


def run_in_another_python(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "faulthandler", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


class Plain(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return 4 * x


def check_in_another_python(code: str, device: str, folder: Path) -> None:
    done = run_in_another_python(REGISTER + code)
    if done.returncode < 0:  # killed by a signal
        plain = make_package(Plain(), device, folder)
        without_us = run_in_another_python(LOAD.format(device=device, package=str(plain)))
        if without_us.returncode == done.returncode:
            pytest.skip(f"torch {torch.__version__} crashes here loading any package")
    assert done.returncode == 0, done.stderr


def test_a_package_runs_in_another_python(package: Path, device: str, tmp_path: Path) -> None:
    check_in_another_python(LOAD.format(device=device, package=str(package)), device, tmp_path)


TAKES = """
import torch
loaded = torch._inductor.aoti_load_package({package!r})
for count, expected in {cases!r}:
    assert loaded(torch.tensor({x!r}), torch.ones(count)).tolist() == expected, count
"""


def test_a_package_takes_numbers(tmp_path: Path) -> None:
    package = torch._inductor.aoti_compile_and_package(
        exported(**DYNAMIC),
        package_path=str(tmp_path / "model.pt2"),
        inductor_configs=QUICK,
    )
    x = X
    cases = [(count, expected(x, 0.5, count).tolist()) for count in (7, 9, 30)]
    code = TAKES.format(package=package, cases=cases, x=x.tolist())
    check_in_another_python(code, "cpu", tmp_path)
