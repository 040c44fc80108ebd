# SPDX-License-Identifier: Apache-2.0
"""Kernels on torch's tensors: eager calls, operators, graphs. Imports torch, module by module."""
