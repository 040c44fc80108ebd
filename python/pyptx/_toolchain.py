# SPDX-License-Identifier: Apache-2.0
"""Where NVIDIA's tools are: PATH, a CUDA toolkit, or the wheels of this Python.

The one place that knows. It runs the disassemblers; assembling is the core's work, which gets the
folders found here.
"""

from __future__ import annotations

import functools
import importlib.util
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pyptx import _core
from pyptx._errors import Error

_WHEEL_BINS = ("cu13/bin", "cu12/bin", "cuda_nvcc/bin", "cuda_cuobjdump/bin", "cuda_nvdisasm/bin")
_WHEELS = {
    "ptxas": "nvidia-cuda-nvcc",
    "cuobjdump": "nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm",
    "nvdisasm": "nvidia-cuda-nvdisasm",
}


#: Variables that choose a tool, or where one is found.
_DECIDING = (
    *("PYPTX_NVJITLINK", "PYPTX_PTXAS", "PYPTX_LIBCUDA", "PYPTX_CUOBJDUMP", "PYPTX_NVDISASM"),
    *("CUDA_HOME", "CUDA_PATH", "PATH"),
)


def site_folders() -> list[Path]:
    """Return the site-packages folders that hold NVIDIA wheels."""
    spec = importlib.util.find_spec("nvidia")
    locations = spec.submodule_search_locations if spec is not None else None
    return [Path(location).parent for location in locations or ()]


def toolkit_folders() -> list[Path]:
    """CUDA toolkits that the environment names, then the usual place."""
    named = (os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH"))
    folders = [Path(value) for value in named if value] + [Path("/usr/local/cuda")]
    return [folder for folder in folders if folder.is_dir()]


def _candidates(name: str, sites: Callable[[], list[Path]]) -> Iterator[str]:
    """Give the files that may be the executable `name`, best first; looks no further than asked."""
    import shutil  # this and the others take milliseconds that every import would pay

    if on_path := shutil.which(name):
        yield on_path
    yield from (f"{folder}/bin/{name}" for folder in toolkit_folders())
    yield from (f"{site}/nvidia/{sub}/{name}" for site in sites() for sub in _WHEEL_BINS)


def _found(name: str, sites: Callable[[], list[Path]]) -> Iterator[Path]:
    chosen = os.environ.get(f"PYPTX_{name.upper()}")
    if chosen:
        return iter([Path(chosen)])
    return (Path(path) for path in _candidates(name, sites) if os.access(path, os.X_OK))


def find_tools(name: str) -> list[Path]:
    """Return the executables `name`, best first; only the one that PYPTX_<NAME> names, if it is."""
    return list(_found(name, site_folders))


def find_tool(name: str) -> Path | None:
    """Return the executable `name`, or None."""
    return next(_found(name, site_folders), None)


def wheels_of(name: str) -> str:
    """Return the packages that bring an executable, as pip takes them."""
    return _WHEELS[name]


@functools.cache
def announce_folders() -> None:
    """Tell the core, once, where this Python's compilers are."""
    for folder in (*site_folders(), *toolkit_folders()):
        _core.add_compiler_folder(str(folder))


def in_use() -> tuple[Any, ...]:
    """Return what decides what the tools say: equal while they and the environment are the same.

    The assembler is the one that the core would use. A disassembler is known by its file, which
    may have been replaced; it is looked for each time, because a better one may have appeared.
    """
    announce_folders()
    try:
        assembler = _core.current_compiler()
    except Error:
        assembler = None
    sites = functools.cache(site_folders)  # the slowest step, once for both
    tools = (_stamp(next(_found(name, sites), None)) for name in ("cuobjdump", "nvdisasm"))
    return assembler, *tools, *(os.environ.get(name) for name in _DECIDING)


def _stamp(path: Path | None) -> tuple[Any, ...]:
    try:
        status = None if path is None else path.stat()
    except OSError:
        status = None
    if status is None:
        return (path,)
    return path, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def disassemble(cubin: bytes) -> str:
    """SASS text of a cubin, by cuobjdump or nvdisasm."""
    tool = find_tool("cuobjdump")
    disassembler = find_tool("nvdisasm")
    if disassembler is None:
        raise RuntimeError(missing_disassembler())
    command = [str(tool), "-sass"] if tool else [str(disassembler), "-c"]
    return _run_on_cubin(command, cubin)


def disassemble_with_lines(cubin: bytes) -> str | None:
    """SASS text with the source lines that the cubin's line table names; None without nvdisasm."""
    # The analysis left out finds where indirect branches go, and takes a quarter of the time.
    return run_nvdisasm(cubin, "-g", "-c", "--no-dataflow")


def run_nvdisasm(cubin: bytes, *options: str) -> str | None:
    """Return what nvdisasm prints with these options; None without it."""
    disassembler = find_tool("nvdisasm")
    if disassembler is None:
        return None
    return _run_on_cubin([str(disassembler), *options], cubin)


def _run_on_cubin(command: list[str], cubin: bytes) -> str:
    import subprocess
    import tempfile

    # cuobjdump runs nvdisasm, which it looks for in PATH.
    disassembler = find_tool("nvdisasm")
    folders = [] if disassembler is None else [str(disassembler.parent)]
    path = os.pathsep.join([*folders, os.environ.get("PATH", "")])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(cubin)
        try:
            done = subprocess.run(
                [*command, str(file)],
                capture_output=True,
                text=True,
                check=False,
                env={**os.environ, "PATH": path},
            )
        except OSError as error:  # what PYPTX_CUOBJDUMP or PYPTX_NVDISASM names
            raise RuntimeError(f"cannot run {command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def missing_disassembler() -> str:
    """Say what to do where there is no nvdisasm."""
    return (
        "SASS needs NVIDIA's disassembler nvdisasm, which cuobjdump runs too, and it was not "
        f"found in PATH, CUDA_HOME or this Python; pip install {_WHEELS['cuobjdump']}"
    )


def missing_assembler() -> str | None:
    """Why no cubin can be made here, or None when one can."""
    announce_folders()
    try:
        _core.find_compiler()
    except Error as error:
        return (
            "no PTX assembler was found in PATH, CUDA_HOME, this Python or the driver; "
            f"pip install nvidia-nvjitlink, or {_WHEELS['ptxas']} ({error})"
        )
    return None
