# SPDX-License-Identifier: Apache-2.0
"""Vectors recorded on a GPU: kernels, their inputs, and what the hardware answered.

``python -m record --help``. A vector set (`sets`) makes launches (`launch`) from a fixed seed;
`run` runs one on CUDA or on the emulator, `store` keeps what came out, `compare` says where two
answers differ. See README.md.
"""
