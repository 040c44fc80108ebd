# SPDX-License-Identifier: Apache-2.0
"""Certifies the instruction table: our verdict against ptxas on everything the table can say.

``python -m certify --help``. Both judges read the same batch modules; see `batch` for the frame,
`ptxas` and `verdict` for the two judges, `compare` for figures and the ledger.
"""
