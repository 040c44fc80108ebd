# SPDX-License-Identifier: Apache-2.0
"""The committed pictures of docs/guide/layouts.md are what the package draws."""

from __future__ import annotations

import re

from isagen import committed
from layouts.__main__ import PICTURES, pictures
from support.tree import ROOT

FOLDER = ROOT / "docs/guide/pictures"


def test_the_pictures_are_up_to_date():
    assert committed.stale(FOLDER, pictures(), "*.svg") == []


def test_a_picture_that_differs_is_found(tmp_path):
    committed.write(tmp_path, {"mma_a.svg": "<svg/>"}, "*.svg")
    assert "mma_a.svg" in committed.stale(tmp_path, pictures(), "*.svg")


def test_every_picture_is_on_the_page():
    page = (ROOT / "docs/guide/layouts.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\]\(pictures/(\w+)\.svg\)", page)) == sorted(PICTURES)
