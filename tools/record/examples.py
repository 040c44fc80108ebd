# SPDX-License-Identifier: Apache-2.0
"""The examples as modules: three of them are called gemm, so each is loaded by its path."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@cache
def example(path: str) -> ModuleType:
    """Return the module of `examples/<path>.py`, which may import its neighbours."""
    file = EXAMPLES / f"{path}.py"
    spec = importlib.util.spec_from_file_location(f"example_{path.replace('/', '_')}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(file.parent))
    try:
        spec.loader.exec_module(module)
    finally:  # so that `import gemm` elsewhere does not find this folder's
        sys.path.remove(str(file.parent))
    return module
