# SPDX-License-Identifier: Apache-2.0
"""One browser for all tests of pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from browser import Browser, Page
from pyptx._view.view import View


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    started = Browser()
    yield started
    started.close()


class Opener:
    """Opens views in tabs of their own, and holds each to having said nothing on its console."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self._browser, self._folder = browser, folder
        self._pages: list[Page] = []

    def __call__(self, view: View, width: int = 1500, scheme: str = "light") -> Page:
        page = self._browser.page(width)
        page.prefer(scheme)
        path = view.save(self._folder / f"page{len(self._pages)}.html")
        self._pages.append(page)
        page.open(path)
        page.wait_for("document.documentElement.dataset.readyMs !== undefined")
        page.settle()
        return page

    def close(self) -> None:
        for page in self._pages:
            found = page.errors()
            page.close()
            assert found == []


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Opener]:
    opener = Opener(browser, tmp_path)
    yield opener
    opener.close()
