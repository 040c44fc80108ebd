# SPDX-License-Identifier: Apache-2.0
"""Holds wheels to their names, as `make wheel` does: python tools/check_wheel.py WHEEL...

A wheel's tag says on which systems it runs. Here its libraries are read anew: they need what every
such system has, nothing was put beside them, and no symbol is newer than the tag's C library.
"""

import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

# The C and C++ runtimes; CUDA, torch and JAX are found at run time.
SYSTEM = re.compile(r"(libc|libm|libdl|libpthread|libstdc\+\+|libgcc_s|ld-linux-[\w-]+)\.so\.\d+")
TAG = re.compile(r"-manylinux_(\d+)_(\d+)_\w+\.whl$")


def read_library(path: Path) -> tuple[list[str], tuple[int, ...]]:
    """Return what the library needs, and its newest version of the C library."""
    command = ["readelf", "--wide", "--dynamic", "--version-info", str(path)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    versions = re.findall(r"\bGLIBC_(\d+(?:\.\d+)+)", text)
    newest = max(tuple(int(part) for part in version.split(".")) for version in versions)
    return re.findall(r"\(NEEDED\).*\[(.*)\]", text), newest


def problems(wheel: Path) -> Iterator[str]:
    """Yield what is not as the wheel's name says."""
    tag = TAG.search(wheel.name)
    if tag is None:
        yield f"{wheel.name}: no manylinux tag"
        return
    promised = (int(tag[1]), int(tag[2]))
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
        libraries = sorted(Path(folder).rglob("*.so*"))
        if not libraries:
            yield f"{wheel.name}: no extension"
        for library in libraries:
            name = library.relative_to(folder)
            if name.parts[0] != "pyptx":
                yield f"{name}: a library of another package"
            needed, newest = read_library(library)
            for other in needed:
                if not SYSTEM.fullmatch(other):
                    yield f"{name}: needs {other}"
            if newest > promised:
                yield f"{name}: needs GLIBC {newest}, the wheel promises {promised}"


def main() -> int:
    """Check the wheels named; the exit status says whether anything was found."""
    wheels = [Path(word) for word in sys.argv[1:]]
    found = [problem for wheel in wheels for problem in problems(wheel)]
    print("\n".join(found) if found else f"{len(wheels)} wheels: as their names say")
    return 1 if found or not wheels else 0


if __name__ == "__main__":
    sys.exit(main())
