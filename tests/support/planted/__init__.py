# SPDX-License-Identifier: Apache-2.0
"""Small kernels with one mistake each, and the same kernels without it."""
