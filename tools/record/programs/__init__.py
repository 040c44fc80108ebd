# SPDX-License-Identifier: Apache-2.0
"""Random programs, the same on a GPU and on the emulator, bit for bit.

``python -m record.programs --help``. `instructions` lists what a program may say, `generate` writes
one from a seed, `golden` keeps hashes of what a GPU left behind, and compares.
"""
