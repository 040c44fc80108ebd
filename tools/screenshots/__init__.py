# SPDX-License-Identifier: Apache-2.0
"""The pictures of the page in README and guide; `python -m screenshots --out docs/images`."""
