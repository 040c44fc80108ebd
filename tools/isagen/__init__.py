# SPDX-License-Identifier: Apache-2.0
"""Turns the instruction table (isa/) into C++ tables.

Standard library only. `notation` reads the small languages inside table values, `model` loads and
checks the table, `rows` lays a form out as plain rows, `writer` prints C++.
"""
