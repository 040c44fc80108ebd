# SPDX-License-Identifier: Apache-2.0
"""The page of a view: one HTML text of the files in `page/` and the data as JSON.

It asks for nothing from anywhere, and says so in a policy that the browser holds it to: only the
scripts and styles whose hashes stand there run. Whatever a kernel's names and strings are, they are
data: JSON without `<`, which the scripts show as text.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

#: In the order in which they run.
_SCRIPTS = ("model.js", "colour.js", "pane.js", "detail.js", "timeline.js", "view.js")
_MARK = re.compile(r"\{\{(\w+)\}\}")
_DIFF_SCRIPTS = ("colour.js", "pane.js", "diff.js")


def of(data: Mapping[str, Any]) -> str:
    """Return the page that shows this data."""
    is_diff = "sides" in data
    style = _file("style.css")
    scripts = "\n".join(_file(name) for name in (_DIFF_SCRIPTS if is_diff else _SCRIPTS))
    title = " and ".join(data["titles"]) if is_diff else data["title"]
    policy = (
        f"default-src 'none'; script-src '{_hash(scripts)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": html.escape(policy),
        "title": html.escape(str(title)),
        "style": style,
        "body": _file("diff.html" if is_diff else "view.html"),
        "data": _json(data),
        "scripts": scripts,
    }
    # One pass over the template: what a kernel brings is not looked through for marks.
    return _MARK.sub(lambda mark: parts[mark[1]], _file("page.html"))


def _json(data: Mapping[str, Any]) -> str:
    """Return JSON that cannot end the element it stands in."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _file(name: str) -> str:
    return resources.files("pyptx._view").joinpath("page", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
