# SPDX-License-Identifier: Apache-2.0
"""Calls of every public helper, and what each must refuse."""
