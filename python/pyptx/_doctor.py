# SPDX-License-Identifier: Apache-2.0
"""What `pyptx doctor` knows only by Python: this interpreter, its tools and its frameworks.

Imports the frameworks, which is what it is for: one that does not import is a finding.
"""

from __future__ import annotations

import importlib
import os
import platform
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

from pyptx import _core, _toolchain

_INTERNALS = "PYPTX_TORCH_INTERNALS"


class Finding(NamedTuple):
    """One thing that was looked for, as the core shows it."""

    part: str
    subject: str
    state: str  # "good", "absent", "broken"
    detail: str
    remedy: str = ""
    facts: tuple[tuple[str, str], ...] = ()


def findings() -> list[Finding]:
    """Look for everything; nothing here raises."""
    _toolchain.announce_folders()
    found = [_python(), *_settings(), *_tools()]
    for name, look in (("numpy", _numpy), ("torch", _torch), ("jax", _jax)):
        try:
            found += look()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # an installation in disorder, and one that calls sys.exit
            found.append(_unusable(name, error, f"pip install {name}"))
    return found


def _python() -> Finding:
    version = platform.python_version()
    package = str(Path(_core.__file__).parent)
    facts = (("version", version), ("executable", sys.executable), ("package", package))
    return Finding(
        "python", f"Python {version}", "good", f"{sys.executable}, pyptx in {package}", "", facts
    )


def _settings() -> list[Finding]:
    """Say which variables of the environment are not understood, and so not heeded."""
    found = []
    for name, pattern, expected in (
        ("PYPTX_CACHE", "[01]?", "0 (no cubins on disk) or 1 (which is the default)"),
        ("PYPTX_CACHE_SIZE", "([0-9]+[KMG]?)?", "a number of bytes, or one with K, M or G: 512M"),
        (_INTERNALS, "[01]?", "0 (torch's tensors by DLPack alone) or 1 (which is the default)"),
    ):
        value = os.environ.get(name, "")
        if re.fullmatch(pattern, value) is None:
            words = f"it is {value!r}, which is not heeded; expected {expected}"
            found.append(Finding("setting", name, "broken", words, f"correct or unset {name}"))
    return found


def _tools() -> list[Finding]:
    found = []
    for name, purpose in (("nvdisasm", "Kernel.sass and Kernel.report"), ("cuobjdump", "")):
        path = _toolchain.find_tool(name)
        if path is not None:
            found.append(Finding("tool", name, "good", str(path), "", (("path", str(path)),)))
        elif purpose:
            wheels = _toolchain.wheels_of("cuobjdump")
            found.append(
                Finding("tool", name, "absent", f"{purpose} need it", f"pip install {wheels}")
            )
    return found


def _import(name: str, wanted_for: str, install: str) -> Any:
    """Return a framework's module, or the finding that says why there is none."""
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name in (name, None):
            return Finding("framework", name, "absent", wanted_for, install)
        return _unusable(name, error, install)
    if getattr(module, "__file__", None) is None:
        # Any folder of that name on sys.path imports, as a namespace without contents.
        folders = ", ".join(dict.fromkeys(getattr(module, "__path__", ())))
        words = f"{wanted_for}: only a folder is called so ({folders})"
        return Finding("framework", name, "absent", words, install)
    return module


def _unusable(name: str, error: BaseException, install: str) -> Finding:
    words = f"it does not import: {type(error).__name__}: {error}"
    return Finding("framework", name, "broken", words, f"install it anew: {install}")


def _numpy() -> list[Finding]:
    numpy = _import("numpy", "NumPy arrays are not there to be emulated", "pip install numpy")
    if isinstance(numpy, Finding):
        return [numpy]
    version = str(numpy.__version__)
    where = "its arrays run on the emulator"
    return [Finding("framework", f"numpy {version}", "good", where, "", (("version", version),))]


def _has_device() -> bool:
    has_driver, _ = _core.driver_status()
    return has_driver and _core.device_count() > 0


def _torch() -> list[Finding]:
    torch = _import("torch", "kernels cannot be called with its tensors", "pip install torch")
    if isinstance(torch, Finding):
        return [torch]
    version, cuda = str(torch.__version__), torch.version.cuda
    name = f"torch {version}"
    facts = (("version", version), ("cuda", str(cuda or "")))
    if cuda is None:
        # Where there is no GPU either, nothing is missing.
        remedy = "install a build of torch with CUDA" if _has_device() else ""
        built = Finding("framework", name, "good", "built without CUDA: CPU tensors", remedy, facts)
    elif torch.cuda.is_available():
        count = torch.cuda.device_count()
        words = f"CUDA {cuda}, {count} device{'s' if count > 1 else ''}"
        built = Finding("framework", name, "good", words, "", facts)
    else:
        state = "broken" if _has_device() else "good"
        remedy = "python -c 'import torch; torch.cuda.init()' says why" if _has_device() else ""
        words = f"built for CUDA {cuda}, but it sees no device"
        built = Finding("framework", name, state, words, remedy, facts)
    return [built, _torch_entry()]


def _torch_entry() -> Finding:
    try:
        reason = _core.torch_indirect(None)
    except Exception as error:  # a torch that lacks what the entry needs
        words = f"calls cannot use the C entry: {type(error).__name__}: {error}"
        return Finding("framework", "torch entry", "broken", words, "pip install --upgrade torch")
    if reason:
        if not reason.startswith(_INTERNALS):
            reason = f"torch's layout failed its self-test: {reason}"
        words = f"tensors are read through DLPack, which is slower: {reason}"
        return Finding("framework", "torch entry", "absent", words)
    words = (
        "tensors are read and made directly: torch's layout passed its self-test; "
        f"{_INTERNALS}=0 reads them through DLPack"
    )
    return Finding("framework", "torch entry", "good", words)


def _jax() -> list[Finding]:
    # A look must not take most of the GPU's memory from others.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    cuda = "pip install 'jax[cuda13]'"
    install = cuda if _has_device() else "pip install jax"
    jax = _import("jax", "kernels cannot be called from jax.jit", install)
    if isinstance(jax, Finding):
        return [jax]
    backends = sorted({device.platform for device in jax.devices()} | {"cpu"})
    version, jaxlib = str(jax.__version__), str(jax.lib.__version__)
    remedy = cuda if _has_device() and backends == ["cpu"] else ""
    facts = (("version", version), ("jaxlib", jaxlib), ("platforms", " ".join(backends)))
    words = f"jaxlib {jaxlib}, platforms: {', '.join(backends)}"
    built = Finding("framework", f"jax {version}", "good", words, remedy, facts)
    return [built, _jax_handlers()]


def _jax_handlers() -> Finding:
    from pyptx._jax import call_site as glue

    problem = glue.registration_problem()
    if problem is not None:
        remedy = "pip install --upgrade jax jaxlib, or a pyptx built with XLA's headers"
        return Finding("framework", "jax handlers", "broken", problem, remedy)
    platforms = ", ".join(sorted(_core.xla_target_capsules()))
    return Finding("framework", "jax handlers", "good", f"registered for {platforms}")
