# SPDX-License-Identifier: Apache-2.0
"""Makes this virtual environment know this checkout, as if the package were installed in it.

`import pyptx` finds the package in python/, and the commands of pyproject.toml are beside `python`.
"""

import sys
import sysconfig
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

SCRIPT = """\
#!{python}
import sys

from {module} import {function}

sys.exit({function}())
"""


def link(site: Path, scripts: Path) -> None:
    """Write the path file into `site` and the commands into `scripts`."""
    (site / "pyptx.pth").write_text(f"{ROOT / 'python'}\n", encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for name, entry in project["scripts"].items():
        module, function = entry.split(":")
        path = scripts / name
        text = SCRIPT.format(python=sys.executable, module=module, function=function)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)


if __name__ == "__main__":
    link(Path(sysconfig.get_path("purelib")), Path(sysconfig.get_path("scripts")))
