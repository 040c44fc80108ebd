# SPDX-License-Identifier: Apache-2.0
"""How Sphinx builds the pages of this folder (make docs): offline, and strict about links."""

project = "pyptx"
author = "the pyptx authors"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
html_title = "pyptx"
html_theme = "furo"  # light and dark, by the reader's system or his choice
html_copy_source = False
myst_heading_anchors = 3  # links to headings, by GitHub's rule
highlight_language = "none"  # blocks without a language are syntax lines of PTX
