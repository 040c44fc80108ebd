# SPDX-License-Identifier: Apache-2.0
"""Makes `import pyptx` in this virtual environment find the package in python/ of this checkout."""

import sysconfig
from pathlib import Path

package_root = Path(__file__).resolve().parent.parent / "python"
site = Path(sysconfig.get_paths()["purelib"])
(site / "pyptx_checkout.pth").write_text(f"{package_root}\n", encoding="utf-8")
