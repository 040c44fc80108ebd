# SPDX-License-Identifier: Apache-2.0
"""Stubs of the extension module: what nanobind knows of it, with the types it cannot know.

nanobind's generator gives names, signatures, defaults and docstrings. What a binding takes or gives
as any object is typed here, by types.toml.
"""
