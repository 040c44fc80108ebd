# SPDX-License-Identifier: Apache-2.0
"""A small writer of SVG: boxes, words and lines that are readable on light and on dark paper.

A drawing is one element without ids, scripts or outside resources, so that any number of them may
stand in a page. Its colours are CSS variables: a page may set them, and does not have to.
"""

from __future__ import annotations

from html import escape

GROUPS = 8  # colours that tell things apart
HEATS = 6  # shades from nothing to a lot

_LIGHT = {
    "ink": "#1c2430",
    "dim": "#566274",
    "paper": "#ffffff",
    "rule": "#aab4c2",
    "none": "#eef1f5",
    "bad": "#b3261e",
}
_DARK = {
    "ink": "#e8ecf2",
    "dim": "#a3adbb",
    "paper": "#14181f",
    "rule": "#4b5666",
    "none": "#232a35",
    "bad": "#ff9c91",
}
_LIGHT_GROUPS = [
    *("#cfe2ff", "#ffe0b8", "#d4f0cf", "#f6cfe6"),
    *("#e3d7fb", "#c9eef0", "#fbe99a", "#ffd1c9"),
]
_DARK_GROUPS = [
    *("#1f3f66", "#5f3f12", "#24512a", "#5c2748"),
    *("#3f3173", "#164f54", "#5a4d0c", "#66302a"),
]
_LIGHT_HEATS = ["#eef1f5", "#fdf0c4", "#fbd894", "#f7b267", "#f08a5d", "#ea7767"]
_DARK_HEATS = ["#232a35", "#3b3517", "#5a4410", "#75450f", "#8a3d17", "#9c2b22"]

CHARACTER = 6.1  # width of one of the small monospaced letters
LINE = 18


def _variables(colours: dict[str, str], groups: list[str], heats: list[str]) -> str:
    named = dict(colours)
    named |= {f"g{i}": colour for i, colour in enumerate(groups)}
    named |= {f"h{i}": colour for i, colour in enumerate(heats)}
    return ";".join(f"--ptx-{name}:{colour}" for name, colour in named.items())


def style() -> str:
    """Return the rules of every drawing; a page with many of them may have them once."""
    light = _variables(_LIGHT, _LIGHT_GROUPS, _LIGHT_HEATS)
    dark = _variables(_DARK, _DARK_GROUPS, _DARK_HEATS)
    fills = [f".ptx .g{i}{{fill:var(--ptx-g{i})}}" for i in range(GROUPS)]
    fills += [f".ptx .h{i}{{fill:var(--ptx-h{i})}}" for i in range(HEATS)]
    return "".join(
        [
            f".ptx{{{light}}}",
            f"@media (prefers-color-scheme:dark){{.ptx{{{dark}}}}}",
            # What a page or a notebook has chosen goes before what the system has.
            f":root[data-theme=light] .ptx,[data-jp-theme-light=true] .ptx{{{light}}}",
            f":root[data-theme=dark] .ptx,[data-jp-theme-light=false] .ptx{{{dark}}}",
            ".ptx{max-width:100%;height:auto}",
            ".ptx text{font:10px ui-monospace,Menlo,Consolas,monospace;fill:var(--ptx-ink)}",
            ".ptx text.m{text-anchor:middle}.ptx text.e{text-anchor:end}",
            ".ptx text.d{fill:var(--ptx-dim)}.ptx text.b{fill:var(--ptx-bad)}",
            ".ptx text.t{font:600 14px system-ui,sans-serif}",
            ".ptx text.s{font:600 12px system-ui,sans-serif}",
            ".ptx text.p{font:12px system-ui,sans-serif}",
            ".ptx rect{stroke:var(--ptx-rule);stroke-width:.6;fill:none}",
            ".ptx .w{fill:var(--ptx-paper);stroke:none}.ptx .n{fill:var(--ptx-none)}",
            ".ptx rect.o{stroke:var(--ptx-bad);stroke-width:1.6}",
            ".ptx line{stroke:var(--ptx-rule);stroke-width:.8}",
            *fills,
        ]
    )


def number(value: float) -> str:
    """Return a coordinate with what precision it needs."""
    return f"{value:.1f}".removesuffix(".0")


class Drawing:
    """Boxes, words and lines, in the order in which they are put down; it grows as they need."""

    def __init__(self) -> None:
        self.width = 0.0
        self.height = 0.0
        self._parts: list[str] = []

    def _reach(self, x: float, y: float) -> None:
        self.width = max(self.width, x)
        self.height = max(self.height, y)

    def box(
        self, x: float, y: float, width: float, height: float, kind: str, detail: str = ""
    ) -> None:
        """Put down a box of a class of the style; `detail` shows where the pointer rests."""
        title = f"<title>{escape(detail)}</title>" if detail else ""
        end = f">{title}</rect>" if title else "/>"
        self._parts.append(
            f'<rect class="{kind}" x="{number(x)}" y="{number(y)}" width="{number(width)}" '
            f'height="{number(height)}"{end}'
        )
        self._reach(x + width, y + height)

    def words(self, x: float, y: float, text: str, kind: str = "") -> None:
        """Put down a line of text: classes m (middle), e (end), d (dim), b (bad), t, s, p."""
        name = f' class="{kind}"' if kind else ""
        self._parts.append(f'<text{name} x="{number(x)}" y="{number(y)}">{escape(text)}</text>')
        per_letter = {"t": 8.4, "s": 7.2, "p": 6.6}.get(kind[:1], CHARACTER)
        end = 0.0 if "e" in kind else len(text) * per_letter / (2 if "m" in kind else 1)
        self._reach(x + end, y + 4)

    def line(self, x1: float, y1: float, x2: float, y2: float) -> None:
        """Put down a line."""
        self._parts.append(
            f'<line x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}"/>'
        )
        self._reach(max(x1, x2), max(y1, y2))

    def finish(self, title: str, description: str) -> str:
        """Return the text of the SVG element."""
        width, height = number(self.width + 12), number(self.height + 10)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="ptx" role="img" '
            f'aria-label="{escape(title)}" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}">'
        )
        return "\n".join(
            [
                head,
                f"<title>{escape(title)}</title>",
                f"<desc>{escape(description)}</desc>",
                f"<style>{style()}</style>",
                f'<rect class="w" width="{width}" height="{height}"/>',
                *self._parts,
                "</svg>\n",
            ]
        )
