# SPDX-License-Identifier: Apache-2.0
"""Approximate functions over all their inputs: recorded as hashes, their tables recovered.

``python -m record.functions --help``. `kernels` has the PTX that hashes the answers of a form, by
blocks of 2^16 inputs; `golden` keeps what a GPU answered and compares; `fit` finds the unit's
tables in its answers; `tables` writes them as C++.
"""
