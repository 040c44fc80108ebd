# SPDX-License-Identifier: Apache-2.0
"""The page as its readers have it: in a browser, by mouse and by keys, dark, narrow and long."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from browser import Browser, Page
from pyptx._view.diff import view_of_two
from pyptx._view.view import View, view_of_text
from support.viewed_kernels import HOSTILE, build_long, build_sum_of_two, gemm_view, sum_view


def _texts(page: Page, selector: str) -> list[str]:
    found: list[str] = page.js(
        f"[...document.querySelectorAll({selector!r})].map(e => e.textContent)"
    )
    return found


def _code(page: Page, pane: str, state: str) -> list[str]:
    """Return the code of the rows of a pane that look so."""
    return [text.strip() for text in _texts(page, f"[id^='{pane}-'].{state} .code")]


def _row(view: View, pane: str, text: str) -> int:
    return next(i for i, line in enumerate(view.data[pane]["lines"]) if text in line)


def test_three_panes_and_what_the_kernel_costs(opened: Any) -> None:
    page = opened(sum_view())
    titles = _texts(page, ".pane > h2")
    for title, start in zip(titles, ("Source", "PTX", "SASS"), strict=True):
        assert title.startswith(start)
    assert page.js("document.getElementById('title').textContent") == "sum_of_two"
    facts = dict(zip(_texts(page, "#facts dt"), _texts(page, "#facts dd"), strict=True))
    assert facts["spills"] == "none"
    assert facts["threads"] == "32"
    assert page.js("document.getElementById('notices').hidden")


def test_pointing_at_a_line_marks_what_it_is_linked_to(opened: Any) -> None:
    view = sum_view()
    page = opened(view)
    row = _row(view, "source", "# the helper's line")
    page.js(f"panes.source.show({row}, true)")
    page.mouse(f"#source-{row} .code")
    assert [text for text in _code(page, "ptx", "linked") if "ld.global.f32" in text]
    assert len(_code(page, "ptx", "linked")) == 2
    assert all("LDG" in text for text in _code(page, "sass", "linked"))
    # And the other way round, from machine code to the helper and to who called it.
    load = _row(view, "sass", "LDG")
    page.js(f"panes.sass.show({load}, true)")
    page.mouse(f"#sass-{load} .code")
    (inner,) = _code(page, "source", "linked")
    assert "# the helper's line" in inner
    (outer,) = _code(page, "source", "outer")
    assert outer.endswith("call")
    # A moment later it is told in words.
    page.wait_for("!document.getElementById('tip').hidden")
    assert "waits for" in page.js("document.getElementById('tip').textContent")


def test_a_click_stays_and_the_other_panes_follow(opened: Any) -> None:
    view = gemm_view()
    page = opened(view)
    store = next(
        i
        for i, line in reversed(list(enumerate(view.data["sass"]["lines"])))
        if line.startswith("STG")
    )
    page.js(f"panes.sass.show({store}, true)")
    page.mouse(f"#sass-{store} .code", click=True)
    page.mouse("#title")
    assert page.js("state.pinned.row") == store
    line = view.data["sass"]["ptx"][store]
    box = f"document.getElementById('ptx-{line}').getBoundingClientRect()"
    assert (
        0
        < page.js(f"{box}.top")
        < page.js("document.getElementById('drawer').getBoundingClientRect().top")
    )
    assert _code(page, "ptx", "linked") == [view.data["ptx"]["lines"][line].strip()]
    words = page.js("document.getElementById('line').textContent")
    assert "st.global.v2.f32" in words
    assert "cycle" in words
    assert "live" in words
    assert "called from" in words


def test_the_table_explains_an_instruction(opened: Any) -> None:
    view = gemm_view()
    page = opened(view)
    row = _row(view, "ptx", "wgmma.mma_async")
    page.js(f"panes.ptx.show({row}, true)")
    page.mouse(f"#ptx-{row} .no")
    page.wait_for("!document.getElementById('tip').hidden")
    assert page.js("document.getElementById('tip').textContent").startswith("wgmma.mma_async")
    page.mouse(f"#ptx-{row} .no", click=True)
    page.mouse("#line .draw", click=True)  # which lane holds what
    page.wait_for("document.querySelector('#picture img').naturalWidth > 200")
    assert page.js("document.getElementById('picture').open")


def test_by_keys_alone(opened: Any) -> None:
    view = sum_view()
    page = opened(view)
    page.js("panes.ptx.rows.focus()")
    start = page.js("panes.ptx.cursor")
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "j"):
        page.key(key)
    assert page.js("[state.pinned.pane, state.pinned.row]") == ["ptx", start + 2]
    page.key("End")
    assert page.js("state.pinned.row") == len(view.data["ptx"]["lines"]) - 1
    row = _row(view, "ptx", "ld.global.f32")
    page.js(f"pin('ptx', {row})")
    page.key("ArrowRight")
    assert page.js("document.activeElement === panes.sass.rows")
    assert page.js("data.sass.lines[state.pinned.row]").startswith("LDG")
    page.key("ArrowLeft")
    page.key("ArrowLeft")
    assert page.js("document.activeElement === panes.source.rows")
    assert "# the helper's line" in page.js("data.source.lines[state.pinned.row]")
    page.key("h")
    assert page.js("document.getElementById('heat').selectedIndex") == 1
    page.key("g")
    assert page.js("heat[1].sums.source[state.pinned.row] === heat[1].most.source")
    page.key("c")
    assert page.js("!document.getElementById('counts').hidden")
    page.key("x")
    assert page.js("document.getElementById('drawer').classList.contains('folded')")
    page.key("?")
    assert page.js("document.getElementById('help').open")


def test_search_goes_through_all_panes(opened: Any) -> None:
    view = sum_view()
    page = opened(view)
    page.js("panes.source.rows.focus()")
    page.key("/")
    page.write("ADD.F32")  # upper or lower case
    wanted = [
        (pane, row)
        for pane in ("source", "ptx", "sass")
        for row, line in enumerate(view.data[pane]["lines"])
        if "add.f32" in line.lower()
    ]
    assert page.js("document.getElementById('found').textContent") == f"1 of {len(wanted)}"
    seen = [tuple(page.js("[state.pinned.pane, state.pinned.row]"))]
    for _ in wanted[1:]:
        page.key("Enter", "\r")
        seen.append(tuple(page.js("[state.pinned.pane, state.pinned.row]")))
    assert seen == wanted
    page.key("Escape")
    assert page.js("document.getElementById('found').textContent") == ""
    page.key("/")
    page.write("no such thing")
    assert page.js("document.getElementById('found').textContent") == "none"


def test_dark_and_light(opened: Any) -> None:
    def brightness(page: Page) -> float:
        colour = page.js(
            "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
        )
        return sum(colour[:3]) / 3

    page = opened(sum_view(), scheme="dark")
    assert brightness(page) < 60
    page.mouse("#theme", click=True)
    assert brightness(page) > 200
    page.key("d")
    assert brightness(page) < 60
    page.prefer("light")
    assert brightness(page) < 60  # the reader's choice stands


@pytest.mark.parametrize("width", [380, 700])
def test_a_narrow_window_shows_a_pane_at_a_time(opened: Any, width: int) -> None:
    view = sum_view()
    page = opened(view, width=width)
    assert page.js("document.documentElement.scrollWidth") <= width
    shown = "[...document.querySelectorAll('.pane')].filter(e => e.offsetWidth).length"
    assert page.js(shown) == 1
    page.mouse("#tabs button[data-pane=sass]", click=True)
    assert page.js("panes.sass.element.offsetWidth") == pytest.approx(width, abs=2)
    assert page.js(shown) == 1
    row = _row(view, "sass", "LDG")
    page.js(f"panes.sass.show({row}, true)")
    page.mouse(f"#sass-{row} .code", click=True)
    page.mouse("#tabs button[data-pane=source]", click=True)  # which goes to what is linked
    assert any("# the helper's line" in text for text in _code(page, "source", "linked"))


def test_fifty_thousand_instructions(opened: Any) -> None:
    """However long a kernel is, what is in sight is all that is in the document."""
    view = build_long(25_000).view()
    lines = {pane: len(view.data[pane]["lines"]) for pane in ("ptx", "sass")}
    assert min(lines.values()) > 49_000
    assert any("has too many" in one or "takes too long" in one for one in view.data["notices"])
    page = opened(view)
    for pane in ("sass", "ptx"):
        row = int(lines[pane] * 0.7)
        page.js(f"pin({pane!r}, {row}, {{centred: true}})")
        page.settle()
        assert page.js(f"document.querySelectorAll('#{pane}-{row}.pinned').length") == 1
        assert page.js("document.querySelectorAll('*').length") < 3000
    row = page.js("panes.source.cursor")
    page.js(f"pin('source', {row})")
    assert page.js("state.linked.ptx.size") > 10_000
    assert page.js("document.querySelectorAll('*').length") < 3000


def test_nothing_a_kernel_says_becomes_markup(opened: Any, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(f"// {HOSTILE}\nvoid k() {{}}\n")
    text = (
        f'.version 8.0\n.target sm_80\n.address_size 64\n.file 1 "k.cu"\n// {HOSTILE}\n'
        ".visible .entry k()\n{\n.loc 1 1 1\nret;\n}\n"
    )
    view = view_of_text(text, str(tmp_path / "k.ptx"))
    view.data["title"] = view.data["facts"][0][2] = HOSTILE
    view.data["notices"].append(HOSTILE)
    view.data["findings"].append(
        {
            "severity": "error",
            "code": HOSTILE,
            "title": HOSTILE,
            "text": HOSTILE + "\n",
            "source": [1],
            "ptx": [4],
            "sass": [],
        }
    )
    page = opened(view)
    assert page.js("document.images.length") == 0
    assert page.js("document.getElementById('title').textContent") == HOSTILE
    assert page.js("document.title") == HOSTILE + " · pyptx"
    assert any(HOSTILE in text for text in _texts(page, "#ptx-4 .code"))
    assert any(HOSTILE in text for text in _texts(page, "#source-1 .code"))
    assert HOSTILE in page.js("document.getElementById('findings').textContent")


def test_what_is_not_there_is_said(opened: Any) -> None:
    text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\nrett;\n}\n"
    page = opened(view_of_text(text, "k.ptx"))
    notices = _texts(page, "#notices li")
    assert any("the assembler refused" in one for one in notices)
    (only,) = _texts(page, ".pane > h2")
    assert only.startswith("PTX")
    assert page.js("!document.getElementById('findings').hidden")
    assert page.js("document.querySelectorAll('#ptx-5 .mark.error').length") == 1


def test_the_timeline_tells_who_ended_a_wait(opened: Any) -> None:
    view = gemm_view()
    page = opened(view)
    page.key("t")
    page.settle()
    tracks = view.data["timeline"]["tracks"]
    wait = next(
        (lane, i)
        for lane, track in enumerate(tracks)
        for i in range(0, len(track["waits"]), 7)
        if track["waits"][i + 1] > 20 and track["waits"][i + 6]
    )
    lane, i = wait
    middle = tracks[lane]["waits"][i] + tracks[lane]["waits"][i + 1] / 2
    page.js(f"timeline.scroll.scrollTop = timeline.lanes[{lane}].y - 40")
    page.settle()
    x, y = page.js(
        "(() => { const b = timeline.canvas.getBoundingClientRect();"
        f"return [b.left + timeline.x({middle}), b.top + timeline.lanes[{lane}].y + 7]; }})()"
    )
    page.mouse_at(x, y)
    words = page.js("document.getElementById('tip').textContent")
    assert "waits for mbarrier" in words
    assert "ended by what was under way of warp 0" in words
    assert "cp.async.bulk.tensor" in words
    assert page.js("timeline.chosen !== null")
    page.mouse_at(x, y, click=True)
    assert "mbarrier.try_wait" in page.js("data.ptx.lines[state.pinned.row]")
    page.js("timeline.canvas.focus()")
    page.key("+")
    assert page.js("timeline.to - timeline.from") < view.data["timeline"]["end"]
    page.key("0")
    assert page.js("timeline.to - timeline.from") == view.data["timeline"]["end"]


def test_two_kernels_beside_each_other(opened: Any) -> None:
    one, other = build_sum_of_two().view().data, build_sum_of_two("sm_90a").view().data
    page = opened(view_of_two(one, other, ["for Ampere", "for Hopper"]))
    assert _texts(page, ".pane > h2")[0].startswith("for Ampere")
    assert "alike" in _texts(page, "#tabs button")[0]
    page.mouse("#tabs button[data-pane=ptx]", click=True)
    assert _texts(page, "#a-1 .code") == [".target sm_80"]
    assert _texts(page, "#b-1 .code") == [".target sm_90a"]
    assert page.js("document.getElementById('a-1').classList.contains('changed')")
    page.mouse("#tabs button[data-pane=sass]", click=True)
    first = page.js("state.at")
    page.key("n")
    assert page.js("state.at") > first
    page.key("p")
    assert page.js("state.at") == first
    page.js("panes[0].rows.scrollTop = 120")
    page.settle()
    assert page.js("panes[1].rows.scrollTop") == page.js("panes[0].rows.scrollTop")
    page.key("/")
    page.write("ldg")
    assert page.js("document.getElementById('found').textContent").startswith("1 of")


def test_a_browser_that_finds_an_error_says_so(browser: Browser, tmp_path: Path) -> None:
    """What holds every page of these tests to its silence is itself held to hearing something."""
    file = tmp_path / "loud.html"
    file.write_text(
        "<script>console.warn('loud'); fetch('http://localhost:9/'); missing();</script>"
    )
    page = browser.page()
    page.open(file)
    wanted = ("loud", "missing", "http://localhost:9/")
    for _ in range(200):  # what it asks the network for is told a little later
        found = " ".join(page.errors())
        if all(word in found for word in wanted):
            break
        time.sleep(0.05)
    page.close()
    assert all(word in found for word in wanted), found
