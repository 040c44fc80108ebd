# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/api: signatures and docstrings of the package, read from its sources.

Nothing is imported: modules and committed stubs are parsed, so the pages can be made and checked
where the extension is not built. The pages of docs/api/cpp are the public headers, read in the same
way: their declarations with the comments above them.
"""
