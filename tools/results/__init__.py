# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/results, from the records that bench/kernels.py left in bench/recorded."""
