# SPDX-License-Identifier: Apache-2.0
"""A kernel to look at: its source, PTX and machine code side by side, as one page.

`subject` says what is shown, `listing` and `life` read what the disassembler prints, `run` what an
emulated run cost, `model` puts it together as plain data and `page` writes the HTML.
"""
