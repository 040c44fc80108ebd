# SPDX-License-Identifier: Apache-2.0
"""What a wheel's name promises is held against its libraries; the built extension is one."""

import subprocess
import zipfile
from pathlib import Path

import check_wheel
from pyptx import _core

EXTENSION = Path(_core.__file__)


def wheel(folder: Path, tag: str, *libraries: Path, package: str = "pyptx") -> Path:
    path = folder / f"pyptx-0.1.0-cp311-cp311-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for library in libraries:
            archive.write(library, f"{package}/{library.name}")
    return path


def judged(path: Path) -> str:
    return "\n".join(check_wheel.problems(path))


def test_the_extension_needs_the_system_alone(tmp_path: Path) -> None:
    assert judged(wheel(tmp_path, "manylinux_2_99_x86_64", EXTENSION)) == ""


def test_a_tag_of_older_systems_is_refused(tmp_path: Path) -> None:
    found = judged(wheel(tmp_path, "manylinux_2_5_x86_64", EXTENSION))
    assert "needs GLIBC (2, " in found
    assert "promises (2, 5)" in found
    assert "no manylinux tag" in judged(wheel(tmp_path, "linux_x86_64", EXTENSION))


def test_another_library_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "a.cpp"
    source.write_text('#include <cstdio>\nvoid hello() { std::puts("hello"); }\n')
    other, needy = tmp_path / "libother.so.1", tmp_path / "needy.so"
    build = ["g++", "-shared", "-fPIC", str(source), "-Wl,--no-as-needed"]
    subprocess.run([*build, f"-Wl,-soname,{other.name}", "-o", other], check=True)
    subprocess.run([*build, str(other), "-o", needy], check=True)
    tag = "manylinux_2_99_x86_64"
    assert judged(wheel(tmp_path, tag, needy)) == "pyptx/needy.so: needs libother.so.1"
    inside = judged(wheel(tmp_path, tag, other, package="pyptx.libs"))
    assert inside == "pyptx.libs/libother.so.1: a library of another package"
    assert "no extension" in judged(wheel(tmp_path, tag))
