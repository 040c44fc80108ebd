# SPDX-License-Identifier: Apache-2.0
"""`pyptx doctor`: what it finds here, on a machine with nothing, and where things are broken."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pyptx import _core
from support.small_disk import on_small_disk

# Frameworks take seconds to import; most tests look at other things.
WITHOUT_FRAMEWORKS = """
import sys
sys.modules["torch"] = sys.modules["jax"] = None
from pyptx._command import main
sys.exit(main())
"""


def doctor(*words: str, prefix: tuple[str, ...] = (), **env: str) -> tuple[int, str]:
    """Exit status and output, with these variables."""
    done = subprocess.run(
        [*prefix, sys.executable, "-c", WITHOUT_FRAMEWORKS, "doctor", *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **env},
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout if done.returncode != 2 else done.stderr


def by_subject(report: dict[str, Any]) -> dict[str, Any]:
    """Return the first finding of each first word of a subject."""
    return {one["subject"].split()[0]: one for one in reversed(report["findings"])}


def findings(prefix: tuple[str, ...] = (), **env: str) -> tuple[int, dict[str, Any]]:
    """Exit status and findings."""
    status, text = doctor("--json", prefix=prefix, **env)
    report = json.loads(text)
    assert report["ok"] == (status == 0)
    assert all(
        one.keys() == {"part", "subject", "state", "detail", "remedy", "facts"}
        for one in report["findings"]
    )
    return status, by_subject(report)


def test_what_is_here(tmp_path: Path) -> None:
    """One look at everything, with the frameworks."""
    done = subprocess.run(
        [sys.executable, "-m", "pyptx", "doctor", "--json"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYPTX_CACHE_DIR": str(tmp_path)},
    )
    report = json.loads(done.stdout)
    broken = [one for one in report["findings"] if one["state"] == "broken"]
    assert done.returncode == (1 if broken else 0), broken
    found = by_subject(report)
    for name in ("numpy", "torch", "jax"):
        if importlib.util.find_spec(name) is None:
            assert found[name]["state"] == "absent"
            assert found[name]["remedy"].startswith("pip install")
        else:
            assert found[name]["facts"]["version"].startswith(importlib.metadata.version(name))
    assert found[str(tmp_path)]["facts"]["writable"] == "true"
    assert found["CPU"]["facts"]["variant"] in ("baseline", "avx2", "avx512")
    parts = [one["part"] for one in report["findings"]]
    assert parts.count("device") == _core.device_count()
    used = [one for one in report["findings"] if one["facts"].get("used") == "true"]
    assert len(used) <= 1
    for one in used:
        assert one["facts"]["ptx"].count(".") == 1
        assert one["facts"]["identity"]


def test_a_machine_with_nothing(tmp_path: Path) -> None:
    """No site-packages, no PATH, no HOME: it says what to install, and that is no failure."""
    package = str(Path(_core.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-S", "-m", "pyptx", "doctor", "--color", "never"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"PYTHONPATH": package},
    )
    assert done.stderr == ""
    assert "absent  torch: " in done.stdout
    assert "-> pip install torch" in done.stdout
    assert "absent  numpy: " in done.stdout
    assert "no folder is named" in done.stdout
    assert "-> set PYPTX_CACHE_DIR" in done.stdout
    assert "good    CPU emulator: " in done.stdout
    if "absent  libcuda" in done.stdout:
        assert "kernels run on the emulator" in done.stdout
        assert done.returncode == 0, done.stdout


def test_what_was_asked_for_and_is_not_there_is_broken(tmp_path: Path) -> None:
    status, found = findings(
        PYPTX_PTXAS="/no/such/ptxas",
        PYPTX_NVJITLINK="/no/such/library",
        PYPTX_CACHE_DIR="/dev/null/cubins",
    )
    assert status == 1
    assert found["ptxas"]["state"] == "broken"
    assert found["ptxas"]["remedy"] == "correct or unset PYPTX_PTXAS"
    assert "/no/such/library" in found["nvJitLink"]["detail"]
    assert found["/dev/null/cubins"]["state"] == "broken"
    assert "PYPTX_CACHE_DIR" in found["/dev/null/cubins"]["remedy"]
    status, found = findings(PYPTX_LIBCUDA="/no/such/libcuda.so", PYPTX_CACHE_DIR=str(tmp_path))
    assert status == 1
    assert found["libcuda"]["state"] == "broken"


def test_a_read_only_cache_is_of_use(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    prefix = on_small_disk(folder, 'mount -o remount,ro "$0"', 64)
    _, found = findings(prefix, PYPTX_CACHE_DIR=str(folder))
    assert found[str(folder)]["state"] == "good"
    assert found[str(folder)]["detail"].endswith(", read-only")
    assert found[str(folder)]["facts"]["writable"] == "false"


def test_a_framework_that_does_not_import_is_broken(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise ImportError('libsomething.so is missing')")
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    status, found = findings(PYTHONPATH=path)
    assert status == 1
    assert found["numpy"]["state"] == "broken"
    assert "libsomething.so is missing" in found["numpy"]["detail"]
    assert "pip install numpy" in found["numpy"]["remedy"]


WITH_TORCH = WITHOUT_FRAMEWORKS.replace('sys.modules["torch"] = ', "")


@pytest.mark.parametrize(
    ("text", "state", "detail"),
    [
        (None, "absent", "only a folder is called so ("),
        ("import sys; sys.exit(3)", "broken", "it does not import: SystemExit: 3"),
        ("", "broken", "module 'torch' has no attribute '__version__'"),
    ],
    ids=["folder", "exit", "empty"],
)
def test_what_is_called_torch_and_is_not(
    tmp_path: Path, text: str | None, state: str, detail: str
) -> None:
    (tmp_path / "torch").mkdir()
    if text is not None:
        (tmp_path / "torch" / "__init__.py").write_text(text)
    others = [path for path in filter(None, sys.path) if not Path(path, "torch").is_dir()]
    packages = tmp_path / "packages"  # of NumPy alone
    packages.mkdir()
    numpy = importlib.util.find_spec("numpy")
    if numpy is not None and numpy.origin is not None:
        (packages / "numpy").symlink_to(Path(numpy.origin).parent)
    done = subprocess.run(
        [sys.executable, "-S", "-c", WITH_TORCH, "doctor", "--json"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(packages), *others])},
    )
    assert done.stderr == ""
    found = by_subject(json.loads(done.stdout))
    assert found["torch"]["state"] == state
    assert detail in found["torch"]["detail"]
    assert "pip install torch" in found["torch"]["remedy"]
    assert done.returncode == (1 if state == "broken" else 0)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("PYPTX_CACHE", "off", "expected 0 (no cubins on disk) or 1"),
        ("PYPTX_CACHE_SIZE", "abc", "expected a number of bytes, or one with K, M or G: 512M"),
        ("PYPTX_CACHE_SIZE", "1.5G", "expected a number of bytes"),
        ("PYPTX_TORCH_INTERNALS", "off", "expected 0 (torch's tensors by DLPack alone) or 1"),
    ],
)
def test_settings_that_are_not_heeded_are_broken(name: str, value: str, expected: str) -> None:
    status, found = findings(**{name: value})
    assert status == 1
    assert found[name]["state"] == "broken"
    assert f"it is {value!r}, which is not heeded; {expected}" in found[name]["detail"]
    assert found[name]["remedy"] == f"correct or unset {name}"


def test_settings_that_are_understood_are_not_mentioned(tmp_path: Path) -> None:
    status, found = findings(PYPTX_CACHE="1", PYPTX_CACHE_SIZE="64K", PYPTX_CACHE_DIR=str(tmp_path))
    assert status == 0
    assert not {"PYPTX_CACHE", "PYPTX_CACHE_SIZE"} & found.keys()
    assert found[str(tmp_path)]["facts"]["limit"] == "65536"


def test_what_is_required() -> None:
    status, text = doctor("--require", "torch")
    assert status == 1
    assert "required and not there: torch" in text
    status, text = doctor("--require", "cobol")
    assert status == 2
    assert "--require does not know 'cobol'" in text


@pytest.mark.parametrize("words", [("--help",), ("--nonsense",)])
def test_wrong_use_and_help(words: tuple[str, ...]) -> None:
    status, text = doctor(*words)
    assert status == (0 if words == ("--help",) else 2)
    assert "pyptx doctor" in text
