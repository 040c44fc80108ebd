# SPDX-License-Identifier: Apache-2.0
"""What a notebook shows of each object: HTML that is well formed, and that nothing escapes from."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

import numpy as np

import pyptx
from pyptx import Tile, kernel, ptx
from pyptx.types import f32
from support.viewed_kernels import HOSTILE, build_sum_of_two, sum_view

_EMPTY = {"br", "meta", "img", "input", "link"}


class _Balance(HTMLParser):
    """Holds every element to being closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in _EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def _shown(fragment: str) -> str:
    parser = _Balance()
    parser.feed(fragment)
    parser.close()
    assert parser.open == []
    return "".join(parser.texts)


def test_a_view_is_a_frame_of_its_own() -> None:
    fragment = sum_view()._repr_html_()
    _shown(fragment)
    page = re.search(r'srcdoc="([^"]*)"', fragment)
    assert page is not None
    assert html.unescape(page[1]) == sum_view().html
    assert 'sandbox="allow-scripts' in fragment


def test_kernels_and_modules_show_their_page() -> None:
    k = build_sum_of_two()
    for fragment in (k._repr_html_(), k.module()._repr_html_()):
        assert fragment.startswith("<iframe")
        assert "sum_of_two" in html.unescape(fragment)


def test_a_kernel_of_any_size_says_what_it_takes() -> None:
    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=(1,))
    def open_kernel(X, Y, *, LIMIT=HOSTILE):
        ptx.ret()

    shown = _shown(open_kernel._repr_html_())
    assert "open_kernel.view(N=...)" in shown
    assert HOSTILE in shown
    assert "<img" not in open_kernel._repr_html_()


def test_a_kernel_that_is_refused_shows_why() -> None:
    @kernel(arch="sm_80")
    def too_new():
        ptx.wgmma.fence()

    assert "PTX0302" in _shown(too_new._repr_html_())


def test_reports_and_findings() -> None:
    k = build_sum_of_two()
    ones = np.ones(64, np.float32)
    _, run = k.emulate(ones, ones, report=True)
    assert "warp instructions" in _shown(run._repr_html_())
    costs = _shown(k.report()._repr_html_())
    assert "registers" in costs
    assert re.search(r"viewed_kernels.py:\d+\d* ?PTX|viewed_kernels.py:\d+", costs)
    (found,) = pyptx.verify(f".version 8.0\n.target sm_80\n.address_size 64\n// {HOSTILE}\nfoo;")[
        :1
    ]
    fragment = found._repr_html_()
    assert found.code in _shown(fragment)
    assert "<img" not in fragment


def test_reprs_are_worth_reading() -> None:
    assert repr(sum_view()).startswith("<View of sum_of_two, ")
