# SPDX-License-Identifier: Apache-2.0
"""Kernels in JAX programs: one FFI call, batched and sharded. Imports JAX, module by module."""
