# SPDX-License-Identifier: Apache-2.0
"""The command `pyptx layout` and what its pictures are as text and as SVG."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from pyptx import ArgumentValueError, _svg, layout
from pyptx._layout import command

EXAMPLES = re.findall(r"^ +pyptx layout (.+)$", command._EXAMPLES, re.M)


def words(line: str) -> list[str]:
    return re.findall(r"'[^']*'|\S+", line.replace(" -o fragment.svg", ""))


@pytest.mark.parametrize("line", EXAMPLES)
def test_every_example_of_the_help_is_drawn(line, capsys, tmp_path):
    given = [word.strip("'") for word in words(line)]
    assert command.main(given) == 0
    text = capsys.readouterr().out
    assert len(text.splitlines()) > 3
    file = tmp_path / "picture.svg"
    assert command.main([*given, "-o", str(file)]) == 0
    root = ElementTree.fromstring(file.read_text(encoding="utf-8"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert [child.tag.split("}")[1] for child in root][:2] == ["title", "desc"]
    assert layout.show(*given).text() == text


def test_svg_stands_by_itself():
    picture = layout.show("mma m16n8k16 f16")
    svg = picture.svg()
    outside = re.findall(r"(?:href|src|url)\s*[=(]", svg)
    assert not outside
    assert "<script" not in svg
    assert " id=" not in svg
    assert "prefers-color-scheme:dark" in svg
    assert picture._repr_svg_() == svg
    assert svg in picture._repr_html_()
    root = ElementTree.fromstring(svg)
    width, height = (float(root.get(name)) for name in ("width", "height"))
    for box in root.iter("{http://www.w3.org/2000/svg}rect"):
        x, y = float(box.get("x", 0)), float(box.get("y", 0))
        assert x + float(box.get("width")) <= width
        assert y + float(box.get("height")) <= height


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_words_are_readable_on_every_colour():
    """The contrast that WCAG asks for, 4.5 to 1."""
    for colours, boxes in (
        (_svg._LIGHT, [*_svg._LIGHT_GROUPS, *_svg._LIGHT_HEATS]),
        (_svg._DARK, [*_svg._DARK_GROUPS, *_svg._DARK_HEATS]),
    ):
        pairs = [(colours["ink"], box) for box in (*boxes, colours["none"])]
        pairs += [(colours[name], colours["paper"]) for name in ("ink", "dim", "bad")]
        for ink, box in pairs:
            high, low = sorted((luminance(ink), luminance(box)), reverse=True)
            assert (high + 0.05) / (low + 0.05) >= 4.5, (ink, box)


BAD = [
    ("mma m17n8k16", "PTX0720", "m16n8k16"),
    ("mma m16n8k16 f33", "PTX0720", "f16"),
    ("frobnicate", "PTX0720", "mma"),
    ("wgmma m64n12k16 f16", "PTX0720", "m64n8k16"),
    ("mma m16n8k4 f16", "PTX0720", "m16n8k8 m16n8k16 with f16"),
    ("fragment mma m16n8k16 f16 --operand q", "PTX0720", "a, b, c"),
    ("swizzle 96B", "PTX0720", "64B"),
    ("swizzle 64B --rows 0", "PTX0721", "from 1 to 256"),
    ("tile bf16 60x64", "PTX0721", "multiple of 8"),
    ("tile e9m9 64x64", "PTX0720", "e4m3"),
    ("tile bf16 64", "PTX0721", "two whole numbers"),
    ("banks lane**2", "PTX0721", "lane"),
    ("banks lane//0", "PTX0721", "lane"),
    ("banks 0,4 --bytes 3", "PTX0721", "1, 2, 4, 8 or 16"),
    ("box bf16 10x60 8x32 --at 0,0", "PTX0721", "multiple of 16"),
    ("box bf16 10x64 8x32 --at 0", "PTX0721", "2 coordinates"),
    ("box bf16 10x64 8x32 --at 0,0 --mode im2col", "PTX0721", "no bounding box"),
    ("descriptor gemm 0x1", "PTX0720", "tcgen05"),
    ("descriptor wgmma 0x10000000000000000", "PTX0721", "64 bits"),
    ("instruction f17 0x1", "PTX0720", "f8f6f4"),
    ("accumulator 96x64", "PTX0721", "64 or 128"),
]


@pytest.mark.parametrize(("line", "code", "said"), BAD)
def test_what_there_is_not_is_refused_with_what_there_is(line, code, said, capsys):
    assert command.main(line.split()) == 1
    shown = capsys.readouterr().err
    assert code in shown
    assert said in shown
    with pytest.raises(ArgumentValueError) as caught:
        layout.show(line)
    assert caught.value.diagnostics[0].code == code


@pytest.mark.parametrize("line", ["", "swizzle", "tile bf16 64x", "banks", "swizzle 64B --what"])
def test_a_command_that_is_none_is_told_so(line, capsys):
    assert command.main(line.split()) == 2
    assert capsys.readouterr().err
    with pytest.raises(ArgumentValueError, match="PTX0721"):
        layout.show(line)


def test_help_lists_the_kinds(capsys):
    assert command.main(["--help"]) == 0
    said = capsys.readouterr().out
    for kind in command._KINDS:
        assert kind in said or kind == "fragment"


def test_a_descriptor_goes_into_a_number_and_back():
    made = layout.descriptor(of="wgmma", start=0x4000, leading_bytes=16, stride_bytes=1024)
    number = made.parts[0].value
    assert layout.descriptor(number).facts["fields"]["stride byte offset / 16"] == 64
    assert layout.descriptor(number).facts["encoded"] == number
    assert "mean nothing" in layout.descriptor(number | 1 << 15).problem
    assert layout.instruction_descriptor(0).problem
    with pytest.raises(ArgumentValueError, match="PTX0721"):
        layout.descriptor(of="wgmma", leading=16)


def test_a_large_fragment_says_what_it_leaves_out():
    text = layout.fragment("wgmma m64n256k16 bf16", operand="d").text()
    assert "columns 32 to 255 are not shown: each 8 columns further on are 4 registers" in text
    assert "warp w of the warpgroup has m 16 w to 16 w + 15" in text
    chosen = layout.fragment(
        "wgmma m64n256k16 bf16", operand="d", rows=range(16, 17), columns=range(248, 256)
    ).text()
    assert "T32 r124" in chosen
