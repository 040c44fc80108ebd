# SPDX-License-Identifier: Apache-2.0
"""The pictures of docs/guide/layouts.md, from `pyptx.layout`."""
