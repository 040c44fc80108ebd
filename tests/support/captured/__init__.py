# SPDX-License-Identifier: Apache-2.0
"""Kinds of values that a kernel's body reads, each with ways to change what is read."""
